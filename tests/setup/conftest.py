"""Prefixes to put things below, and how they look."""

import os
from pathlib import Path

import pytest

from pflow.setup.places import Places, find_places


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
