"""The runs on this machine: one read from its directory; all of them found, listed and pruned.

TAB lists runs, so this module stays lean.
"""

from __future__ import annotations

import fcntl
import os
import time
from itertools import islice, takewhile

from pflow import TYPE_CHECKING, Any, Callable, Iterator
from pflow.errors import MISSING, OVER_BUDGET, Attempt, Ignoring, PflowError, Within, result_of
from pflow.files.atomic import open_private
from pflow.files.reading import Opened, open_regular, read_regular
from pflow.record.log import (
    EVENTS,
    LOCK,
    PRUNED,
    SNAPSHOT,
    STATUS,
    Event,
    noted_order,
    parse_event,
    read_events,
    runs_directory,
)
from pflow.record.records import JOURNAL, UNSOUND
from pflow.stage.document import BASE32
from pflow.values.jsontext import decode
from pflow.values.paths import write_path
from pflow.values.secrets import MASK
from pflow.values.usage import BUDGET, Usage, amount

if TYPE_CHECKING:
    from pflow.record.records import Record

DONE, FAILED, RUNNING, KILLED = "done", "failed", "running", "killed"
FINISHED = "finished with failures"

_AS_BASE_32 = str.maketrans(BASE32, "0123456789abcdefghijklmnopqrstuv")
_AMOUNTS = ("total", "left", "done", "failed", "begun", "time")

DAYS, SIZE = 30, 200 << 20
"""The greatest age of kept runs, in days, and the bytes that all of them may take."""


class RecordedRun:
    """A run, as it is recorded in its directory.

    `status` is done, finished with failures (of items of batches), failed (with `exit`), running, or killed: the log
    has no end, and no process of the run is left. `steps` counts the steps of the flow, `steps_done` those that
    succeeded at least once; `missed` is the first step for which the cache had no answer. `failed_items` counts items
    that batches left out, `usage` is the sum for all models, `limits` are the flags of the limits that ended the run.
    `begun` is in seconds; `ms` is the duration, for a killed run until its last event, None for a running one. A map
    has a `ledger`, and counts `items`: total, done, failed, left, None if unknown; `begun_items` counts failed items
    that run again only with --redo. Maps of the same flow, flags and items have the same `map_digest`.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.id = os.path.basename(directory)
        is_running = is_locked(directory)  # asked before the log is read: a run writes its end first, then unlocks
        log = self.read(EVENTS)
        first, last = parse_event(log.partition(b"\n")[0]) or {}, next(_events(log, is_back=True), {})
        self.about = first if first.get("event") == "run" else {}
        """The run's first event; `end` is its last one. Each is empty if the log does not have it."""
        self.end = last if last.get("event") == "finish" else {}
        self.damaged = [] if self.about else [EVENTS]
        """The files in the run's directory that are damaged."""
        self.name = str(self.about.get("name") or "")
        self.flow_hash = str(self.about.get("flow_hash") or "")
        self.begun: float = float(self.about["time"]) if self.about else time_of(self.id)
        self.is_map = "map" in self.about if self.about else _is_map(directory)
        """True for a map, False for another run; None if neither the log nor the journal is readable."""
        self.steps: int = self.about.get("steps", 0)
        self.steps_done = len(set(_steps_done(log)))
        self.missed = str(next(_events(log, b'"cache":{"verdict":"miss"'), {}).get("step", ""))
        self.exit: int | None = self.end.get("exit")
        of_map = self.about.get("map", {})
        self.ledger, self.map_digest = str(of_map.get("ledger", "")), str(of_map.get("digest", ""))
        counts = read_status(directory) if self.ledger else {}
        self.damaged += [STATUS] if not counts and os.path.lexists(os.path.join(directory, STATUS)) else []
        self.items = {name: counts.get(name) for name in ("total", "done", "failed", "left")} if self.ledger else {}
        self.begun_items: int = counts.get("begun") or 0
        self.limits = _limits_reached(log, self.end)
        self.failed_items: int = self.end.get("failed_items", 0)
        self.usage: dict[str, Any] = (
            self.end.get("usage", {}) if self.end else counts.get("usage") or _usage_so_far(log)
        )
        ended = DONE if not self.exit else FAILED if "error" in self.end or not self.failed_items else FINISHED
        self.status = ended if self.end else RUNNING if is_running else KILLED
        self.ms: float | None = self.end.get("ms")
        if self.ms is None and not is_running:
            self.ms = max(0.0, (max(last.get("time", self.begun), counts.get("time") or 0.0) - self.begun) * 1000)

    def progress(self) -> list[str]:
        """Return the steps done, as `1/3`; of a map the items, as `142,310/1,000,000`, and `3 failed`."""
        if not self.ledger:
            return [f"{self.steps_done}/{self.steps}"]
        total, failed = self.items["total"], self.items["failed"] or 0
        ended = f"{(self.items['done'] or 0) + failed:,}" + (f"/{total:,}" if total is not None else "")
        return [ended, *[f"{failed:,} failed"] * bool(failed)]

    @property
    def is_resumable(self) -> bool:
        """True if the run stopped before its end and its journal has begun."""
        return self.status in (FAILED, KILLED) and self.has_journal

    @property
    def has_journal(self) -> bool:
        journal = os.path.join(self.directory, JOURNAL)
        return os.path.exists(journal) and os.path.getsize(journal) > 0

    def next_commands(self) -> list[str]:
        """Return the command to type next, or several to choose from.

        It cancels a running run, resumes an unfinished one, and explains why a step of a finished one was not cached.
        """
        from shlex import quote

        if self.status == RUNNING:
            return [f"pflow cancel {self.id}"]
        if self.status == DONE:
            return [f"pflow why {self.id} {quote(self.missed)}"] if self.missed else []
        if not self.has_journal:
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
        if b'{"start":' not in self.read(JOURNAL):
            return []
        from pflow.record.records import Records, step_name

        with Ignoring(PflowError):  # `pflow resume` tells that the journal is damaged; a list of runs must not fail
            return list(dict.fromkeys(map(step_name, Records(self.records()).interrupted)))
        return []

    def read(self, name: str) -> bytes:
        """Return the bytes of a file in its directory; b"" if it is unreadable."""
        return read_kept(self.directory, name)

    def read_json(self, name: str) -> Any:
        """Return the JSON of a file in its directory; None if that is missing or broken."""
        return result_of(decode, self.read(name), of=ValueError, otherwise=None)

    def events(self) -> tuple[list[Event], list[str]]:
        """Return the events of its log, and warnings for lines left out. Raises PflowError if it is unreadable."""
        path = os.path.join(self.directory, EVENTS)
        with Attempt(f"cannot read the log '{path}'"):
            return read_events(read_regular(path))

    @property
    def snapshot(self) -> dict[str, Any]:
        """The members of the run's snapshot; empty if it is missing or damaged."""
        members: dict[str, Any] = self.read_json(SNAPSHOT)
        try:
            overrides = members.get("config_overrides", {})
            parts = [overrides, members.get("cli_injections", {}), *overrides.values()]
        except UNSOUND:
            return {}
        return members if all(isinstance(part, dict) for part in parts) else {}

    def records(self) -> list[Record]:
        """Return the records of its journal. Raises PflowError (65) if it is damaged."""
        from pflow.record.journal import read_lines

        return read_lines(self.read(JOURNAL))[0]

    def written(self) -> dict[str, dict[str, Any]] | None:
        """Return the values that each visit and item wrote, by its path, then by place as in a trace's `write_keys`.

        None for a run without a journal. A value with a secret in it is masked. Values are missing that were removed,
        or that a later visit of the step replaced before the journal was compacted. A visit that ran again has the
        values of its last time. Raises PflowError (65) if the journal is damaged.
        """
        if not self.has_journal:
            return None
        with Within(f"cannot read the values of the run {self.id}"):
            return {record["end"]: _values_in(record) for record in self.records() if record.get("changes")}


