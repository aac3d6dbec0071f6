"""npx and uvx are asked what they would run, and end with us."""

import os

import pytest

from pflow.errors import PflowError
from pflow.mcp.client import add
from tests.process.test_worker import is_running, until


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path, monkeypatch):
    program = tmp_path / "uvx"
    program.write_text('#!/bin/sh\nsleep 600 &\necho $! $$ >"$PIDS"\nwait\n')
    program.chmod(0o755)
    monkeypatch.setattr(add, "_LAUNCHER_TIMEOUT", 1)
    with pytest.raises(PflowError, match="it took longer than 1 s") as failed:
        add.resolve_command([str(program), "box"], {"PIDS": str(tmp_path / "pids")})
    assert failed.value.exit == 69
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    until(lambda: not any(is_running(int(pid)) for pid in pids))


def test_what_it_says_is_the_reason(tmp_path):
    program = tmp_path / "uvx"
    program.write_text("#!/bin/sh\necho 'no such package' >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(PflowError, match="cannot find out what 'uvx' runs: no such package"):
        add.resolve_command([str(program), "box"], {**os.environ})
