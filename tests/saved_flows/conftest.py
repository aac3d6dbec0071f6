"""A home of its own for each test, with a library that is empty."""

import sys
from pathlib import Path

import pytest

from pflow.catalog.find import forget_types


@pytest.fixture
def library(tmp_path, monkeypatch):
    """The directory of saved flows; it is not there yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "PFLOW_NODES"):
        monkeypatch.delenv(name, raising=False)
    forget_types()
    return tmp_path / ".local" / "share" / "pflow" / "flows"
