"""The runs that there are: finding one, reading its log however it ended, and pruning old ones.

TAB lists them, so this module stays lean.
"""

from __future__ import annotations

import fcntl
import os
import time
from itertools import islice, takewhile

from pflow import TYPE_CHECKING
from pflow.errors import MISSING, PflowError, exit_code, reason_of
from pflow.record.lines import JOURNAL
from pflow.record.log import LOCK, PRUNED, SNAPSHOT, TRACE, runs_directory
from pflow.values.jsontext import decode
from pflow.words.usage import Usage

DONE, FAILED, RUNNING, KILLED = "done", "failed", "running", "killed"
DAYS, SIZE = 30, 200 << 20
"""How old runs may get, and how many bytes all of them may take."""

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Event = dict[str, Any]
else:
    Event = dict

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_AS_BASE_32 = str.maketrans(_DIGITS, "0123456789abcdefghijklmnopqrstuv")


class Run:
    """One run, as far as its log says.

    `status` is done, failed (`exit` says how), running, or killed: it has no end, and nothing of it runs any more.
    `steps` is how many the flow has, `steps_done` how many of them ended well, at least once; `missed` is the
    first that could have been handed on, had it been kept. `failed_items` are those that batches went on without;
    `usage` is what models took, in all. `begun` is in seconds; `ms` is how long it took, for a killed one
    until its last event, None for a running one.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.id = os.path.basename(directory)
        is_running = is_locked(directory)  # before the log is read: a run writes its end, then lets go
        log = _read(os.path.join(directory, TRACE))
        first, last = _first_event(_lines(log)), _first_event(_lines_back(log))
        about = first if first.get("event") == "run" else {}
        end = last if last.get("event") == "finish" else {}
        self.name = str(about.get("name") or "")
        self.flow_hash = str(about.get("flow_hash") or "")
        self.begun: float = float(about["time"]) if about else time_of(self.id)
        self.steps: int = about.get("steps", 0)
        self.steps_done = len(set(_steps_done(log)))
        self.missed = _missed(log)
        self.exit: int | None = end.get("exit")
        self.failed_items: int = end.get("failed_items", 0)
        self.usage: dict[str, Any] = end.get("usage", {}) if end else _usage_so_far(log)
        self.status = (FAILED if self.exit else DONE) if end else RUNNING if is_running else KILLED
        self.ms: float | None = end.get("ms")
        if self.ms is None and not is_running:
            self.ms = max(0.0, (last.get("time", self.begun) - self.begun) * 1000)

    @property
    def is_resumable(self) -> bool:
        """Whether it stopped before its end, with a journal."""
        return self.status in (FAILED, KILLED) and os.path.exists(os.path.join(self.directory, JOURNAL))

    def events(self) -> tuple[list[Event], list[str]]:
        """Everything in its log, and warnings for what was left out. Raises PflowError where it cannot be read."""
        path = os.path.join(self.directory, TRACE)
        try:
            with open(path, "rb") as file:
                return read_events(file.read())
        except OSError as error:
            raise PflowError(f"cannot read the log '{path}': {reason_of(error)}", exit=exit_code(error)) from None

    def snapshot(self) -> Any:
        """What was changed in the flow and put into its store for this run; None where that is missing or broken."""
        try:
            with open(os.path.join(self.directory, SNAPSHOT), "rb") as file:
                return decode(file.read())
        except (OSError, ValueError):
            return None


def read_events(data: bytes) -> tuple[list[Event], list[str]]:
    """The events in the bytes of a log, in their order, and a warning for what of it was left out."""
    *lines, rest = data.split(b"\n")
    parsed = [parse_event(line) for line in lines]
    skipped = parsed.count(None) + bool(rest)
    warnings = [f"lines of the log that are torn or no events are left out: {skipped}"] if skipped else []
    return [event for event in parsed if event is not None], warnings


def parse_event(line: bytes) -> Event | None:
    """The event in a line; None for anything that this pflow does not know."""
    try:
        event = decode(line)
    except ValueError:
        return None
    is_ours = isinstance(event, dict) and event.get("v") == 1 and isinstance(event.get("event"), str)
    return event if is_ours and _is_sound(event) else None


_NEEDED = {
    "start": ("step", "node"),
    "end": ("step", "node"),
    "item": ("step",),
    "batch": ("step",),
    "key": ("step", "node", "visit", "cache"),
    "budget": ("used", "limits"),
}
_TYPES = {
    **dict.fromkeys(("step", "node"), str),
    **dict.fromkeys(("reads", "writes", "tokens", "items", "usage", "cache", "error", "store", "used", "limits"), dict),
}


def _is_sound(event: Event) -> bool:
    """Whether an event has what is asked of its kind, each of its type: a byte of it may be another one by now."""
    types = {**_TYPES, "time": int | float, "ms": int | float, "visit": str if event["event"] == "key" else int}
    is_whole = all(name in event for name in ("time", *_NEEDED.get(event["event"], ())))
    return is_whole and all(isinstance(event[name], type) for name, type in types.items() if name in event)


def list_runs(
    limit: int | None = None, *, since: float = 0.0, is_wanted: Callable[[Run], bool] = lambda run: True
) -> list[Run]:  # fmt: skip
    """The runs that there are, newest first: those that began since a moment (in seconds), if each is wanted."""
    newer = takewhile(lambda directory: not since or time_of(os.path.basename(directory)) >= since, run_directories())
    return list(islice(filter(is_wanted, map(Run, newer)), limit))


def find_run(word: str = "last") -> Run:
    """The run of this id, or whose id alone begins so; `last` or `@1` is the newest, `@2` the one before it.

    Raises PflowError (66).
    """
    directories = list(run_directories())
    if not directories:
        raise PflowError(f"cannot find the run '{word}': there is none yet", hint="pflow run makes one", exit=MISSING)
    number = "1" if word == "last" else word[1:] if word[:1] == "@" else ""
    if number.isdecimal():
        fitting = directories[int(number) - 1 : int(number)] if number != "0" else []
    else:
        fitting = [each for each in directories if word and os.path.basename(each).startswith(word.upper())]
    if len(fitting) == 1:
        return Run(fitting[0])
    if fitting:
        ids = ", ".join(map(os.path.basename, fitting[:3]))
        raise PflowError(f"cannot tell which run '{word}' is: {len(fitting)} begin so", hint=ids, exit=MISSING)
    raise PflowError(f"cannot find the run '{word}'", hint="pflow runs lists them", exit=MISSING)


def run_directories() -> Iterator[str]:
    """The directory of each run that has a log, newest first."""
    place = runs_directory() or ""
    for id in _ids_in(place):
        if os.path.isfile(os.path.join(place, id, TRACE)):
            yield os.path.join(place, id)


def _ids_in(place: str) -> list[str]:
    """The ids of the runs that are kept in a place, newest first; none where it cannot be read."""
    try:
        return sorted(filter(_is_ulid, os.listdir(place)), reverse=True)
    except OSError:
        return []


def _is_ulid(text: str) -> bool:
    return len(text) == 26 and text[0] < "8" and frozenset(_DIGITS).issuperset(text)


def number_of(id: str) -> int | None:
    """The 128 bits of a run's id; None for what is no ULID."""
    return int(id.translate(_AS_BASE_32), 32) if _is_ulid(id) else None


