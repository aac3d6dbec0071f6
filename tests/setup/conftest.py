"""Prefixes to put things below, and how they look."""

import os
from pathlib import Path

import pytest

from pflow.setup.places import Places, find_places

WANTED = {
    "man/man1/pflow.1": b"a page",
    "zsh/site-functions/_pflow": b"for zsh",
    "fish/vendor_completions.d/pflow.fish": b"for fish",
}


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_DATA_HOME", "ZDOTDIR", "MANPATH", "FPATH", "XDG_DATA_DIRS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # no power is cut here
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return find_places(str(tmp_path / "deep" / "prefix"))


def listing(root: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below a directory: its mode, and a file's bytes."""
    found = {}
    for directory, _, files in os.walk(root):
        for path in [Path(directory), *(Path(directory, file) for file in files)]:
            found[str(path)] = (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"")
    return found
