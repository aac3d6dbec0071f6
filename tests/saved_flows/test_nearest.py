"""Which saved flows a text is about: by words, and by the meaning that an embedding model gives."""

import json
import sys
from pathlib import Path

import pytest

from pflow.errors import PflowError
from pflow.models.embed import configured
from pflow.saved_flows.nearest import SearchTarget, nearest, nearest_by_meaning, nearest_by_words

PEERS = Path(__file__).parent.parent / "peers"

SMALL = [
    SearchTarget("summarize", "Summarize a text file and write what comes of it."),
    SearchTarget("fix-issue", "Fetch a GitHub issue, write a patch and commit it."),
    SearchTarget("resize", "Scale images down.", "width path"),
    SearchTarget("café-menü", "Übersetze die Speisekarte."),
    SearchTarget("menu-ja", "メニューを翻訳する"),
]


@pytest.fixture
def peers(monkeypatch, tmp_path):
    """The embedding models of tests/peers in llm, and the texts that they were asked for."""
    import llm

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("EMBED_LOG", str(tmp_path / "log"))
    monkeypatch.setattr("pflow.saved_flows.nearest._failed", set())
    monkeypatch.syspath_prepend(str(PEERS / "embed"))
    import embed_peers

    found = {}
    embed_peers.register_embedding_models(lambda model: found.__setitem__(model.model_id, model))

    def get(name):
        if name not in found:
            raise llm.UnknownModelError(name)
        return found[name]

    monkeypatch.setattr(llm, "get_embedding_model", get)
    return tmp_path / "log"


def asked_of(log):
    """The texts that were sent since the last call."""
    texts = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    log.unlink(missing_ok=True)
    return texts


def names(matches):
    return list(matches)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("summaries of my notes", "summarize"),
        ("SUMMARIZING A TEXT", "summarize"),
        ("fix-issue", "fix-issue"),
        ("patches for issues", "fix-issue"),
        ("width", "resize"),
        ("speisekarte ubersetzen", "café-menü"),
        ("翻訳", "menu-ja"),
        ("𝐑𝐞𝐬𝐢𝐳𝐞", "resize"),
    ],
)
def test_words_find_whatever_their_case_accents_and_endings(text, name):
    assert names(nearest_by_words(text, SMALL))[0] == name


@pytest.mark.parametrize("text", ["", " ", "…?!", "xylophone", "the of a", "\x1b[31m", "\ud800", "0" * 100_000])
def test_what_is_near_nothing_finds_nothing(text):
    assert nearest_by_words(text, SMALL) == {}


def test_nothing_is_near_where_there_is_nothing():
    assert nearest("summarize", []) == nearest_by_words("summarize", [SearchTarget("-", "")]) == {}


def test_a_rare_word_tells_more_than_one_that_all_have():
    abouts = [SearchTarget(f"report-{n}", f"Archive the report of department {n}.") for n in range(20)]
    abouts.append(SearchTarget("payroll", "Check the payroll."))
    assert names(nearest_by_words("archive the report about the payroll", abouts))[0] == "payroll"
    assert len(nearest_by_words("archive the report about the payroll", abouts)) == 21


def test_nearness_is_above_nothing_and_at_most_one():
    scores = [score for about in SMALL for score in nearest_by_words(about.text, SMALL).values()]
    assert 0 < min(scores) <= max(scores) <= 1
    assert nearest_by_words(SMALL[1].text, SMALL)["fix-issue"] > 0.5


def test_a_model_is_sent_each_text_once_and_then_one_a_find(peers):
    nearest_by_meaning("first", SMALL, "peer-letters")
    texts = [f"{about.name.replace('-', ' ')}: {about.text}" for about in SMALL]
    assert sorted(asked_of(peers)) == sorted([*texts, "first"])
    nearest_by_meaning("second", SMALL, "peer-letters")
    assert asked_of(peers) == ["second"]
    nearest_by_meaning("third", [*SMALL, SearchTarget("new", "one")], "peer-letters")
    assert sorted(asked_of(peers)) == ["new: one", "third"]


def test_meaning_is_the_cosine(peers):
    matches = nearest_by_meaning("summarize: Summarize a text file and write what comes of it.", SMALL, "peer-letters")
    assert names(matches)[0] == "summarize"
    assert matches["summarize"] == pytest.approx(1)


def test_models_do_not_share_vectors(peers):
    nearest_by_meaning("first", SMALL, "peer-letters")
    asked_of(peers)
    nearest_by_meaning("first", SMALL, "peer-half")
    assert len(asked_of(peers)) == len(SMALL) + 1


@pytest.mark.parametrize("damage", [b"", b"pflow", b"SQLite format 3\0" + b"x" * 100])
def test_a_cache_that_is_broken_counts_as_none(peers, tmp_path, damage):
    before = nearest_by_meaning("first", SMALL, "peer-letters")
    asked_of(peers)
    (file,) = tmp_path.glob("cache/pflow/embeddings.db")
    file.write_bytes(damage)
    again = nearest_by_meaning("first", SMALL, "peer-letters")
    assert names(again) == names(before)
    assert len(asked_of(peers)) == len(SMALL) + 1
    nearest_by_meaning("first", SMALL, "peer-letters")
    nearest_by_meaning("first", SMALL, "peer-letters")
    assert asked_of(peers)[-1:] == ["first"]


@pytest.mark.parametrize(
    ("model", "words", "exit"),
    [
        ("peer-broken", "cannot get an answer from 'peer-broken'", 69),
        ("peer-nonumbers", "not a vector for each text", 65),
        ("peer-stalled", "cannot get an answer from 'peer-stalled': it took longer than the 0.01 s of its timeout", 75),
        ("peer-nowhere", "cannot find the embedding model 'peer-nowhere'", 78),
    ],
)
def test_a_model_that_fails_is_said_in_one_line_and_words_find(peers, monkeypatch, capfd, model, words, exit):
    monkeypatch.setattr("pflow.models.embed._PATIENCE", 30.0 if model != "peer-stalled" else 0.01)
    with pytest.raises(PflowError, match=words) as caught:
        nearest_by_meaning("summarize", SMALL, model)
    assert caught.value.exit == exit
    monkeypatch.setenv("PFLOW_EMBEDDING_MODEL", model)
    assert names(nearest("summarize", SMALL)) == ["summarize"]
    assert names(nearest("resize", SMALL)) == ["resize"]
    said = capfd.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert "\x1b[31mthere" not in said


def test_a_model_without_its_key_is_said(peers, monkeypatch, tmp_path):
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    with pytest.raises(PflowError, match="needs a key") as caught:
        nearest_by_meaning("summarize", SMALL, "peer-keyed")
    assert caught.value.exit == 77


def test_no_model_is_looked_for_where_none_is_configured(monkeypatch, tmp_path):
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    monkeypatch.delenv("PFLOW_EMBEDDING_MODEL", raising=False)
    monkeypatch.setitem(sys.modules, "pflow.models.choose", None)
    assert names(nearest("summarize", SMALL)) == ["summarize"]


def test_llms_default_is_the_model(monkeypatch, tmp_path):
    monkeypatch.delenv("PFLOW_EMBEDDING_MODEL", raising=False)
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    assert configured() is None
    (tmp_path / "default_embedding_model.txt").write_text("3-small\n")
    assert configured() == "3-small"
    monkeypatch.setenv("PFLOW_EMBEDDING_MODEL", "other")
    assert configured() == "other"
