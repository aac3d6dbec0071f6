"""What tests of planning stand on: a server that plays models, and a user who has nothing but it."""

import pytest

from tests.peers.openai_server import OpenAIServer


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    """One server for all tests of a file."""
    with OpenAIServer(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def home(peer, tmp_path, monkeypatch):
    """The home of a user without models of their own, nodes, flows and a cache."""
    for name in ("OPENAI_API_KEY", "PFLOW_MODEL", "PFLOW_PLAN_MODEL", "PFLOW_NODES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("LLM_USER_PATH", str(peer.llm_user_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name, folder in (("XDG_CACHE_HOME", "cache"), ("XDG_DATA_HOME", "data"), ("HOME", "")):
        monkeypatch.setenv(name, str(tmp_path / "home" / folder))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server for one test alone."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer(tmp_path / "server") as server:
        monkeypatch.setenv("LLM_USER_PATH", str(server.llm_user_path))
        yield server
