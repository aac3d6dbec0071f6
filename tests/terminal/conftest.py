"""The environment of tests about colour."""

import pytest

from pflow.terminal import columns


@pytest.fixture
def environment(monkeypatch):
    """Sets exactly these variables, and whether every stream is a terminal."""

    def put(variables, *, is_terminal):
        for name in ("TERM", "NO_COLOR", "CLICOLOR_FORCE"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(columns.os, "isatty", lambda fd: is_terminal)

    return put
