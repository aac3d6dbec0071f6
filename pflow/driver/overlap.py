"""The lock with which `--if-running` keeps a flow to one run in progress at a time."""

from __future__ import annotations

import fcntl
import os
import time

from pflow import Any
from pflow.errors import CANNOT_WRITE, Attempt, Ignoring
from pflow.files.directories import make_private, required_directory, state_directory
from pflow.files.reading import open_regular
from pflow.flow.flow import FlowSpec
from pflow.flow.ir import flow_to_ir
from pflow.mcp.client.sockets import is_running
from pflow.process.children import holder
from pflow.process.signals import Deadline
from pflow.record.log import FLOW, LOCK, open_lock
from pflow.record.runs import RecordedRun, is_locked, run_directories
from pflow.record.snapshot import Snapshot, here
from pflow.values.digest import digest_of

SKIP, WAIT = "skip", "wait"

_PATIENCE = 1.0
"""The seconds that the guards of a killed run need to end its programs."""


def name_of_lock(file: str, directory: str, ir: Any) -> str:
    """Return the name of a flow's lock. All runs of a file share it, with any flags; if the flow has no file, all runs
    of the same text in the same directory share it.
    """
    about = ["file", os.path.realpath(file)] if file else ["text", directory, ir]
    return digest_of(about)[:32]


class OngoingRun:
    """A run in progress, its process (0 if unknown), and the file that it has locked."""

    def __init__(self, run: str, pid: int, lock: str) -> None:
        self.run, self.pid, self.lock = run, pid, lock

    def is_alive(self) -> bool:
        """Return True if the run's own process is alive; otherwise only programs that it started may hold the lock."""
        return self.pid > 0 and is_running(self.pid)

    def __str__(self) -> str:
        who = f"process {self.pid}" if self.is_alive() else holder(self.lock) or f"what process {self.pid} started"
        what = f"run {self.run} is still going" if self.run else "another run of it is about to begin"
        return f"{what} ({who})" if self.pid else what


class FlowLock:
    """The lock of one flow, which children and programs inherit. A run without --if-running does not take it."""

    def __init__(self, flow: FlowSpec) -> None:
        """Raises PflowError: 78 if there is no place for a lock, 73 if it cannot be made."""
        state = required_directory(state_directory(), "cannot keep a lock", "XDG_STATE_HOME")
        self.name = name_of_lock(flow.file, here(), flow_to_ir(flow))
        self.path = os.path.join(state, "locks", self.name)
        self.locking = Attempt(f"cannot lock '{self.path}'", exit=CANNOT_WRITE)
        with self.locking:
            make_private(os.path.dirname(self.path))
            mark, self.fd = open_lock(self.path)
            os.close(mark)

    def try_lock(self) -> OngoingRun | None:
        """Take the lock, or return the run that holds it. The programs of a killed run get a moment to end."""
        limit = time.monotonic() + _PATIENCE
        while (other := self._other()) and not other.is_alive() and time.monotonic() < limit:
            time.sleep(0.02)
        return other

    def wait(self, seconds: float | None) -> None:
        """Wait until no run of the flow is in progress, and take the lock."""
        with Deadline(seconds):
            self._lock()
            while other := self._other():
                with open(open_regular(other.lock), "rb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_SH)
                time.sleep(0.02)  # else this would spin if one of its programs has released the lock

    def _other(self) -> OngoingRun | None:
        """Try to take the lock; return the run of this flow in progress, even if it did not take the lock."""
        is_ours = self._lock(fcntl.LOCK_NB)
        going = (RecordedRun(directory) for directory in run_directories() if is_locked(directory))
        same = (
            OngoingRun(run.id, run.about.get("pid", 0), os.path.join(run.directory, LOCK))
            for run in going
            if self._is_of(run)
        )
        return next(same, None if is_ours else OngoingRun("", int(holder(self.path).partition(" ")[0] or 0), self.path))

    def _is_of(self, run: RecordedRun) -> bool:
        """Return True if it is a run of this flow."""
        kept = Snapshot.of(run)  # a run that has just begun has none yet
        if kept is None:
            return False
        return name_of_lock(kept.place["file"], kept.place["directory"], run.read_json(FLOW)) == self.name

    def _lock(self, how: int = 0) -> bool:
        with self.locking, Ignoring(BlockingIOError):  # any other error comes from a file system without locks
            fcntl.flock(self.fd, fcntl.LOCK_EX | how)
            return True
        return False

    def release(self) -> None:
        """Release the lock, even if programs in the background have inherited it: closing alone would not."""
        fcntl.flock(self.fd, fcntl.LOCK_UN)
        os.close(self.fd)
