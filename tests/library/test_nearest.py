"""Which saved flows a text is about; 500 of them, and 200 ways to ask for a hundred."""

import json
import sys
from itertools import chain
from pathlib import Path

import pytest

from pflow.errors import PflowError
from pflow.library import vectors
from pflow.library.nearest import About, nearest, nearest_by_meaning
from tests.library.distractors import distractors

PEERS = Path(__file__).parent.parent / "peers"
FLOWS = json.loads(Path(__file__).with_name("paraphrases.json").read_text(encoding="utf-8"))["flows"]
LIBRARY = [
    *(About(flow["name"], flow["description"]) for flow in FLOWS),
    *(About(name, text) for name, text in distractors()),
]

SMALL = [
    About("summarize", "Summarize a text file and write what comes of it."),
    About("fix-issue", "Fetch a GitHub issue, write a patch and commit it."),
    About("resize", "Scale images down.", "width path"),
    About("café-menü", "Übersetze die Speisekarte."),
    About("menu-ja", "メニューを翻訳する"),
    About("menu-th", "แปลเมนูอาหาร"),
    About("menu-hi", "मेनू का अनुवाद"),
]


@pytest.fixture
def peers(monkeypatch, tmp_path):
    """The embedding models of tests/peers in llm, and the texts that they were asked for."""
    import llm

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("EMBED_LOG", str(tmp_path / "log"))
    monkeypatch.setattr("pflow.library.nearest._failed", {})
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
    """What was sent since the last time that this was asked."""
    texts = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    log.unlink(missing_ok=True)
    return texts


def names(matches):
    return [match.about.name for match in matches]


def right_in_three(kind, find):
    """How many of the hundred flows are among the first three for the words of this kind."""
    return sum(flow["name"] in names(find(flow[kind])[:3]) for flow in FLOWS)


def test_five_hundred_flows_are_told_apart():
    assert len(LIBRARY) == len({about.name for about in LIBRARY}) == len({about.text for about in LIBRARY}) == 500
    assert len(FLOWS) == len({flow["asked"] for flow in FLOWS} | {flow["held"] for flow in FLOWS}) / 2 == 100


@pytest.mark.parametrize("kind", ["asked", "held"])
def test_words_alone_find_seventy_of_a_hundred(kind):
    assert right_in_three(kind, lambda text: nearest(text, LIBRARY, by_meaning=False)) >= 70


def test_words_alone_find_as_many_of_what_no_synonym_was_chosen_for():
    unseen = FLOWS[1::2]
    found = [names(nearest(flow["held"], LIBRARY, by_meaning=False)[:3]) for flow in unseen]
    assert sum(flow["name"] in three for flow, three in zip(unseen, found, strict=True)) >= 0.7 * len(unseen)


@pytest.mark.parametrize("kind", ["asked", "held"])
def test_with_meaning_ninety_are_found(peers, kind):
    assert right_in_three(kind, lambda text: nearest_by_meaning(text, LIBRARY, "peer-recorded")) >= 90


def test_what_is_offered_as_meant_is_hardly_ever_wrong():
    best = [
        (flow["name"], nearest(flow[kind], LIBRARY, by_meaning=False)[:1])
        for flow in FLOWS
        for kind in ("asked", "held")
    ]
    meant = [(name, first[0].about.name) for name, first in best if first and first[0].is_meant]
    assert len(meant) >= 5
    assert sum(name != found for name, found in meant) <= len(meant) // 10


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("summaries", "summarize"),
        ("sumarize my notes", "summarize"),
        ("shorten notes.txt", "summarize"),
        ("SUMMARIZE A TEXT", "summarize"),
        ("fix-issue", "fix-issue"),
        ("repair ticket 1234", "fix-issue"),
        ("githb", "fix-issue"),
        ("width", "resize"),
        ("speisekarte ubersetzen", "café-menü"),
        ("翻訳", "menu-ja"),
        ("เมนู", "menu-th"),
        ("मेनू", "menu-hi"),
        ("𝐑𝐞𝐬𝐢𝐳𝐞", "resize"),
    ],
)
def test_other_endings_other_words_and_misspelt_ones_find(text, name):
    assert names(nearest(text, SMALL, by_meaning=False))[0] == name


