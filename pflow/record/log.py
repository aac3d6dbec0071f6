"""The log of a run: a directory with its flow, its snapshot and its events, locked while the run goes on.

Shell completion reads the events, so this module stays lean.
"""

from __future__ import annotations

import os
import time

from pflow import TYPE_CHECKING, Any
from pflow.errors import (
    BAD_CONFIG,
    CANNOT_WRITE,
    OK,
    TRY_AGAIN,
    Ignoring,
    PflowError,
    not_written,
    reason_of,
    result_of,
)
from pflow.files.atomic import failpoint, open_private, replace, take_lock, write_all
from pflow.files.directories import is_on_network, make_private, state_directory
from pflow.files.reading import Opened, open_regular, read_regular
from pflow.files.state_key import state_key
from pflow.stage import WRITER
from pflow.stage.trace import event_line
from pflow.terminal.messages import say
from pflow.values.jsontext import decode, encode
from pflow.values.paths import UNITS, describe

if TYPE_CHECKING:
    from pflow.record.journal import Journal
    from pflow.values.secrets import Secrets

    Event = dict[str, Any]
else:
    Event = dict

FLOW, SNAPSHOT, EVENTS, KEYS, LOCK = "flow.pflow.json", "snapshot.json", "trace.jsonl", "keys.jsonl", "lock"
STATUS = "status.json"
"""The names of the files in a run's directory. Only a map has a status, which other processes read while it runs."""

AHEAD = ".ahead"
"""A file beside the runs. Each line has two ids: a run that began while the clock was ahead, and the run after it."""

PRUNED = ".pruned"
"""A file beside the runs, whose time stamp is that of the last pruning."""

_LARGE = 1 << 20
_DAY = 86_400

_NEEDED = {
    "start": ("step", "node"),
    "end": ("step", "node"),
    "item": ("step",),
    "batch": ("step",),
    "key": ("step", "node", "visit", "cache"),
    "budget": ("used", "limits"),
}
_TYPES = {
    **dict.fromkeys(("step", "node", "lane", "item", "warning"), str),
    **dict.fromkeys(("reads", "writes", "tokens", "items", "usage", "cache", "error", "map", "store"), dict),
    **dict.fromkeys(("used", "limits", "seen"), dict),
    **dict.fromkeys(("steps", "exit", "failed_items", "index", "count"), int),
    **dict.fromkeys(("tried", "asked"), list),
}
_LATEST = 1e12
"""The greatest time in seconds, and duration in ms, that an event may have; a larger number is damage."""


def runs_directory() -> str | None:
    """Return the directory of the runs; None if the environment names no directory."""
    state = state_directory()
    return os.path.join(state, "runs") if state else None


