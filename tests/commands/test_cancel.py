"""pflow cancel signals the process that runs a run, and no other."""

import os
import signal
import subprocess
import sys

import pytest

from pflow.commands import cancel
from pflow.errors import DENIED, TRY_AGAIN, PflowError
from pflow.record.log import LOCK, RunLog, mark_of
from pflow.record.runs import RecordedRun

ID = "01BX5ZZKBKACTAV9WEVGEMMVRZ"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of this process."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    log = RunLog.open(ID, b"{}", {})
    assert log is not None
    yield RecordedRun(log.directory)
    log.release()


def test_a_process_that_has_the_number_of_the_runs_own_is_left_alone(run):
    """An orphan of the run has the lock; another process has its number, or is a later one that opened no lock."""
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    recycled = mark_of(os.getpid())[:-2] + b"x\n"
    for mark in (recycled, mark_of(other.pid), b""):
        with open(os.path.join(run.directory, LOCK), "wb") as lock:
            lock.write(mark)
        with pytest.raises(PflowError, match="its own process is not here any more") as caught:
            cancel._end(run, 0)
        assert caught.value.exit == TRY_AGAIN
    other.communicate(b"\n", timeout=20)
    assert other.returncode == 0


def test_another_users_run_is_refused(run, monkeypatch):
    def refuse(*about: object) -> None:
        raise PermissionError

    monkeypatch.setattr(signal, "pidfd_send_signal", refuse)
    with pytest.raises(PflowError, match=f"its process {os.getpid()} belongs to another user") as caught:
        cancel._end(run, 0)
    assert caught.value.exit == DENIED
