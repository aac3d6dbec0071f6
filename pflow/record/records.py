"""The state of a run, rebuilt from the records of its journal: its visits, and the files that they read."""

from __future__ import annotations

import os
import time

from pflow import TYPE_CHECKING, Any, Callable, Iterable, Iterator
from pflow.cache import directory as cache
from pflow.errors import BAD_DATA, PflowError, result_of
from pflow.files.listing import list_paths
from pflow.files.reading import file_digest
from pflow.values.jsontext import decode, encode

if TYPE_CHECKING:
    Record = dict[str, Any]
    State = str | list[str] | None
    """A file's digest, or MISSING; of a listing, the keys of the files that it found; None if unknown."""
    Change = tuple[str, str, str, str]
    """The key of a file or listing, the path of what changed, a visit that read it, and how it changed."""

JOURNAL = "journal.jsonl"
"""The name of the journal in a run's directory."""

UNSOUND = (AttributeError, LookupError, TypeError, ValueError)
"""The errors that damaged records raise."""

MISSING = "missing"
_LARGEST = 1 << 30  # bytes; digesting a larger file takes too long, so its size and time stand for its content


class Records:
    """The state of an unfinished run, by the paths of its visits and items (Context.visit_path).

    `begin` is the first record (driver/initial_state.py) with three members added: the `models` chosen since then, each
    with its step and param; `started`, the first visit that must not be repeated; `superseded`, True if another run
    took its place. `done` has the `end` record of each finished visit, `interrupted` the `start` of each unfinished
    visit that must not be repeated, `failed` the failures of other visits, `files` the states of the files read.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        """Raises PflowError (65) if the first record does not begin a journal, or this version cannot read a record."""
        self.begin: Record = {}
        self.done: dict[str, Record] = {}
        self.interrupted: dict[str, Record] = {}
        self.failed: dict[str, Record] = {}
        self.files = FileStates()
        for number, record in enumerate(records, 1):
            try:
                self.add(record)
            except UNSOUND:
                raise PflowError(f"cannot read the journal: its line {number} is no record", exit=BAD_DATA) from None
        if "begin" not in self.begin:
            raise PflowError("cannot read the journal: it does not begin as one", exit=BAD_DATA)

    def add(self, record: Record) -> None:
        if "begin" in record:
            self.begin = record
        elif "model" in record:
            self.begin = {**self.begin, "models": [*self.begin.get("models", ()), record["model"]]}
        elif "superseded" in record:
            self.begin = {**self.begin, **record}
        elif "start" in record:
            self.begin.setdefault("started", record["start"])
            self._forget_one(record["start"])
            self.interrupted[record["start"]] = record
        elif "end" in record:
            self._end(record["end"], record)
        elif "failed" in record:
            self._forget_one(record["failed"])
            self.failed[record["failed"]] = record
        elif "again" in record:
            self.forget(record["again"])
        elif "decided" in record:  # one line, so that a kill keeps all decisions of a person or none
            for each in record["decided"]:
                self.add(each)
        else:
            self.files.add(record)

    def outermost_done(self, path: str) -> str:
        """Return the outermost finished visit among a visit and those around it; "" if none is finished."""
        return next((each for each in (*outer_paths(path), path) if each in self.done), "")

    def _end(self, path: str, record: Record) -> None:
        for path_in_store, *_ in [[record.get("carried", ())], *record.get("changes", ())]:
            hash(tuple(path_in_store))  # raises for a damaged record before it has changed anything here
        start = self.interrupted.get(path)
        self._forget_one(path)
        over = (f"{path}/", f"{path}[", *record.get("over", ()))
        for index in (self.interrupted, self.failed):  # it is done: whatever stopped inside it is not run again
            for each in [each for each in index if each.startswith(over)]:
                del index[each]
        if not is_withheld(record):
            self.done[path] = record
        elif start is not None:
            self.interrupted[path] = record

    def _forget_one(self, path: str) -> None:
        for index in (self.done, self.interrupted, self.failed):
            index.pop(path, None)

    def forget(self, path: str) -> None:
        """Forget a visit or item and all inside it, because it runs again from its beginning."""
        for index in (self.done, self.interrupted, self.failed):
            for each in [each for each in index if is_within(each, path)]:
                del index[each]


def is_within(path: str, outer: str) -> bool:
    """Return True if a visit or item is `outer` itself, a step of its flow, or an item of its batch."""
    return path == outer or path.startswith((f"{outer}/", f"{outer}["))


def outer_paths(path: str) -> Iterator[str]:
    """Yield the visits and items around a visit, the outermost first."""
    return (path[:at] for at, letter in enumerate(path) if letter in "/[")


def batch_of(item: str) -> str:
    """Return the path of the batch that an item belongs to, from the item's path."""
    return item.rpartition("[")[0]


def step_name(path: str) -> str:
    """Return the name of the step that a path visits: `outer/inner` for `outer@1/inner@2[…]`."""
    return "/".join(part.partition("@")[0] for part in path.split("/"))


def is_withheld(record: Record) -> bool:
    """Return True if a record keeps only a digest of a changed value, since there is a secret in it."""
    return any(len(change) > 2 for change in record.get("changes", ()))


def compacted(every: list[Record]) -> Iterator[Record]:
    """Yield fewer records that rebuild the same state; records inside a finished visit are left out."""
    known = Records(every)
    yield known.begin
    yield from known.files.compacted()
    kept = {outer for path, record in known.done.items() if "error" in record for outer in outer_paths(path)}
    finished = known.done.keys() - kept  # a failed item, and each visit around it, may run again
    ends = [record for path, record in known.done.items() if finished.isdisjoint(outer_paths(path))]
    is_whole = any(map(is_withheld, every))  # a step that runs again, to write its secret anew, may read any value
    yield from ends if is_whole else _without_replaced(ends)
    for path, record in (known.interrupted | known.failed).items():
        if known.done.keys().isdisjoint(outer_paths(path)):
            yield from [{"start": path}, record] if "end" in record else [record]


