"""pflow's directories, as the XDG specification has it, and the key of the user's state."""

import os
from pathlib import Path

import pytest

from pflow.errors import BAD_CONFIG, CANNOT_WRITE, PflowError
from pflow.files.directories import pflow_directory
from pflow.files.state_key import state_key


@pytest.mark.parametrize(
    ("home", "variable", "found"),
    [
        ("/home/ada", "", "/home/ada/.local/share/pflow"),
        ("/home/ada", "/data", "/data/pflow"),
        ("/home/ada", "relative", "/home/ada/.local/share/pflow"),
        ("", "/data", "/data/pflow"),
        ("", "", None),
        ("", "relative", None),
        ("relative", "", None),
    ],
)
def test_a_variable_counts_where_it_is_absolute_else_the_home_does(home, variable, found, monkeypatch):
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("XDG_DATA_HOME", variable)
    assert pflow_directory("XDG_DATA_HOME", ".local/share") == found


def test_what_is_not_set_is_as_if_it_were_empty(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert pflow_directory("XDG_DATA_HOME", ".local/share") == "/home/ada/.local/share/pflow"


@pytest.fixture
def state(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "pflow"


def test_the_key_is_made_once_and_is_ours_alone(state):
    before = os.umask(0)
    try:
        key = state_key()
    finally:
        os.umask(before)
    assert len(key) == 32
    (state / "key").chmod(0)  # as a confined command may
    assert state_key() == key == (state / "key").read_bytes()
    assert [path.stat().st_mode & 0o777 for path in (state, state / "key")] == [0o700, 0o600]
    assert os.listdir(state) == ["key"]


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_file_that_holds_no_key_is_never_taken_for_one(state, content):
    state.mkdir(parents=True)
    (state / "key").write_bytes(content)
    with pytest.raises(PflowError, match="it does not hold a key") as caught:
        state_key()
    assert caught.value.exit == BAD_CONFIG


def test_a_key_that_cannot_be_kept_is_73_and_one_without_a_place_78(state, monkeypatch):
    state.parent.write_text("in the way")
    with pytest.raises(PflowError, match="not a directory") as caught:
        state_key()
    assert caught.value.exit == CANNOT_WRITE
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    with pytest.raises(PflowError, match="its directory is unknown") as caught:
        state_key()
    assert caught.value.exit == BAD_CONFIG
