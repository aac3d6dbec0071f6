"""The runs on this machine: found, read however they ended, and pruned.

TAB lists them, so this module stays lean.
"""

from __future__ import annotations

import fcntl
import os
import time
from itertools import islice, takewhile

from pflow import TYPE_CHECKING, Any, Callable, Iterator
from pflow.errors import MISSING, PflowError, exit_code, reason_of
from pflow.files.atomic import open_private
from pflow.files.reading import open_regular, read_regular
from pflow.record.events import (
    first_event,
    limits_reached,
    lines_back,
    missed_step,
    read_events,
    steps_done,
    usage_so_far,
)
from pflow.record.log import LOCK, PRUNED, TRACE, noted_order, runs_directory
from pflow.record.records import JOURNAL
from pflow.record.status import STATUS, read_status
from pflow.values.jsontext import decode

DONE, FAILED, RUNNING, KILLED = "done", "failed", "running", "killed"
FINISHED = "finished with failures"
DAYS, SIZE = 30, 200 << 20
"""The greatest age of runs, and the bytes that all of them may take."""

if TYPE_CHECKING:
    from pflow.record.events import Event

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_AS_BASE_32 = str.maketrans(_DIGITS, "0123456789abcdefghijklmnopqrstuv")


class Run:
    """One run, as far as its log says.

    `status` is done, finished with failures (of items of batches), failed (with `exit`), running, or killed: it has no
    end, and nothing of it runs any more. `steps` counts those of the flow, `steps_done` those that succeeded at least
    once; `missed` is the first that was looked for in the cache, and ran. `failed_items` counts the items that batches
    left out, `usage` is what models took in all, `limits` are the flags of those that ended it. `begun` is in seconds;
    `ms` is its duration, for a killed run until its last event, None for a running one. A map has a `ledger`, and
    counts `items`: total, done, failed, left, None where that is unknown; `begun_items` failed and take --redo. Maps of
    one `map_digest` are of the same flow, flags and items.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.id = os.path.basename(directory)
        is_running = is_locked(directory)  # before the log is read: a run writes its end, then lets go
        log = read_kept(directory, TRACE)
        first, last = first_event([log.partition(b"\n")[0]]), first_event(lines_back(log))
        about = first if first.get("event") == "run" else {}
        self.damaged = [] if about else [TRACE]
        """The files in its directory that do not say what they should."""
        self.is_map = "map" in about if about else _is_map(directory)
        """None if neither its log nor its journal says that."""
        end = last if last.get("event") == "finish" else {}
        self.name = str(about.get("name") or "")
        self.flow_hash = str(about.get("flow_hash") or "")
        self.begun: float = float(about["time"]) if about else time_of(self.id)
        self.steps: int = about.get("steps", 0)
        self.steps_done = len(set(steps_done(log)))
        self.missed = missed_step(log)
        self.exit: int | None = end.get("exit")
        self.ledger = str(about.get("map", {}).get("ledger", ""))
        self.map_digest = str(about.get("map", {}).get("digest", ""))
        counts = read_status(directory) if self.ledger else {}
        self.damaged += [STATUS] if not counts and os.path.lexists(os.path.join(directory, STATUS)) else []
        self.items = {name: counts.get(name) for name in ("total", "done", "failed", "left")} if self.ledger else {}
        self.begun_items: int = counts.get("begun") or 0
        self.limits = limits_reached(log, end)
        self.failed_items: int = end.get("failed_items", 0)
        self.usage: dict[str, Any] = end.get("usage", {}) if end else counts.get("usage") or usage_so_far(log)
        ended = DONE if not self.exit else FAILED if "error" in end or not self.failed_items else FINISHED
        self.status = ended if end else RUNNING if is_running else KILLED
        self.ms: float | None = end.get("ms")
        if self.ms is None and not is_running:
            self.ms = max(0.0, (max(last.get("time", self.begun), counts.get("time") or 0.0) - self.begun) * 1000)

    def progress(self) -> list[str]:
        """Return `1/3`, the steps done; of a map `142,310/1,000,000`, the items, and `3 failed`."""
        if not self.ledger:
            return [f"{self.steps_done}/{self.steps}"]
        total, failed = self.items["total"], self.items["failed"] or 0
        ended = f"{(self.items['done'] or 0) + failed:,}" + (f"/{total:,}" if total is not None else "")
        return [ended, *[f"{failed:,} failed"] * bool(failed)]

    @property
    def is_resumable(self) -> bool:
        """True if it stopped before its end and has a journal that it began."""
        return self.status in (FAILED, KILLED) and self._has_journal

    @property
    def _has_journal(self) -> bool:
        journal = os.path.join(self.directory, JOURNAL)
        return os.path.exists(journal) and os.path.getsize(journal) > 0

    def next_commands(self) -> list[str]:
        """Return what to type next: one command, or several to choose from.

        A running run is cancelled, one that is not done goes on, one that is done explains a step that was missed.
        """
        from shlex import quote

        if self.status == RUNNING:
            return [f"pflow cancel {self.id}"]
        if self.status == DONE:
            return [f"pflow why {self.id} {quote(self.missed)}"] if self.missed else []
        if not self._has_journal:
            return []
        resume = " ".join([f"pflow resume {self.id}", *self.limits])
        if self.status == FINISHED:
            plain = [f"{resume} --failed"] if self.failed_items > self.begun_items else []
            return [*plain, *([f"{resume} --failed --redo"] if self.begun_items else [])]
        steps = [quote(step) for step in self._interrupted()]
        flags = ("redo", "skip") if steps else ("",)
        return [" ".join([resume, *(f"--{flag}={step}" for step in steps)]) for flag in flags]

    def _interrupted(self) -> list[str]:
        """Return the steps that were interrupted and may not repeat, in the order of their visits."""
        data = read_kept(self.directory, JOURNAL)
        if b'{"start":' not in data:
            return []
        from pflow.record.journal import read_lines
        from pflow.record.records import Records, name_of

        try:
            return list(dict.fromkeys(map(name_of, Records(read_lines(data)[0]).interrupted)))
        except PflowError:
            return []  # damaged, as pflow resume says

    def events(self) -> tuple[list[Event], list[str]]:
        """Return the events of its log, and warnings for lines left out. Raises PflowError if it is unreadable."""
        path = os.path.join(self.directory, TRACE)
        try:
            return read_events(read_regular(path))
        except OSError as error:
            raise PflowError(f"cannot read the log '{path}': {reason_of(error)}", exit=exit_code(error)) from None

    def read_json(self, name: str) -> Any:
        """Return the JSON of a file in its directory; None if that is missing or broken."""
        try:
            return decode(read_kept(self.directory, name))
        except ValueError:
            return None


def _is_map(directory: str) -> bool | None:
    """Return True if the journal of a run says that it is a map; None if there is none, or it is damaged."""
    from pflow.record.journal import first_record

    try:
        record = first_record(directory)
    except PflowError:
        return None
    return None if record is None else "map" in record


def list_runs(
    limit: int | None = None, *, since: float = 0.0, is_wanted: Callable[[Run], bool] = lambda run: True
) -> list[Run]:  # fmt: skip
    """Return the runs, newest first, that began since a moment (in seconds) and are wanted."""
    newer = takewhile(lambda run: run[0] >= since, _with_files())
    return list(islice(filter(is_wanted, (Run(directory) for _, directory in newer)), limit))


def find_run(word: str = "last") -> Run:
    """Return the run of an id or its beginning; `last` or `@1` is the newest, `@2` the next. Raises PflowError (66)."""
    directories = list(run_directories())
    if not directories:
        raise PflowError(
            f"cannot find the run '{word}': there are no runs yet", hint="pflow run makes one", exit=MISSING
        )
    number = "1" if word == "last" else word[1:] if word[:1] == "@" else ""
    if number.isdecimal():
        fitting = directories[int(number) - 1 : int(number)] if number != "0" else []
    else:
        fitting = [each for each in directories if word and os.path.basename(each).startswith(word.upper())]
    if len(fitting) == 1:
        return Run(fitting[0])
    if fitting:
        ids = ", ".join(map(os.path.basename, fitting[:3]))
        raise PflowError(f"cannot find the run '{word}': {len(fitting)} ids begin with it", hint=ids, exit=MISSING)
    raise PflowError(f"cannot find the run '{word}'", hint="pflow runs lists them", exit=MISSING)


def run_directories() -> Iterator[str]:
    """Yield the directory of each run that has a log or a journal, newest first."""
    return (directory for _, directory in _with_files())


def _with_files() -> Iterator[tuple[float, str]]:
    for begun, directory in _runs_in(runs_directory() or ""):
        if any(os.path.lexists(os.path.join(directory, name)) for name in (TRACE, JOURNAL)):
            yield begun, directory


def _runs_in(place: str) -> list[tuple[float, str]]:
    """Return when each run in a place began, and its directory, newest first; an unreadable place has none."""
    try:
        ids = filter(_is_ulid, os.listdir(place))
    except OSError:
        return []
    noted = noted_order(place)
    orders = sorted(((*_order(id, noted), id) for id in ids), reverse=True)
    return [(time_of(known), os.path.join(place, id)) for known, _, id in orders]


def _order(id: str, noted: dict[str, str]) -> tuple[str, int]:
    """Return what a run is sorted by: its id and 0.

    If it began while the clock was ahead: the id of the first later run that did not, and minus the steps to that one.
    """
    steps = 0
    while _is_ulid(after := noted.get(id, "")) and after < id:
        id, steps = after, steps - 1
    return id, steps


def _is_ulid(text: str) -> bool:
    return len(text) == 26 and text[0] < "8" and frozenset(_DIGITS).issuperset(text)


def number_of(id: str) -> int | None:
    """Return the 128 bits of a run's id; None if it is not a ULID."""
    return int(id.translate(_AS_BASE_32), 32) if _is_ulid(id) else None


