"""The settings of other clients: what is taken, and what is said of what does not fit."""

import json

import pytest

from pflow.errors import PflowError
from pflow.mcp.client.other_clients import find_servers


@pytest.fixture
def found(tmp_path, monkeypatch):
    """Finds the servers of a file, each as its Server or in the words of its error."""
    monkeypatch.chdir(tmp_path)

    def find(text, name="settings.json"):
        (tmp_path / name).write_text(text)
        return {each.label: getattr(each.server, "message", each.server) for each in find_servers(name)}

    return find


def test_null_is_nothing_a_number_is_a_text_and_unknown_members_are_ignored(found):
    entry = {"command": "npx", "args": ["-p", 80], "env": {"A": None, "B": 1}, "headers": None, "gallery": [True]}
    server = found(json.dumps({"mcpServers": {"one": entry}, "servers": {}, "inputs": [None]}))["one"]
    assert (server.command, server.env["B"], "A" in server.env) == (["npx", "-p", "80"], "1", False)


def test_codex_names_variables_and_their_places(found, monkeypatch):
    monkeypatch.setenv("X", "1")
    text = '[mcp_servers.one]\nurl = "http://a.b"\nbearer_token_env_var = "KEY"\nenv_vars = ["X", { name = "Y" }]\n'
    server = found(text, "config.toml")["one"]
    assert (server.url, server.headers, server.env["X"]) == ("http://a.b", {"Authorization": "Bearer env:KEY"}, "1")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (3, "its entry does not fit: it is an int, not a dict"),
        ({"command": ["npx"]}, "its entry does not fit: 'command' is a list, not a str"),
        ({"command": "npx", "args": "-y"}, "its entry does not fit: 'args' is a str, not a list"),
        ({"command": "npx", "args": [{}]}, "its entry does not fit: 'args[0]' is a dict, not a str"),
        ({"url": "http://a.b", "headers": {"a.b": ["canary"]}}, "'headers[\"a.b\"]' is a list, not a str"),
        ({"command": "npx", "disabled": True}, "it is turned off there"),
        ({"type": "sse", "url": "http://a.b"}, "it has neither a command nor the URL of streamable HTTP"),
        ({}, "it has neither a command nor the URL of streamable HTTP"),
    ],
)
def test_an_entry_that_does_not_fit_is_named_and_the_others_are_taken(found, entry, words):
    servers = found(json.dumps({"servers": {"odd": entry, "good": {"command": "npx"}}}))
    assert servers["odd"].startswith("cannot take the server 'odd': ")
    assert (words in servers["odd"], servers["good"].command) == (True, ["npx"]), servers["odd"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "it is a list, not a dict"),
        ('{"mcpServers": [1]}', "'mcpServers' is a list, not a dict"),
        ("{", "it is not JSON at line 1"),
        ("[" * 100_000, "it is not JSON"),
    ],
)
def test_a_file_that_does_not_fit_is_named(found, text, words):
    with pytest.raises(PflowError) as caught:
        found(text)
    assert caught.value.message.endswith(f"settings.json': {words}")
    assert caught.value.exit == 65