def test_what_stands_for_a_word_tells_no_more_than_it_does_itself():
    """No flow has patients, and twelve have the patent that looks like it, as many as have the prescription."""
    kinds = ["patent", "prescription", "invoice", "contract", "lecture", "novel", "recipe", "ticket", "survey", "poem"]
    acts = [
        "Archive",
        "Translate",
        "Grade",
        "Summarize",
        "Rewrite",
        "Sort",
        "Count",
        "Compress",
        "Spellcheck",
        "Title",
        "Quiz",
    ]
    flows = [About(f"{act.lower()}-{kind}", f"{act} a {kind}.") for act in acts for kind in kinds]
    flows += [About(f"redact-{kind}", f"Black out names in a {kind}.") for kind in kinds]
    found = names(nearest("hide patients' names on the prescription", flows, by_meaning=False))
    assert found[0] == "redact-prescription"


@pytest.mark.parametrize("text", ["", " ", "…?!", "xylophone", "\x1b[31m", "\ud800", "0" * 100_000])
def test_what_is_near_nothing_finds_nothing(text):
    assert nearest(text, SMALL, by_meaning=False) == []


def test_nothing_is_near_where_there_is_nothing():
    assert nearest("summarize", [], by_meaning=False) == []


def test_values_are_no_words_unless_there_are_no_others():
    abouts = [About("summary", "Summarize a text."), About("report", "Something else.")]
    assert names(nearest("summarize /srv/report/report", abouts, by_meaning=False))[0] == "summary"
    assert names(nearest("/srv/report", abouts, by_meaning=False))[0] == "report"


@pytest.mark.parametrize(
    ("text", "is_meant"),
    [
        ("Summarize a text file and write what comes of it", True),
        ("summarize", True),
        ("summarize the text file notes.txt and write out.md", True),
        ("write", False),
        ("summarize the text file and send it to Bob by telegram with music", False),
        ("fetch the weather", False),
    ],
)
def test_what_is_meant_is_said_nearly_whole(text, is_meant):
    matches = nearest(text, SMALL, by_meaning=False)
    assert [match.about.name for match in matches if match.is_meant] == ["summarize"] * is_meant


@pytest.mark.parametrize(
    ("own", "text", "is_meant"),
    [
        ("Convert a CSV table to JSON, one object a row.", "turn a CSV table into JSON objects", True),
        ("Convert a CSV table to JSON, one object a row.", "make one JSON object a row from a CSV table", True),
        ("Convert a CSV table to JSON, one object a row.", "convert data.json to a CSV table", False),
        ("Convert a CSV table to JSON, one object a row.", "make a CSV table from JSON", False),
        ("Convert a CSV table to JSON, one object a row.", "turn these objects into rows and columns", False),
        ("Copy the photos to the server.", "copy photos to a server", True),
        ("Copy the photos to the server.", "copy the photos from the server", False),
        ("Translate an English text to German.", "translate a.txt to german", True),
        ("Translate an English text to German.", "translate a German text to English", False),
        ("Delete old log files.", "delete the old log files", True),
        ("Delete old log files.", "never delete old log files", False),
        ("Encrypt the files of a folder.", "decrypt the files of the folder", False),
        ("Subscribe to the newsletter.", "unsubscribe from the newsletter", False),
    ],
)
def test_what_is_turned_about_or_denied_is_not_meant(own, text, is_meant):
    assert any(match.is_meant for match in nearest(text, [About("it", own)], by_meaning=False)) == is_meant


def test_two_that_say_the_same_are_neither_what_is_meant():
    twins = [About("a", "Summarize a text file."), About("b", "Summarize a text file.")]
    matches = nearest("summarize the file x.txt as text, will you", twins, by_meaning=False)
    assert (names(matches), [match.is_meant for match in matches]) == (["a", "b"], [False, False])


def test_nearness_is_between_nothing_and_one():
    scores = [match.score for flow in FLOWS[:20] for match in nearest(flow["description"], LIBRARY, by_meaning=False)]
    assert scores
    assert 0 < min(scores) <= max(scores) <= 1


def test_a_model_is_sent_each_text_once_and_then_one_a_find(peers):
    nearest_by_meaning("first", SMALL, "peer-letters")
    assert sorted(asked_of(peers)) == sorted([*chain(*((a.name.replace("-", " "), a.text) for a in SMALL)), "first"])
    nearest_by_meaning("second", SMALL, "peer-letters")
    assert asked_of(peers) == ["second"]
    nearest_by_meaning("third", [*SMALL, About("new", "one")], "peer-letters")
    assert sorted(asked_of(peers)) == ["new", "one", "third"]


