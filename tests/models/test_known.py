"""Models of servers: what an address says, what goes to it, and what servers on this machine may say of themselves."""

import json
import os
import socket
from functools import partial

import pytest

from pflow.commands._command import run_command
from pflow.commands.check import command as check_command
from pflow.errors import PflowError
from pflow.models import choose, known
from pflow.models.identity import identify
from pflow.models.known import SERVED, keep_models, read_models
from pflow.models.prices import cost_of
from pflow.process import worker
from pflow.terminal import messages
from tests.engine.flows import run
from tests.peers.hub import Answering


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("http://127.0.0.1:11434/v1#qwen3:4b", ("http://127.0.0.1:11434/v1", "qwen3:4b")),
        ("HTTPS://example.org/#a/b#c.gguf", ("https://example.org/v1", "a/b#c.gguf")),
        ("gpt-4o", None),
        ("http://127.0.0.1:1/v1", 78),
        ("http://me:sk-1@127.0.0.1/v1#x", 77),
        ("https://example.org/v1?key=sk-1#x", 77),
    ],
)
def test_an_address_names_a_server_and_its_model_and_holds_no_key(name, parts):
    if not isinstance(parts, int):
        assert known.split_address(name) == parts
        return
    with pytest.raises(PflowError) as caught:
        known.split_address(name)
    assert caught.value.exit == parts
    assert "sk-1" not in f"{caught.value.message} {caught.value.hint}"


