"""The log of a run: a directory with its flow, its snapshot and its events, locked for as long as the run goes on."""

from __future__ import annotations

import os
import time

from pflow.atomic import write_all
from pflow.catalog.offered import RUNS, offer_one
from pflow.errors import PflowError
from pflow.jsontext import encode
from pflow.paths import kind_of
from pflow.stage.document import WRITER
from pflow.terminal.messages import say
from pflow.xdg import pflow_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Text = str | bytes

FLOW, SNAPSHOT, TRACE, LOCK = "flow.pflow.json", "snapshot.json", "trace.jsonl", "lock"
"""The files in a run's directory."""

GROWN = ".grown"
"""Beside the runs: as many bytes as units that they have grown by since they were last pruned."""

VERSION = 1
_UNIT = 1 << 16
_MANY_UNITS = 320
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

    def __init__(self, directory: str, name: str, trace: int, lock: int) -> None:
        self.directory = directory
        self._offered = f"{name}, {time.strftime('%Y-%m-%d %H:%M')}"
        self.lock = lock
        """A descriptor that children inherit, and the programs that they become: the run goes on while one has it."""
        self._trace = trace
        self._begun = time.monotonic()
        self._size = 0

    @classmethod
    def open(
        cls, run_id: str, name: str, flow: Text | Callable[[], Text], flow_hash: str, steps: int, *,
        traceparent: str | None = None, parent: str | None = None,
    ) -> RunLog | None:  # fmt: skip
        """Begin the log of a run; None where there is no place for it, with a warning where there should be.

        `flow` is the IR as JSON, or makes it; `steps` is how many it has. `traceparent` tells the run's own span in a
        wider trace, as it is handed on, and `parent` the one that it came with.
        """
        place = runs_directory()
        if place is None:
            return None
        directory = os.path.join(place, run_id)
        try:
            _make_folder(directory)
            lock = _take_lock(directory)  # before there is a trace, by which others know a run
            log = cls(directory, name, _open(directory, TRACE, os.O_APPEND), lock)
        except OSError as error:
            _warn(f"cannot keep a log of this run in '{directory}': {error.strerror}")
            return None
        log._put(FLOW, flow() if callable(flow) else flow)
        about = {"run": run_id, "pid": os.getpid(), "name": name, "flow_hash": flow_hash, "steps": steps, "by": WRITER}
        spans = {"traceparent": traceparent, "parent": parent}
        log.event({"event": "run", **about, **{name: span for name, span in spans.items() if span}})
        offer_one(RUNS, run_id, log._offered)
        return log

    def write_snapshot(self, snapshot: dict[str, Any]) -> None:
        """Keep a snapshot in place of an earlier one, whole or not at all."""
        try:
            self._put(SNAPSHOT, encode(snapshot) + b"\n")
        except PflowError as error:
            _warn(f"cannot keep the snapshot of this run: {error.message}")

    def _put(self, name: str, text: Text) -> None:
        """Write a file. Without fsync: a log need not outlast a power cut, and a short run would take twice as long."""
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
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
            self.line(event_line(fields))
        except PflowError as error:
            _warn(f"cannot log that the run had a {fields['event']}: {error.message}")

    def finish(
        self, exit: int, *, error: dict[str, Any] | None = None, store: dict[str, dict[str, Any]] | None = None
    ) -> None:
        """Write the last event, and let go. `store` tells what each key of the final store holds (`describe`)."""
        fields: dict[str, Any] = {"event": "finish", "exit": exit, "ms": (time.monotonic() - self._begun) * 1000}
        if error:
            fields["error"] = error
        self.event({**fields, "store": store or {}})
        fd, self._trace = self._trace, -1
        try:
            os.close(self.lock)
            self._size += os.fstat(fd).st_size
            os.close(fd)
        except OSError:
            pass  # a full disk ended the log before, or a node closed what is not its own
        ended = f"failed with {exit}" if exit else "done"
        offer_one(RUNS, os.path.basename(self.directory), f"{self._offered}, {ended}")
        _note_growth(os.path.dirname(self.directory), self._size)


def event_line(fields: dict[str, Any]) -> bytes:
    """An event as its line, with the version and the time."""
    return encode({"v": VERSION, "event": fields["event"], "time": time.time(), **fields}) + b"\n"


def describe(value: Any) -> dict[str, Any]:
    """What a value is, without it: its type; how many characters, bytes, items or members where it has any."""
    shape: dict[str, Any] = {"type": kind_of(value).removeprefix("a ").removeprefix("an ")}
    if isinstance(value, str | bytes | list | dict):
        shape["size"] = len(value)
    return shape


def _make_folder(path: str) -> None:
    """Make a folder that is ours alone, whatever the umask, and those above it that are missing. Raises OSError."""
    try:
        os.mkdir(path, 0o700)
    except FileNotFoundError:
        try:
            _make_folder(os.path.dirname(path))
        except FileExistsError:
            pass  # somebody else made it just now
        os.mkdir(path, 0o700)
    os.chmod(path, 0o700)


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


def _note_growth(place: str, size: int) -> None:
    """Prune the runs where this one is the first to end on its day, or they have grown by 20 MB."""
    now = time.time()
    try:
        fd = _open(place, GROWN, os.O_APPEND)
        try:
            before = os.fstat(fd)
            os.write(fd, b"." * (1 + size // _UNIT))
            is_due = before.st_mtime // _DAY < now // _DAY or before.st_size + size // _UNIT >= _MANY_UNITS
            if is_due:
                os.ftruncate(fd, 0)
        finally:
            os.close(fd)
    except OSError:
        return  # it is tried again after the next run
    if is_due:
        from pflow.run.prune import prune

        prune(place)


def _warn(text: str) -> None:
    say("pflow run", f"warning: {text}")