class RunLog:
    """The files of one run; only its snapshot and its journal hold values.

    If something cannot be written, one warning says so and the run goes on. A run with a journal fails instead if a
    file is lost that a resume needs. A forked child may write events too; only the opening process calls `finish`.
    """

    def __init__(self, directory: str) -> None:
        """Lock the directory of a run. Raises OSError: BlockingIOError while the run, or one of its programs, runs."""
        self.directory = directory
        self.lock = _lock(directory)  # before the events: without a lock they look like a killed run's
        """A descriptor that children and programs inherit: the run counts as running while one of them holds it."""
        self._files = {EVENTS: open_private(os.path.join(directory, EVENTS), os.O_APPEND)}
        """The descriptors of the files of events; -1 for one that cannot be written."""
        self.journal: Journal | None = None
        self._begun = time.monotonic()
        self._size = 0
        try:
            take_lock(self._files[EVENTS])  # a second lock: a program could release the one that it inherits
        except BlockingIOError:
            self.release()
            raise

    @classmethod
    def open(cls, run_id: str, flow: bytes, about: dict[str, Any], *, is_needed: bool = False) -> RunLog | None:
        """Begin the log of a run; return None if the environment names no directory or, with a warning, if it fails.

        If it `is_needed`, raises PflowError instead: 78 without a directory, 73 if nothing can be written there.

        `flow` is the IR as JSON. `about` is what the first event says beside the run's id, the process and pflow's
        version: name, flow_hash, steps, traceparent (the run's own span), parent (the span that began it).
        """
        parent = runs_directory()
        if parent is None:
            if is_needed:
                raise _no_journal(": HOME or XDG_STATE_HOME names a place for it", BAD_CONFIG)
            return None
        directory = os.path.join(parent, run_id)
        try:
            make_private(directory)
            log = cls(directory)
            _note_order(parent, run_id)
            log._put(FLOW, flow)
        except OSError as error:
            if is_needed:
                _remove(directory)
                raise _no_journal(f" in '{directory}': {reason_of(error)}", CANNOT_WRITE) from None
            _warn(f"cannot keep a log of this run in '{directory}': {reason_of(error)}")
            return None
        log.write_line(event_line("run", {"run": run_id, "pid": os.getpid(), "by": WRITER, **about}))
        return log

    @classmethod
    def reopen(cls, directory: str, ms: float) -> RunLog:
        """Reopen the log of a run that took `ms` milliseconds so far, and cut off a torn last line of its events.

        Raises PflowError: 75 while the run, or a program that it started, runs, 73 if nothing can be written.
        """
        run = os.path.basename(directory)
        try:
            log = cls(directory)
            _cut_torn_line(os.path.join(directory, EVENTS))
        except BlockingIOError:
            from pflow.process.children import holder

            who = holder(os.path.join(directory, LOCK))
            what = f"cannot resume the run {run}: it is still running" + (f": {who}" if who else "")
            raise PflowError(what, hint="try again when it has ended", exit=TRY_AGAIN) from None
        except OSError as error:
            raise not_written(f"cannot continue the log in '{directory}'", error) from None
        log._begun -= ms / 1000  # the pause before a resume is not a part of the duration
        return log

    def write_snapshot(self, snapshot: dict[str, Any]) -> None:
        """Keep a snapshot in place of an earlier one, whole or not at all."""
        from pflow.record.journal import bounds_seal

        try:
            snapshot = {**snapshot, "seal": bounds_seal(os.path.basename(self.directory), snapshot)}
            self._put(SNAPSHOT, encode(snapshot) + b"\n")
        except (PflowError, OSError) as error:
            why = error.message if isinstance(error, PflowError) else reason_of(error)
            _warn(f"cannot keep the snapshot of this run: {why}")

    def _put(self, name: str, data: bytes) -> None:
        """Write a file without fsync: a log need not survive a power cut, and a short run would take twice as long.

        Raises OSError.
        """
        failpoint(name)
        replace(os.path.join(self.directory, name), data, mode=0o600, lasts=False)
        failpoint(f"{name}.written")
        self._size += len(data)

    def open_journal(self, secrets: Secrets, begin: dict[str, Any]) -> None:
        """Begin the journal. Raises PflowError (73, 78) and removes the run's directory if that fails."""
        from pflow.record.journal import Journal, bounds_seal, seal

        try:
            self.journal = Journal(self.directory, secrets, state_key())
            seal(begin, secrets, self.journal.key)
            run = os.path.basename(self.directory)
            self.journal.write({"begin": run, "bounds": bounds_seal(run, begin["place"]), **begin})
        except PflowError:
            _remove(self.directory)
            raise

    def write_line(self, data: bytes, name: str = EVENTS) -> None:
        """Write a line of the file of events, or of KEYS for the parts of a cached step's key; it survives kill -9."""
        try:
            if name not in self._files:
                self._files[name] = open_private(os.path.join(self.directory, name), os.O_APPEND)
            if self._files[name] >= 0:
                write_all(self._files[name], data)
        except OSError as error:
            self._files[name] = -1
            _warn(f"cannot continue the log in '{self.directory}': {reason_of(error)}")

    def finish(
        self, exit: int, error: dict[str, Any] | None, store: dict[str, Any], failed_items: int = 0,
        usage: dict[str, Any] | None = None, *, is_kept: bool = False,
    ) -> bool:  # fmt: skip
        """Write the last event, with the keys, types and sizes of the final `store`, and release the lock.

        `failed_items` counts the items that batches left out, `usage` is the models' (Usage.total). The journal of a
        successful run is removed unless it `is_kept`. Return True if it is time to prune old runs: once a day, and
        after a large run.
        """
        ms, shapes = (time.monotonic() - self._begun) * 1000, {key: describe(value) for key, value in store.items()}
        some = {"error": error, "failed_items": failed_items, "usage": usage}
        known = {name: value for name, value in some.items() if value}
        failpoint("trace.finish")
        self.write_line(event_line("finish", {"exit": exit, "ms": ms, **known, "store": shapes}))
        failpoint("trace.finish.written")
        if self.journal is not None:
            self.journal.finish(is_kept=is_kept or exit != OK)
        self.release()
        pruned = os.path.join(os.path.dirname(self.directory), PRUNED)
        return self._size > _LARGE or result_of(os.path.getmtime, pruned, otherwise=0.0) < time.time() - _DAY

    def release(self) -> None:
        """Release the lock and close the events; the log must not be written after that."""
        for fd in (self.lock, self._files[EVENTS]):
            with Ignoring(OSError):  # write_line gave up on a full disk, or a node closed a descriptor of ours
                self._size += os.fstat(fd).st_size
                os.close(fd)
        self._files[EVENTS] = -1


def write_status(directory: str, counts: dict[str, Any]) -> None:
    """Replace the status of a map: total, left (None if unknown), done, failed, begun, usage (Usage.total), time (s).

    `begun` counts the failed items that began a step which must not be repeated. A map calls this at most once a
    second. A failed write is ignored.
    """
    with Ignoring(OSError):  # the disk may have room again for the next status
        replace(os.path.join(directory, STATUS), encode(counts) + b"\n", mode=0o600, lasts=False)


