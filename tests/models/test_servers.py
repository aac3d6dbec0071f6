"""Models of servers: what an address says, what goes to it, and what servers on this machine may say of themselves."""

import json
import os
import socket

import pytest

from pflow.errors import PflowError
from pflow.models import choose, servers
from pflow.models.identity import identify
from pflow.models.list import read_models
from pflow.models.prices import cost_of
from tests.peers.hub import Serving


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("http://127.0.0.1:11434/v1#qwen3:4b", ("http://127.0.0.1:11434/v1", "qwen3:4b")),
        ("HTTPS://example.org/#a/b#c.gguf", ("https://example.org/v1", "a/b#c.gguf")),
        ("gpt-4o", None),
        ("http://127.0.0.1:1/v1", 78),
        ("http://me:sk-1@127.0.0.1/v1#x", 78),
        ("https://example.org/v1?key=sk-1#x", 78),
    ],
)
def test_an_address_names_a_server_and_its_model_and_holds_no_key(name, parts):
    if parts != 78:
        assert servers.split_address(name) == parts
        return
    with pytest.raises(PflowError, match="http://HOST/v1#NAME") as caught:
        servers.split_address(name)
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
    with Serving(lambda *_: (200, body, {})) as lying, socket.create_server(("127.0.0.1", 0)) as stalling:
        monkeypatch.setattr(servers, "USUAL", {"Ollama": lying.server_port, "LM Studio": stalling.getsockname()[1]})
        assert servers.find_served() == {}


def test_what_servers_offer_is_kept_for_tab_unless_a_terminal_should_not_show_it(monkeypatch):
    listed = json.dumps({"data": [{"id": name} for name in ("oak:1b", "\x1b[31mred", "two words", "")]})
    with Serving(lambda *_: (200, listed.encode(), {})) as server:
        monkeypatch.setattr(servers, "USUAL", {"Ollama": server.server_port})
        found = servers.find_served(20)
    assert found == {f"http://127.0.0.1:{server.server_port}/v1#oak:1b": "Ollama on this machine"}
    assert found == {name: about for name, about in read_models() if name.startswith("http")}


def test_a_plugin_that_fails_is_no_bug_of_pflow(monkeypatch):
    monkeypatch.setattr("pflow.models.settings.load_models", lambda: 1 / 0)
    with pytest.raises(PflowError, match="cannot load llm's models: ZeroDivisionError"):
        choose.all_models()


def test_the_local_model_that_came_last_answers_if_none_is_chosen(server, tmp_path, monkeypatch):
    monkeypatch.delenv("LLM_MODEL", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    place = tmp_path / "pflow" / "models"
    place.mkdir(parents=True)
    for at, name in enumerate(("SmolLM2", "tree", "SmolLM2")):
        (place / f"{name}.gguf").touch()
        os.utime(place / f"{name}.gguf", (at, at))
        assert choose.choose(None).model_id == identify(None)["id"] == name
