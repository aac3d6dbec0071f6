"""One run of a flow at a time: what `--if-running` does while another one is going."""

from __future__ import annotations

import fcntl
import os
import time

from pflow import TYPE_CHECKING
from pflow.atomic import open_private
from pflow.digest import digest_of
from pflow.errors import BAD_CONFIG, CANNOT_WRITE, PflowError
from pflow.process.signals import Deadline
from pflow.run.log import holder
from pflow.xdg import make_private, state_directory

if TYPE_CHECKING:
    from pflow.flow.flow import Flow

SKIP, WAIT = "skip", "wait"

_PATIENCE = 1.0
"""Seconds in which what a killed run had started is ended."""


def name_of_lock(flow: Flow) -> str:
    """The same for two runs that must not overlap: of one file, whatever their flags; of a flow without a file, where
    they say the same in the same directory.
    """
    if flow.file:
        return digest_of(["file", os.path.realpath(flow.file)])[:32]
    from pflow.flow.unload import flow_to_ir

    return digest_of(["text", os.getcwd(), flow_to_ir(flow)])[:32]


class Turn:
    """The turn of one flow: a lock that children inherit, and the programs that they become."""

    def __init__(self, flow: Flow) -> None:
        """Raises PflowError: 78 where there is no place for a lock, 73 where none can be made."""
        state = state_directory()
        if state is None:
            hint = "HOME or XDG_STATE_HOME names the place"
            raise PflowError("cannot keep a lock: there is no place for it", hint=hint, exit=BAD_CONFIG)
        directory = os.path.join(state, "locks")
        self.path = os.path.join(directory, name_of_lock(flow))
        try:
            make_private(directory)
            self.fd = open_private(self.path)
        except OSError as error:
            raise self._cannot_lock(error) from None
        os.set_inheritable(self.fd, True)

    def try_now(self) -> str:
        """Take the turn where nobody has it; else who has, in words.

        Where a run was killed, a moment is waited in which what it had started is ended.
        """
        limit = time.monotonic() + _PATIENCE
        while not self._lock(fcntl.LOCK_NB):
            run, pid = self._noted()
            if _is_alive(pid):
                return _going(run, f"process {pid}" if pid else "its process has just begun")
            if time.monotonic() > limit:
                return _going(run, holder(self.path) or f"what process {pid} started")
            time.sleep(0.02)
        return ""

    def wait(self, seconds: float | None) -> None:
        """Take the turn once nobody has it any more."""
        with Deadline(seconds):
            self._lock()

    def _lock(self, how: int = 0) -> bool:
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | how)
        except BlockingIOError:
            return False
        except OSError as error:  # a file system without locks
            raise self._cannot_lock(error) from None
        self.note("")
        return True

    def note(self, run_id: str) -> None:
        """Let others know which run has the turn, and its process."""
        try:
            os.ftruncate(self.fd, 0)
            os.pwrite(self.fd, f"{run_id} {os.getpid()}\n".encode(), 0)
        except OSError:
            pass  # a full disk: the lock holds all the same

    def _noted(self) -> tuple[str, int]:
        """What `note` wrote; no run and process 0 where it has not yet."""
        with open(self.path, encoding="ascii", errors="replace") as file:
            run, _, pid = file.read().partition(" ")
        return run, int(pid) if pid.strip().isdecimal() else 0

    def release(self) -> None:
        """Give it back, for what went on in the background too."""
        fcntl.flock(self.fd, fcntl.LOCK_UN)
        os.close(self.fd)

    def _cannot_lock(self, error: OSError) -> PflowError:
        return PflowError(f"cannot lock '{self.path}': {(error.strerror or '').lower()}", exit=CANNOT_WRITE)


def _going(run: str, who: str) -> str:
    return f"{f'run {run}' if run else 'another run of it'} is still going ({who})"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