def time_of(id: str) -> float:
    """When an id was made, in seconds; 0 for what is no ULID."""
    return ((number_of(id) or 0) >> 80) / 1000


def is_locked(directory: str) -> bool:
    """Whether the run, or something that it started, still goes on."""
    try:
        fd = os.open(os.path.join(directory, LOCK), os.O_RDONLY)
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


def _read(file: str) -> bytes:
    """The bytes of a log; none where it cannot be read."""
    try:
        with open(file, "rb", buffering=0) as log:
            return log.read() or b""
    except OSError:
        return b""


def _lines(log: bytes) -> Iterator[bytes]:
    """Its whole lines."""
    start = 0
    while (end := log.find(b"\n", start)) >= 0:
        yield log[start:end]
        start = end + 1


def _lines_back(log: bytes) -> Iterator[bytes]:
    """Its whole lines, the last one first."""
    end = log.rfind(b"\n")
    while end >= 0:
        start = log.rfind(b"\n", 0, end)
        yield log[start + 1 : end]
        end = start


_END = b'{"v":1,"event":"end",'


def _steps_done(log: bytes) -> Iterator[bytes]:
    """The steps of the flow itself that ended well. Only what may have failed is decoded: a log may be long."""
    for line in log.split(_END)[1:]:
        at, end = line.find(b'"step":"') + 8, line.find(b"\n")
        step = line[at : line.find(b'"', at)]
        has_failed = line.find(b'"exit":', 0, end) >= 0 and "exit" in _first_event([_END + line[:end]])
        if end >= 0 and b"/" not in step and not has_failed:
            yield step


def _missed(log: bytes) -> str:
    """The first step that was looked for in the cache, and ran; empty without one."""
    at = log.find(b'"cache":{"verdict":"miss"')
    line = log[log.rfind(b"\n", 0, at) + 1 : log.find(b"\n", at)] if at >= 0 else b""
    return str(_first_event([line]).get("step", ""))


def _usage_so_far(log: bytes) -> dict[str, Any]:
    """What the steps of a run took of models that has no end."""
    usage = Usage()
    for event in filter(None, map(parse_event, _lines(log))):
        usage.add_event(event)
    return usage.total()


def _first_event(lines: Iterable[bytes]) -> Event:
    return next((event for line in lines if (event := parse_event(line)) is not None), {})


def prune(place: str, *, days: float = DAYS, size: int = SIZE) -> None:
    """Remove runs that are older than so many days, then the oldest until the rest takes so many bytes.

    The newest stays, and so does one that is still going. What cannot be removed is left for the next time.
    """
    oldest = time.time() - days * 86_400
    taken = 0
    try:
        with open(os.path.join(place, PRUNED), "wb", opener=_private) as file:
            os.utime(file.fileno())
    except OSError:
        return
    for number, id in enumerate(_ids_in(place)):
        directory = os.path.join(place, id)
        taken += _size_of(directory)
        if number and (time_of(id) < oldest or taken > size) and not is_locked(directory):
            import shutil

            shutil.rmtree(directory, ignore_errors=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _size_of(directory: str) -> int:
    """The room that the files of a run take on the disk."""
    try:
        with os.scandir(directory) as entries:
            return sum(entry.stat(follow_symlinks=False).st_blocks * 512 for entry in entries)
    except OSError:
        return 0
