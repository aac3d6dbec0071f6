"""The summarise-text node against a real server of OpenAI's protocol."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pflow.errors import PflowError
from pflow.models.summary import USUAL, characters_for
from pflow.nodes.summarise_text import SummariseText
from tests.peers.openai_server import REPLY

LONG = "\n\n".join(f"Paragraph {number} has a few words of its own, and a full stop." for number in range(60))
"""3,700 characters, whose parts the server's short answers are summaries of."""


def run(model, text="a long story", *, tries=1, **params):
    node, parts = SummariseText(max_retries=tries), []
    node.set_params({"model": model, **params})
    node.sink = parts.append
    shared = {"text": text}
    assert node.run(shared) is None
    return {**shared, "parts": parts, "not_kept": node.not_kept}


def prompts(server, model):
    return [request["body"]["messages"][-1]["content"] for request in server.requests(model)]


def test_a_text_that_the_model_takes_is_asked_about_once_and_its_summary_streams(server, capsys):
    shared = run("reply", style="three points", temperature=0.9, max_tokens=9, option=["top_p=0.5"])
    assert (shared["summary"], shared["parts"]) == (REPLY, ["Oak, ", "ash ", "and ", "elm."])
    assert shared["usage"] == {"model": "reply", "input": 17, "output": 4}
    body = server.requests()[0]["body"]
    assert (body["temperature"], body["max_tokens"], body["top_p"]) == (0.9, 9, 0.5)
    asked = "a long story\n\nSummarize this text. Its style: three points. Answer with the summary alone."
    assert body["messages"] == [{"role": "user", "content": asked}]
    assert capsys.readouterr().err == ""


def test_a_longer_text_is_summarised_in_parts_and_these_are_merged(server, capfd):
    shared = run("reply", LONG, chunk=1000, style="three points", max_tokens=9)
    asked = prompts(server, "reply")
    parts, merged = asked[:-1], asked[-1]
    assert "\n\n".join(each.rpartition("\n\n")[0] for each in parts) == LONG
    assert merged.rpartition("\n\n")[0] == "\n\n".join([REPLY] * len(parts))
    assert ("three points" in merged, "three points" in parts[0]) == (True, False)
    assert [request["body"].get("max_tokens") for request in server.requests()] == [None] * len(parts) + [9]
    assert shared["parts"] == ["Oak, ", "ash ", "and ", "elm."]
    usage = shared["usage"]
    assert (usage["calls"], usage["output"]) == (len(asked), 4 * len(asked))
    assert usage["input"] > len(LONG.split())
    said = f"pflow: the text has {len(LONG):,} characters, and 'reply' gets 1,000 at once: {len(parts)} parts"
    assert capfd.readouterr().err == f"{said} are summarised, and merged\n"


def test_summaries_that_are_too_long_together_are_shortened_once_more(server):
    run("reply", LONG[:1600], chunk=100)
    asked = prompts(server, "reply")
    assert max(len(each.rpartition("\n\n")[0]) for each in asked) <= 100
    assert sum(REPLY in each for each in asked) > 2
    assert ["These are summaries" in each for each in asked] == [False] * (len(asked) - 1) + [True]


def test_another_try_goes_on_after_the_parts_that_are_done(server):
    model, text = "second-rate-limited", LONG[:2000]
    shared = run(model, text, chunk=1000, tries=2)
    asked = prompts(server, model)
    assert len(asked) == len({*asked}) + 1, "the one that failed is asked again, and no other"
    assert shared["usage"]["calls"] == len(asked) - 2, "the try that failed has told of its own"


@pytest.mark.parametrize(
    ("model", "text", "params", "exit", "said"),
    [
        ("reply", "", {}, 66, "the text: it is empty"),
        ("reply", " \n", {}, 66, "the text: it is empty"),
        ("reply", "x", {"chunk": 99}, 2, "--chunk=99: it must be at least 100"),
        ("reply", "x", {"option": ["a"]}, 2, "--option='a'"),
        ("echo", LONG, {"chunk": 1000}, 1, "the summaries of the parts are no shorter"),
        ("nobody", "x", {}, 78, "'nobody'"),
        ("broken", "x", {}, 75, "500"),
        ("filtered", "x", {}, 1, "it refused"),
        ("empty", "x", {}, 75, "it has no text"),
        ("empty", LONG, {"chunk": 1000}, 75, "it has no text"),
        ("rate-limited", LONG, {"chunk": 1000}, 75, "429"),
    ],
)
def test_what_it_refuses(server, model, text, params, exit, said):
    with pytest.raises(PflowError, match=said) as caught:
        run(model, text, **params)
    assert caught.value.exit == exit


def test_what_was_spent_before_a_failure_is_told(server):
    with pytest.raises(PflowError) as caught:
        run("third-torn", LONG, chunk=1000)
    assert caught.value.usage["calls"] == 3
    assert caught.value.usage["tokens"]["out"] == 8


def test_a_summary_that_is_not_whole_is_not_kept(server):
    assert run("long")["not_kept"] == "the answer stops at its token limit, after 4 tokens"
    assert run("long", LONG, chunk=1000)["not_kept"]
    assert run("reply")["not_kept"] == ""


def openai(name, **more):
    return SimpleNamespace(model_id=name, needs_key="openai", **more)


@pytest.mark.parametrize(
    ("model", "characters"),
    [
        (openai("gpt-4o-mini"), 3 * (128_000 - 2_000)),
        (openai("nobody-knows-it"), USUAL),
        (openai("gpt-4o-mini", api_base="http://127.0.0.1:1/v1"), USUAL),
        (SimpleNamespace(model_id="m", context=8192), 3 * (8192 - 2000)),
        (SimpleNamespace(model_id="m", context=1024), 3 * 512),
    ],
)
def test_a_model_gets_what_is_known_that_it_takes(model, characters):
    assert characters_for(model) == characters


def test_a_local_model_s_file_says_how_much_it_takes(local_models, tmp_path, monkeypatch):
    from pflow.models.local import LocalModel

    assert LocalModel("m", f"{local_models}/pflow/models/SmolLM2.gguf").context == 8192
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    assert LocalModel("m", str(tmp_path / "a.gguf")).context is None
    assert LocalModel("m", str(tmp_path / "none.gguf")).context is None


def test_both_spellings_are_one_node():
    from pflow.node import load_bundled

    one, other = load_bundled("summarise-text"), load_bundled("summarize-text")
    assert one.__doc__ == other.__doc__
    assert one.version == other.version == "2.1.0"
