"""pflow's directories, as the XDG specification has it, and the key of the user's state."""

import os
from pathlib import Path

import pytest

from pflow.errors import BAD_CONFIG, CANNOT_WRITE, PflowError
from pflow.files import directories
from pflow.files import state_key as keys
from pflow.files.directories import (
    cache_directory,
    data_directory,
    is_on_network,
    llm_directory,
    make_private,
    own_directories,
    pflow_directory,
    read_cached,
    state_directory,
)
from pflow.files.state_key import state_key
from tests.tools import only_root


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


def test_each_kind_of_file_has_its_directory(monkeypatch):
    for name in ("DATA", "CACHE", "STATE", "CONFIG"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/ada")
    assert data_directory("flows") == "/home/ada/.local/share/pflow/flows"
    assert cache_directory() == "/home/ada/.cache/pflow"
    assert state_directory() == "/home/ada/.local/state/pflow"
    folders = [".local/state", ".cache", ".config", ".local/share"]
    assert own_directories() == [f"/home/ada/{each}/pflow" for each in folders]
    monkeypatch.setenv("HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert (data_directory("flows"), own_directories()) == (None, ["/c/pflow"])


def test_the_directory_of_llm_is_in_the_users_settings_unless_it_is_named(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    for config in ("", "/etc/xdg"):
        monkeypatch.delenv("LLM_USER_PATH", raising=False)
        monkeypatch.setenv("XDG_CONFIG_HOME", config)
        assert llm_directory() == f"{config or '/home/ada/.config'}/io.datasette.llm"
    monkeypatch.setenv("LLM_USER_PATH", "/mine")
    assert llm_directory() == "/mine"


def test_a_directory_and_its_parents_are_made_for_their_owner_alone(tmp_path, monkeypatch):
    before = os.umask(0)
    try:
        make_private(str(tmp_path / "a" / "b"))
        make_private(str(tmp_path / "a" / "b"))
        make_private(str(tmp_path / "c" / "d"), 0o755)
        monkeypatch.chdir(tmp_path)
        make_private("e")
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "c", "c/d", "e")]
    assert modes == [0o700, 0o700, 0o755, 0o755, 0o700]


MOUNTS = """
21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
22 21 0:5 / {top}/net rw shared:1 - nfs4 server:/ rw
23 22 8:2 / {top}/net/disk rw - xfs /dev/sdb rw
24 21 0:6 / {top}/my\\040files rw - fuse.sshfs host: rw
25 22 0:7 / {top}/net/over rw - ext4 /dev/sdc rw
26 25 0:8 / {top}/net/over rw - cifs //host/share rw
"""


@pytest.mark.parametrize(
    ("path", "is_network"),
    [
        ("a", False),
        ("net", True),
        ("net/a", True),
        ("network", False),
        ("net/disk/a", False),
        ("my files/a", True),
        ("net/over/a", True),
        ("link/a", True),
    ],
)
def test_a_file_is_on_the_network_if_the_mount_that_holds_it_is(tmp_path, monkeypatch, path, is_network):
    (tmp_path / "mounts").write_text(MOUNTS.format(top=tmp_path).lstrip())
    (tmp_path / "link").symlink_to("net")
    monkeypatch.setattr(directories, "MOUNTS", str(tmp_path / "mounts"))
    assert is_on_network(str(tmp_path / path)) == is_network
    monkeypatch.setattr(directories, "MOUNTS", str(tmp_path / "none"))
    assert is_on_network(str(tmp_path / path))


def test_a_file_of_the_cache_is_read_if_only_its_owner_may_write_it(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"x" * 10)
    found = {}
    for mode in (0o600, 0o644, 0o620, 0o602):
        file.chmod(mode)
        found[mode] = read_cached(str(file))
    assert found == {0o600: b"x" * 10, 0o644: b"x" * 10, 0o620: None, 0o602: None}
    file.chmod(0o600)
    assert [read_cached(str(file), most) for most in (9, 10)] == [None, b"x" * 10]
    assert [read_cached(str(path)) for path in (tmp_path, tmp_path / "none")] == [None, None]


@only_root
def test_a_file_of_another_user_is_not_read_as_ones_own(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "a").chmod(0o600)
    os.chown(tmp_path / "a", 65534, 65534)
    assert read_cached(str(tmp_path / "a")) is None


def test_a_key_is_made_for_its_owner_alone_from_the_first_moment(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(os, "chmod", lambda *_: None)
        made = keys._make_key(str(tmp_path / "key"))
    assert ((tmp_path / "key").stat().st_mode & 0o777, (tmp_path / "key").read_bytes()) == (0o600, made)