def test_only_the_key_of_the_address_goes_there_and_only_this_machine_is_free(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    (server.llm_user_path / "keys.json").write_text('{"openai": "sk-mine", "https://example.org/v1": "sk-its"}')
    names = ("http://localhost:1/v1#x", "http://[::1]/v1#x:cloud", "https://example.org#x")
    local, cloud, remote = map(choose.choose, names)
    assert (local.get_key(), remote.get_key()) == (None, "sk-its")
    assert [cost_of(each, 1, 1, {}) for each in (local, cloud, remote)] == [0, None, None]


@pytest.mark.parametrize("body", [b"", b"<p>", b"[" * 200_000, b'{"data": 3}', b'{"data": [{"id": 3}]}'])
def test_a_server_that_lies_or_stalls_offers_nothing(body, monkeypatch):
    with Answering(lambda *_: (200, body, {})) as lying, socket.create_server(("127.0.0.1", 0)) as stalling:
        monkeypatch.setattr(known, "USUAL", {"Ollama": lying.server_port, "LM Studio": stalling.getsockname()[1]})
        assert known.find_served() == {}


def test_what_servers_offer_is_kept_for_tab_unless_a_terminal_should_not_show_it(monkeypatch):
    listed = json.dumps({"data": [{"id": name} for name in ("oak:1b", "\x1b[31mred", "two words", "")]})
    with Answering(lambda *_: (200, listed.encode(), {})) as server:
        monkeypatch.setattr(known, "USUAL", {"Ollama": server.server_port})
        found = known.find_served(20)
    assert found == {f"http://127.0.0.1:{server.server_port}/v1#oak:1b": "Ollama on this machine"}
    assert found == {name: about for name, about in read_models() if name.startswith("http")}


def test_a_plugin_that_fails_is_no_bug_of_pflow(monkeypatch):
    monkeypatch.setattr("pflow.models.settings.load_models", lambda: 1 / 0)
    with pytest.raises(PflowError, match="cannot load llm's models: ZeroDivisionError"):
        choose.all_models()


@pytest.fixture
def local(server, tmp_path, monkeypatch):
    """The directory of local models, with the small one, and no other choice."""
    for name in ("LLM_MODEL", "GEMINI_API_KEY", "MISTRAL_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path))
    place = tmp_path / "pflow" / "models"
    place.mkdir(parents=True)
    (place / "SmolLM2.gguf").touch()
    return place


def test_the_local_model_that_came_last_answers_if_none_is_chosen(local):
    for at, name in enumerate(("SmolLM2", "tree", "SmolLM2")):
        (local / f"{name}.gguf").touch()
        os.utime(local / f"{name}.gguf", (at, at))
        assert choose.choose(None).model_id == identify(None)["id"] == name


def test_that_nobody_chose_the_small_model_is_said_once_a_run_with_what_is_better(local, monkeypatch, capfd):
    ends = {"choices": [{"finish_reason": "stop", "delta": {"content": "Oak"}}]}
    monkeypatch.setattr("pflow.models.local.answer", lambda *_: iter([ends]))
    batch = {"over": "items", "as": "prompt", "jobs": 2}

    def said(model=None):
        nodes = [{"id": id, "type": "llm", "params": {"model": model}, "batch": batch} for id in "ab"]
        assert run({"pflow": 1, "nodes": nodes}, {"items": ["x", "y", "z"]}).error is None
        return capfd.readouterr().err

    monkeypatch.setenv("MISTRAL_API_KEY", "x")
    keep_models([("http://127.0.0.1:1/v1#it's", "Ollama on this machine")], SERVED)
    monkeypatch.setattr(messages, "is_quiet", True)
    monkeypatch.setattr("os.isatty", lambda fd: fd == 1)
    assert said() == ""
    monkeypatch.setattr(messages, "is_quiet", False)
    assert said("SmolLM2") == ""
    line = said()
    assert line.startswith("pflow: no model is chosen, so 'SmolLM2' is asked, for trying out and short texts; ")
    assert "pflow models default 'http://127.0.0.1:1/v1#it'\"'\"'s' asks Ollama" in line
    needed = (
        "MISTRAL_API_KEY is set, and needs: ",
        "install llm-mistral",
        "`pflow models default NAME` chooses one",
    )
    assert all(words in line for words in needed), line
    assert said() == ""
    monkeypatch.setattr(worker, "_said", set())
    assert said() == line.splitlines(True)[0]
    monkeypatch.setattr(messages, "is_quiet", True)
    monkeypatch.setattr("os.isatty", lambda fd: False)
    checks = partial(run_command, check_command, ["--", "llm Hi"])
    for ask in (said, lambda: identify(None) and capfd.readouterr().err, lambda: checks() or capfd.readouterr().err):
        monkeypatch.setattr(worker, "_said", set())
        assert ask() == line.splitlines(True)[0]
    choose.set_default("SmolLM2")
    monkeypatch.setattr(worker, "_said", set())
    assert (said(), checks(), capfd.readouterr().err) == ("", 0, "")
    with pytest.raises(PflowError) as caught:
        choose.choose("it's")
    assert "did you mean http://127.0.0.1:1/v1#it's?" in caught.value.hint


def test_what_was_brought_is_the_default_if_there_is_none(local, monkeypatch):
    for name in ("oak", "tree"):
        (local / f"{name}.gguf").touch()
    after = "; `pflow models default NAME` chooses another"
    assert choose.adopt("SmolLM2").endswith(f"is the default, {choose.LATEST}{after}")
    assert choose.adopt("oak") == choose.adopt("tree") == f"'oak' is the default, {choose.KEPT}{after}"
    assert identify(None)["id"] == "oak"
    monkeypatch.setenv("PFLOW_MODEL", "echo")
    assert choose.adopt("tree") == f"'echo' is the default, PFLOW_MODEL names it{after}"


def test_a_model_that_its_server_does_not_have_is_no_default(local, monkeypatch):
    monkeypatch.setattr(choose, "find_served", lambda: {"http://127.0.0.1:1/v1#oak:1b": "Ollama"})
    assert choose.set_default("http://127.0.0.1:1#oak:1b") == ("http://127.0.0.1:1/v1#oak:1b", choose.KEPT)
    with pytest.raises(PflowError, match="cannot find the model 'http:") as caught:
        choose.set_default("http://127.0.0.1:1/v1#oak")
    assert "did you mean http://127.0.0.1:1/v1#oak:1b?" in caught.value.hint