def read_status(directory: str) -> dict[str, Any]:
    """Return the status of a map; empty if it is damaged, and for a run that is not a map."""
    counts: Any = result_of(decode, read_kept(directory, STATUS), of=ValueError, otherwise=None)
    are_sound = isinstance(counts, dict) and isinstance(counts.get("usage", {}), dict)
    is_sound = are_sound and all(counts.get(name) is None or amount(counts[name]) is not None for name in _AMOUNTS)
    return counts if is_sound else {}


def _is_map(directory: str) -> bool | None:
    """Return True if a run's journal says that it is a map; None if the journal is missing or damaged."""
    from pflow.record.journal import first_record

    record = result_of(first_record, directory, of=PflowError, otherwise=None)
    return None if record is None else "map" in record


def is_locked(directory: str) -> bool:
    """Return True while the run, or a program that it started, is running."""
    return any(_is_file_locked(os.path.join(directory, name)) for name in (EVENTS, LOCK))


def _is_file_locked(file: str) -> bool:
    try:
        with Opened(open_regular(file)) as fd:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared, so that two lists do not see each other's lock
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def read_kept(directory: str, name: str) -> bytes:
    """Return the bytes of a file in a run's directory; b"" if it is unreadable."""
    return result_of(read_regular, os.path.join(directory, name), otherwise=b"")


def is_ulid(text: str) -> bool:
    return len(text) == 26 and text[0] < "8" and frozenset(BASE32).issuperset(text)


def number_of(id: str) -> int | None:
    """Return the 128 bits of a run's id; None if it is not a ULID."""
    return int(id.translate(_AS_BASE_32), 32) if is_ulid(id) else None


def time_of(id: str) -> float:
    """Return the time of an id, in seconds; 0 if it is not a ULID."""
    return ((number_of(id) or 0) >> 80) / 1000


