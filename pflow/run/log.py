"""The log of a run: a directory with its flow, its snapshot and its events, locked for as long as the run goes on."""

from __future__ import annotations

import os
import time

from pflow import TYPE_CHECKING
from pflow.atomic import write_all
from pflow.errors import PflowError
from pflow.jsontext import encode
from pflow.paths import kind_of
from pflow.stage.document import WRITER
from pflow.terminal.messages import say
from pflow.xdg import pflow_directory

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FLOW, SNAPSHOT, TRACE, LOCK = "flow.pflow.json", "snapshot.json", "trace.jsonl", "lock"
"""The files in a run's directory."""

PRUNED = ".pruned"
"""A file beside the runs: its time is that of the last pruning."""

VERSION = 1
_LARGE = 1 << 20
_DAY = 86_400


def runs_directory() -> str | None:
    """Where runs are kept; None where the environment names no place."""
    state = pflow_directory("XDG_STATE_HOME", ".local/state")
    return os.path.join(state, "runs") if state else None


class RunLog:
    """What is written down of one run; values stand in its snapshot alone.

    What cannot be written is one warning on stderr, and the run goes on. A forked child may write lines too; `finish`
    is for the process that opened the log.
    """

    def __init__(self, directory: str, trace: int, lock: int) -> None:
        self.directory = directory
        self.lock = lock
        """A descriptor that children inherit, and the programs that they become: the run goes on while one has it."""
        self._trace = trace
        self._begun = time.monotonic()
        self._size = 0

    @classmethod
    def open(cls, run_id: str, flow: Callable[[], bytes], about: dict[str, Any]) -> RunLog | None:
        """Begin the log of a run; None where there is no place for it, with a warning where there should be.

        `flow` makes the IR as JSON. `about` is what the first event says beside the run's id, the process and pflow's
        version: name, flow_hash, steps, traceparent (the run's own span), parent (the span that began it).
        """
        place = runs_directory()
        if place is None:
            return None
        directory = os.path.join(place, run_id)
        try:
            _make_folder(directory)
            lock = _take_lock(directory)  # before there is a trace, by which others know a run
            log = cls(directory, _open(directory, TRACE, os.O_APPEND), lock)
        except OSError as error:
            _warn(f"cannot keep a log of this run in '{directory}': {error.strerror}")
            return None
        log._put(FLOW, flow())
        log.event({"event": "run", "run": run_id, "pid": os.getpid(), "by": WRITER, **about})
        return log

    def write_snapshot(self, snapshot: dict[str, Any]) -> None:
        """Keep a snapshot in place of an earlier one, whole or not at all."""
        try:
            self._put(SNAPSHOT, encode(snapshot) + b"\n")
        except PflowError as error:
            _warn(f"cannot keep the snapshot of this run: {error.message}")

    def _put(self, name: str, data: bytes) -> None:
        """Write a file. Without fsync: a log need not outlast a power cut, and a short run would take twice as long."""
        path = os.path.join(self.directory, name)
        try:
            draft = _open(self.directory, name + ".tmp", os.O_TRUNC)
            try:
                write_all(draft, data)
            finally:
                os.close(draft)
            os.rename(path + ".tmp", path)
        except OSError as error:
            _warn(f"cannot write '{path}': {error.strerror}")
        self._size += len(data)

    def line(self, data: bytes) -> None:
        """Write one line, or several in one go, each with its newline. What is written, no kill -9 takes back."""
        if self._trace < 0:
            return
        try:
            write_all(self._trace, data)
        except OSError as error:
            self._trace = -1
            _warn(f"cannot go on with the log in '{self.directory}': {error.strerror}")

    def event(self, fields: dict[str, Any]) -> None:
        """Write an event: `{"event": "start", …}`, and what is known of it; never a value."""
        try:
            self.line(encode({"v": VERSION, "event": fields["event"], "time": time.time(), **fields}) + b"\n")
        except PflowError as error:
            _warn(f"cannot log that the run had a {fields['event']}: {error.message}")

    def finish(self, exit: int, error: dict[str, Any] | None, store: dict[str, Any]) -> bool:
        """Write the last event, and let go. `store` is the final one; its keys, types and sizes are written.

        Returns whether old runs are due to be pruned: after the first run of a day, and after a large one.
        """
        fields: dict[str, Any] = {"event": "finish", "exit": exit, "ms": (time.monotonic() - self._begun) * 1000}
        if error:
            fields["error"] = error
        self.event({**fields, "store": {key: describe(value) for key, value in store.items()}})
        fd, self._trace = self._trace, -1
        try:
            os.close(self.lock)
            self._size += os.fstat(fd).st_size
            os.close(fd)
        except OSError:
            pass  # a full disk ended the log before, or a node closed what is not its own
        return _is_pruning_due(os.path.dirname(self.directory), is_large=self._size > _LARGE)


def describe(value: Any) -> dict[str, Any]:
    """What a value is, without it: its type; how many characters, bytes, items or members where it has any."""
    shape: dict[str, Any] = {"type": kind_of(value).removeprefix("a ").removeprefix("an ")}
    if isinstance(value, str | bytes | list | dict):
        shape["size"] = len(value)
    return shape


def _make_folder(path: str) -> None:
    """Make a folder that is ours alone, whatever the umask, and those above it that are missing. Raises OSError."""
    before = os.umask(0o077)
    try:
        os.makedirs(path)
    finally:
        os.umask(before)


def _open(directory: str, name: str, flags: int) -> int:
    """A file of a run, made where it is not there, and ours alone."""
    fd = os.open(os.path.join(directory, name), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | flags, 0o600)
    os.fchmod(fd, 0o600)
    return fd


def _take_lock(directory: str) -> int:
    import fcntl

    fd = _open(directory, LOCK, 0)
    os.set_inheritable(fd, True)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pass  # a file system without locks
    return fd


def _is_pruning_due(place: str, *, is_large: bool) -> bool:
    now = time.time()
    try:
        fd = _open(place, PRUNED, 0)
        try:
            is_due = is_large or os.fstat(fd).st_mtime // _DAY < now // _DAY
            if is_due:
                os.utime(fd)
        finally:
            os.close(fd)
    except OSError:
        return False  # it is tried again after the next run
    return is_due


def _warn(text: str) -> None:
    say("pflow run", f"warning: {text}")