def _without_replaced(ends: list[Record]) -> Iterator[Record]:
    """Yield ends in order, with null in place of each value that a later visit of the same step replaced.

    Such an end is marked `dropped`. A value stays if a later change put another value inside it.
    """
    last: dict[tuple[str, Any], Record] = {}
    inner: set[tuple[str, Any]] = set()
    for record in ends:
        scope = record["end"].rpartition("/")[0]
        for path, *_ in record.get("changes", ()):
            last[_step_of(record), tuple(path)] = record
            inner |= {(scope, tuple(path[:length])) for length in range(1, len(path))}
    for record in ends:
        scope = record["end"].rpartition("/")[0]
        replaced = [
            path
            for path, *value in record.get("changes", ())
            if value and last[_step_of(record), tuple(path)] is not record and (scope, tuple(path)) not in inner
        ]
        if replaced:
            changes = [[path, None] if path in replaced else [path, *value] for path, *value in record["changes"]]
            record = {**record, "changes": changes, "dropped": True}
        yield record


def _step_of(record: Record) -> str:
    """Return the path of the step that an `end` record's visit belongs to; for an item, the item's path."""
    path: str = record["end"]
    scope, _, last = path.rpartition("/")
    return path if path.endswith("]") else f"{scope}/{last.partition('@')[0]}"


def file_key(path: str) -> str:
    """Return the key of a file in the records: its absolute path, with one character for each byte."""
    return str(os.fsencode(os.path.abspath(path)), "latin-1")


def listing_key(pattern: str, directory: str, hidden: bool, kind: str) -> str:
    """Return the key of a listing in the records: the arguments of `list_paths` as JSON."""
    return encode([str(os.fsencode(pattern), "latin-1"), file_key(directory), hidden, kind]).decode()


def path_of(key: str) -> str:
    return os.fsdecode(key.encode("latin-1"))


def state_of(key: str) -> State:
    """Return the present state of a file or listing."""
    if not key.startswith("/"):
        return _list(*decode(key.encode()))
    path = path_of(key)
    if not os.path.exists(path):
        return MISSING
    if key.startswith(("/dev/", "/proc/")) or not os.path.isfile(path):  # opening a pipe would disturb it
        return None
    try:
        status = os.stat(path)
        return file_digest(path) if status.st_size <= _LARGEST else f"{status.st_size} {status.st_mtime_ns}"
    except OSError:
        return None


def stamp_of(key: str) -> State:
    """Return a stamp that changes with the state of a file or listing; empty if the stamp would be unreliable."""
    return cache.stamp_of(path_of(key), time.time_ns()) if key.startswith("/") else state_of(key)


def _list(pattern: str, directory: str, hidden: bool, kind: str) -> list[str]:
    wanted, place = path_of(pattern), path_of(directory)
    found = result_of(lambda: list_paths(wanted, place, hidden=hidden, kind=kind, is_told=False), otherwise=[])
    return [file_key(path) for path in found]


class FileStates:
    """The files that the steps of a run have read, each with the state that it should still have.

    That is the state that a step read, or that a later step of the run left. `reads` has it by key, then by visit.
    `changed_files` are the files that the run wrote or removed. `inside` has the keys by the flow around their visits.

    Two forms of records make it: `{"read": VISIT, "files": {KEY: STATE}}` for files that a visit read, and `{"left":
    {KEY: STATE}}` for files that it changed. The latter is written twice: before the change with a state of None, so
    that a killed process leaves "unknown", and after it.
    """

    def __init__(self) -> None:
        self.reads: dict[str, dict[str, State]] = {}
        self.changed_files: dict[str, None] = {}
        self.inside: dict[str, dict[str, None]] = {}

    def add(self, record: dict[str, Any]) -> None:
        for key, state in record.get("files", {}).items():
            visit = record["read"]
            self.reads.setdefault(key, {})[visit] = state
            for flow in ["", *(visit[: at + 1] for at, letter in enumerate(visit) if letter == "/")]:
                self.inside.setdefault(flow, {})[key] = None
        for key, state in record.get("left", {}).items():
            self.reads.get(key, {}).update(dict.fromkeys(self.reads.get(key, ()), state))
            self.changed_files[key] = None

    def compacted(self) -> Iterator[dict[str, Any]]:
        """Yield fewer records that rebuild the same state."""
        if self.changed_files:
            yield {"left": dict.fromkeys(self.changed_files)}
        for key, readers in self.reads.items():
            for visit, state in readers.items():
                yield {"read": visit, "files": {key: state}}

    def changes(self, counts: Callable[[str], bool]) -> Iterator[Change]:
        """Yield the first change of each file since a visit read it; only visits for which `counts` is true."""
        for key, readers in self.reads.items():
            found = [(visit, then) for visit, then in readers.items() if then is not None and counts(visit)]
            now = state_of(key) if found else None
            for visit, then in found:
                if isinstance(then, list):
                    for name in sorted(({*then} ^ {*(now or ())}) - self.changed_files.keys()):
                        yield key, path_of(name), visit, "is gone" if name in then else "is new"
                elif then != now:
                    how = "is gone" if now == MISSING else "is new" if then == MISSING else "has changed"
                    yield key, path_of(key), visit, how
                    break

    def accepted(self) -> Iterator[dict[str, Any]]:
        """Yield the record that accepts all changed files as they are now; nothing if none has changed."""
        if changed := {key: state_of(key) for key, *_ in self.changes(lambda visit: True)}:
            yield {"left": changed}