def time_of(id: str) -> float:
    """Return the time of an id, in seconds; 0 if it is not a ULID."""
    return ((number_of(id) or 0) >> 80) / 1000


def is_locked(directory: str) -> bool:
    """Return True while the run, or a program that it started, goes on."""
    return any(_is_file_locked(os.path.join(directory, name)) for name in (TRACE, LOCK))


def _is_file_locked(file: str) -> bool:
    try:
        fd = open_regular(file)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False


def read_kept(directory: str, name: str) -> bytes:
    """Return the bytes of a file in a run's directory; b"" if it is unreadable."""
    try:
        return read_regular(os.path.join(directory, name))
    except OSError:
        return b""


def prune(place: str, *, days: float = DAYS, size: int = SIZE) -> None:
    """Remove runs that are older than so many days, then the oldest until the rest takes so many bytes.

    The newest and those that go on stay. A run that cannot be removed is left for the next time.
    """
    oldest = time.time() - days * 86_400
    taken = 0
    try:
        file = open_private(os.path.join(place, PRUNED))
        os.utime(file)
        os.close(file)
    except OSError:
        return
    for number, (begun, directory) in enumerate(_runs_in(place)):
        taken += _size_of(directory)
        if number and (begun < oldest or taken > size) and not is_locked(directory):
            import shutil

            shutil.rmtree(directory, ignore_errors=True)


def _size_of(directory: str) -> int:
    """Return the bytes that the files of a run take on the disk."""
    try:
        with os.scandir(directory) as entries:
            return sum(entry.stat(follow_symlinks=False).st_blocks * 512 for entry in entries)
    except OSError:
        return 0