def test_models_do_not_share_vectors(peers):
    nearest_by_meaning("first", SMALL, "peer-letters")
    asked_of(peers)
    nearest_by_meaning("first", SMALL, "peer-half")
    assert len(asked_of(peers)) == 2 * len(SMALL) + 1


@pytest.mark.parametrize("damage", [b"", b"pflow", b"pflow embeddings 1 26\nshort", b"\xff" * 500, b"x" * (1 << 25)])
def test_a_cache_that_is_broken_counts_as_none(peers, tmp_path, damage):
    before = nearest_by_meaning("first", SMALL, "peer-letters")
    asked_of(peers)
    files = [file for file in tmp_path.glob("cache/pflow/embeddings/*/*") if file.is_file()]
    assert files
    for file in files:
        file.write_bytes(damage)
    again = nearest_by_meaning("first", SMALL, "peer-letters")
    assert [(m.about.name, m.score) for m in again] == [(m.about.name, m.score) for m in before]
    assert len(asked_of(peers)) == 2 * len(SMALL) + 1
    nearest_by_meaning("first", SMALL, "peer-letters")
    assert asked_of(peers) == ["first"]


def test_what_came_before_a_failure_is_kept(peers):
    abouts = [About(f"n{number}", f"text {number}") for number in range(100)]
    with pytest.raises(PflowError, match="cannot get an answer from 'peer-half'"):
        nearest_by_meaning("first", [*abouts, About("z", "queue")], "peer-half")
    first = len(asked_of(peers))
    nearest_by_meaning("second", abouts, "peer-half")
    assert 0 < len(asked_of(peers)) < first


def test_a_model_that_changes_under_its_name_is_asked_anew(peers, monkeypatch):
    import embed_peers

    nearest_by_meaning("first", SMALL, "peer-letters")
    monkeypatch.setattr(embed_peers.Letters, "vector", lambda self, text: [1.0, float(len(text)), 2.0])
    asked_of(peers)
    assert nearest_by_meaning("first", SMALL, "peer-letters")
    assert len(asked_of(peers)) == 2 * len(SMALL) + 2


def test_few_models_are_kept(peers, tmp_path, monkeypatch):
    from pflow.library.vectors import texts_as_vectors

    monkeypatch.setattr("pflow.models.embed.embed", lambda name, texts, done: done([[1.0, 2.0] for _ in texts]))
    for number in range(10):
        texts_as_vectors(f"model-{number}", ["a", "b"], 1)
    assert len(list((tmp_path / "cache/pflow/embeddings").iterdir())) == 4


def test_a_file_of_the_cache_does_not_grow_without_end(peers, tmp_path, monkeypatch):
    monkeypatch.setattr(vectors, "_LARGEST", 300)
    for number in range(30):
        nearest_by_meaning("q", [About(f"n{number}", "")], "peer-letters")
    assert max(file.stat().st_size for file in tmp_path.glob("cache/pflow/embeddings/*/*")) < 400


@pytest.mark.parametrize(
    ("model", "words", "exit"),
    [
        ("peer-broken", "cannot get an answer from 'peer-broken'", 69),
        ("peer-nonumbers", "not a vector for each text", 65),
        ("peer-uneven", "not a vector for each text", 65),
        ("peer-recorded", "cannot get an answer from 'peer-recorded'", 1),
        ("peer-nowhere", "cannot find the embedding model 'peer-nowhere'", 78),
    ],
)
def test_a_model_that_fails_is_said_in_one_line_and_words_find(peers, monkeypatch, capfd, model, words, exit):
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


def test_a_model_that_stalls_is_left_alone(peers, monkeypatch):
    monkeypatch.setattr("pflow.models.embed._PATIENCE", 0.05)
    with pytest.raises(PflowError, match="takes too long"):
        nearest_by_meaning("summarize", SMALL, "peer-stalled")


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
    from pflow.models.embed import configured

    monkeypatch.delenv("PFLOW_EMBEDDING_MODEL", raising=False)
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    assert configured() is None
    (tmp_path / "default_embedding_model.txt").write_text("3-small\n")
    assert configured() == "3-small"
    monkeypatch.setenv("PFLOW_EMBEDDING_MODEL", "other")
    assert configured() == "other"
