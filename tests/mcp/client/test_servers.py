"""What is kept of an MCP server, and who may read it."""

import os
from pathlib import Path

import pytest

from pflow.errors import PflowError
from pflow.mcp.client.servers import Server, check_server_name, list_servers, load_server, save_server


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "pflow/mcp"


def test_a_server_is_kept_as_it_is_and_only_for_its_owner(own: Path) -> None:
    server = Server("time", ["uvx", "mcp-server-time"], env={"KEY": "canary"}, is_kept=True, tools={"mcp-time-x": "X"})
    assert list_servers() == []
    save_server(server)
    os.chmod(own / "time.json", 0o644)
    save_server(server)
    assert (load_server("time"), list_servers()) == (server, ["time"])
    assert ((own / "time.json").stat().st_mode & 0o777, own.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "canary" not in repr(server)


@pytest.mark.parametrize("name", ["", "Time", "a_b", "-a", "a-", "a--b", "../x", "a b", "é", "x" * 41, "a\n"])
def test_a_name_that_no_server_can_have_is_refused(name: str) -> None:
    with pytest.raises(PflowError) as error:
        check_server_name(name)
    assert error.value.exit == 2


def test_an_unknown_server_is_127_with_the_nearest_name_and_a_damaged_file_65(own: Path) -> None:
    save_server(Server("time"))
    for name, hint in [("tiem", "did you mean time?"), ("quite-other", "pflow mcp add"), ("../time", "")]:
        with pytest.raises(PflowError) as error:
            load_server(name)
        assert (error.value.exit, hint in (error.value.hint or "")) == (127, True)
    for text in ["{", "[]", "{}", '{"name": "time", "run": 1}', '{"name": "other"}', '{"name": "time", "more": 1}']:
        (own / "time.json").write_text(text)
        with pytest.raises(PflowError) as error:
            load_server("time")
        assert error.value.exit == 65