def _note_order(parent: str, run_id: str) -> None:
    """Note in AHEAD the runs whose ids have a later time than this one's: the clock was ahead when they began."""
    times = 10  # a ULID begins with ten characters of time; the rest is random
    later = {id for id in os.listdir(parent) if len(id) == len(run_id) and id[:times] > run_id[:times]}
    if later and (later := later - noted_order(parent).keys()):
        # If it cannot be written, `pflow runs` lists those runs as the newest until the clock has caught up.
        with Ignoring(OSError), open(open_private(os.path.join(parent, AHEAD), os.O_APPEND), "w") as file:
            file.write("".join(f"{id} {run_id}\n" for id in later))


def noted_order(parent: str) -> dict[str, str]:
    """Return the ids of runs that began while the clock was ahead, each with the id of the run after it."""
    data = result_of(read_regular, os.path.join(parent, AHEAD), otherwise=b"")
    return dict(line.split(" ", 1) for line in str(data, "ascii", "replace").splitlines() if " " in line)


def _no_journal(why: str, exit: int) -> PflowError:
    from pflow.record.journal import NO_JOURNAL_HINT

    return PflowError(f"cannot keep a journal of this run{why}", hint=NO_JOURNAL_HINT, exit=exit)


def _remove(directory: str) -> None:
    """Remove the directory of a run that has not begun."""
    with Ignoring(OSError):  # importing shutil needs a descriptor, and the run may have failed for want of one
        import shutil

        shutil.rmtree(directory, ignore_errors=True)


def _lock(directory: str) -> int:
    """Lock a run's directory, and write its process into the lock. Raises BlockingIOError if it stays locked."""
    mark, fd = open_lock(os.path.join(directory, LOCK))
    with Opened(mark):
        take_lock(fd)
        with Ignoring(OSError):  # a full disk takes no mark, but the lock still holds
            # `pflow cancel` reads it. Marks have one length, so a new one covers the old.
            os.pwrite(mark, mark_of(os.getpid()), 0)
        return fd


def open_lock(file: str) -> tuple[int, int]:
    """Open a lock's file twice: to write its owner's mark, and to lock it. Programs inherit only the second."""
    mark = open_private(file)
    # Programs that inherit a descriptor for reading cannot write the mark. NFS locks only files open for writing.
    fd = os.dup(mark) if is_on_network(file) else os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    os.set_inheritable(fd, True)
    return mark, fd


def mark_of(pid: int) -> bytes:
    """Return the mark of a process: its number and, if the system has /proc, its start time.

    A later process with the same number has another mark. Raises OSError if the process has ended.
    """
    if not os.path.isdir("/proc/self"):
        return b"%20d %20d\n" % (pid, 0)
    with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
        return b"%20d %20d\n" % (pid, int(file.read().rpartition(b") ")[2].split()[19]))


def _cut_torn_line(file: str) -> None:
    """Cut off a last line without a newline: its process was killed."""
    with open(open_regular(file, os.O_RDWR), "r+b") as log:
        data = log.read()
        log.truncate(data.rfind(b"\n") + 1)


def _warn(text: str) -> None:
    say("pflow run", f"warning: {text}")


def read_events(data: bytes) -> tuple[list[Event], list[str]]:
    """Return the events in the bytes of a log, in order, and a warning for lines that were left out."""
    *lines, rest = data.split(b"\n")
    parsed = [parse_event(line) for line in lines]
    skipped = parsed.count(None) + bool(rest)
    warnings = [f"left out lines of the log that are torn or not events: {skipped}"] if skipped else []
    return [event for event in parsed if event is not None], warnings


def parse_event(line: bytes) -> Event | None:
    """Return the event in a line; None for a damaged line, and for an event of another version of pflow."""
    event: Any = result_of(decode, line, of=ValueError, otherwise=None)
    is_ours = isinstance(event, dict) and event.get("v") == 1 and isinstance(event.get("event"), str)
    return event if is_ours and is_sound(event) else None


def is_sound(event: Event) -> bool:
    """Return True if an event has all members of its kind, each of its type: a log may be damaged."""
    types = {**_TYPES, "time": int | float, "ms": int | float, "visit": str if event["event"] == "key" else int}
    is_whole = all(name in event for name in ("time", *_NEEDED.get(event["event"], ())))
    is_typed = all(isinstance(event[name], type) for name, type in types.items() if name in event)
    if not is_whole or not is_typed or max(abs(event["time"]), abs(event.get("ms", 0))) > _LATEST:
        return False
    are_sound = all(isinstance(each, dict) for name in ("tried", "asked") for each in event.get(name, ()))
    for amounts in (event.get("used", {}), event.get("limits", {}), *event.get("seen", {}).values()):
        are_sound &= isinstance(amounts, dict) and all(isinstance(each, int | float) for each in amounts.values())
    return are_sound and all(map(is_shape, event.get("store", {}).values()))


def is_shape(shape: Any) -> bool:
    """Return True for the type and size of a key in the store, as `describe` gives them."""
    if not isinstance(shape, dict) or not isinstance(shape.get("type"), str):
        return False
    return "size" not in shape or (shape["type"] in UNITS and isinstance(shape["size"], int))