def _events(log: bytes, mark: bytes = b'"event"', *, is_back: bool = False) -> Iterator[Event]:
    """Yield the events in those whole lines of a log that contain `mark`, the last one first if `is_back`.

    Other lines are not decoded: the log of a batch may have a million.
    """
    stop = log.rfind(b"\n") + 1
    at = log.rfind(mark, 0, stop) if is_back else log.find(mark, 0, stop)
    while at >= 0:
        start, end = log.rfind(b"\n", 0, at) + 1, log.find(b"\n", at)
        if (event := parse_event(log[start:end])) is not None:
            yield event
        at = log.rfind(mark, 0, start) if is_back else log.find(mark, end, stop)


_END = b'{"v":1,"event":"end",'


def _steps_done(log: bytes) -> Iterator[bytes]:
    """Yield the flow's own steps that succeeded. Only the ends that have an exit code are decoded, to save time."""
    for line in log.split(_END)[1:]:
        at, end = line.find(b'"step":"') + 8, line.find(b"\n")
        step = line[at : line.find(b'"', at)]
        has_failed = line.find(b'"exit":', 0, end) >= 0 and "exit" in (parse_event(_END + line[:end]) or {})
        if end >= 0 and b"/" not in step and not has_failed:
            yield step


def _limits_reached(log: bytes, end: Event) -> list[str]:
    """Return the flags of the limits that ended a run, as a resume has to raise them: `--max-cost=N`."""
    hint = str(end.get("error", {}).get("hint", ""))
    if end.get("exit") != OVER_BUDGET:
        return ["--max-visits=N"] if "--max-visits=" in hint else []
    last = next(_events(log, b'{"v":1,"event":"budget",', is_back=True), {})
    used, limits = last.get("used", {}), last.get("limits", {})
    flags = {name: f"--{flag.replace('_', '-')}" for name, flag in BUDGET.items()}
    reached = [name for name in flags if name in limits and used.get(name, 0) >= limits[name]]
    told = [name for name, flag in flags.items() if f"{flag} allows" in hint or f"{flag}=" in hint]
    return [f"{flag}=N" for name, flag in flags.items() if name in {*reached, *told}]


def _usage_so_far(log: bytes) -> dict[str, Any]:
    """Return the usage of models in a run whose log has no end."""
    usage = Usage()
    for event in _events(log):
        usage.add_event(event)
    return usage.total()


def _values_in(record: Record) -> dict[str, Any]:
    """Return the values of a record's changes, by place: a secret masked, a replaced value left out."""
    changes = [(path, value[0] if len(value) == 1 else MASK) for path, *value in record["changes"] if value]
    return {write_path(path): value for path, value in changes if value is not None or "dropped" not in record}


def list_runs(
    limit: int | None = None, *, since: float = 0.0, is_wanted: Callable[[RecordedRun], bool] = lambda run: True
) -> list[RecordedRun]:  # fmt: skip
    """Return the runs, newest first, that began since a moment (in seconds) and are wanted."""
    newer = takewhile(lambda run: run[0] >= since, _with_files())
    return list(islice(filter(is_wanted, (RecordedRun(directory) for _, directory in newer)), limit))


def find_run(word: str = "last") -> RecordedRun:
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
        return RecordedRun(fitting[0])
    if fitting:
        ids = ", ".join(map(os.path.basename, fitting[:3]))
        raise PflowError(f"cannot find the run '{word}': {len(fitting)} ids begin with it", hint=ids, exit=MISSING)
    raise PflowError(f"cannot find the run '{word}'", hint="pflow runs lists them", exit=MISSING)


def run_directories() -> Iterator[str]:
    """Yield the directory of each run that has a log or a journal, newest first."""
    return (directory for _, directory in _with_files())


def _with_files() -> Iterator[tuple[float, str]]:
    for begun, directory in _runs_in(runs_directory() or ""):
        if any(os.path.lexists(os.path.join(directory, name)) for name in (EVENTS, JOURNAL)):
            yield begun, directory


def _runs_in(parent: str) -> list[tuple[float, str]]:
    """Return when each run in `parent` began, and its directory, newest first; nothing if `parent` is unreadable."""
    ids = filter(is_ulid, result_of(os.listdir, parent, otherwise=[]))
    noted = noted_order(parent)
    orders = sorted(((*_order(id, noted), id) for id in ids), reverse=True)
    return [(time_of(known), os.path.join(parent, id)) for known, _, id in orders]


def _order(id: str, noted: dict[str, str]) -> tuple[str, int]:
    """Return the sort key of a run: an id, and 0 or less.

    The id is its own. A run that began while the clock was ahead sorts below the next run that began with a right
    clock: it has that run's id, and minus the number of runs between here and there.
    """
    steps = 0
    while is_ulid(after := noted.get(id, "")) and after < id:
        id, steps = after, steps - 1
    return id, steps


def prune(parent: str, *, days: float = DAYS, size: int = SIZE) -> None:
    """Remove runs older than `days`, then the oldest runs until the others take at most `size` bytes.

    The newest run and running ones stay. A run that cannot be removed is tried again at the next pruning.
    """
    oldest = time.time() - days * 86_400
    taken = 0
    try:
        with Opened(open_private(os.path.join(parent, PRUNED))) as file:
            os.utime(file)
    except OSError:
        return
    for number, (begun, directory) in enumerate(_runs_in(parent)):
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
