"""The files that the steps of a run have read: their states then, or as a later step of the run left them."""

from __future__ import annotations

import os
import time

from pflow import TYPE_CHECKING, Any, Callable, Iterator
from pflow.cache import place
from pflow.errors import result_of
from pflow.files.listing import list_paths
from pflow.files.reading import file_digest
from pflow.values.jsontext import decode, encode

if TYPE_CHECKING:
    State = str | list[str] | None
    """A file's digest, or MISSING; of a listing, the keys of the files that it found; None if unknown."""
    Change = tuple[str, str, str, str]
    """The key of a file or listing, the path of what changed, a visit that read it, and how it changed."""

MISSING = "missing"
_LARGEST = 1 << 30  # bytes; of a larger file, which a step may only move, size and time count


def file_key(path: str) -> str:
    """Return the name of a file in the records: its absolute path, with a character for each byte."""
    return str(os.fsencode(os.path.abspath(path)), "latin-1")


def listing_key(pattern: str, directory: str, hidden: bool, kind: str) -> str:
    """Return the name of a listing in the records, by the arguments of `list_paths`."""
    return encode([str(os.fsencode(pattern), "latin-1"), file_key(directory), hidden, kind]).decode()


def path_of(key: str) -> str:
    return os.fsdecode(key.encode("latin-1"))


def state_of(key: str) -> State:
    """Return the state of a file or listing as it is now."""
    if not key.startswith("/"):
        return _list(*decode(key.encode()))
    path = path_of(key)
    if not os.path.exists(path):
        return MISSING
    if key.startswith(("/dev/", "/proc/")) or not os.path.isfile(path):  # to open a pipe is to disturb it
        return None
    try:
        status = os.stat(path)
        return file_digest(path) if status.st_size <= _LARGEST else f"{status.st_size} {status.st_mtime_ns}"
    except OSError:
        return None


def stamp_of(key: str) -> State:
    """Return a stamp that changes with the state of a file or listing; empty if that cannot be told."""
    return place.stamp_of(path_of(key), time.time_ns()) if key.startswith("/") else state_of(key)


def _list(pattern: str, directory: str, hidden: bool, kind: str) -> list[str]:
    wanted, place = path_of(pattern), path_of(directory)
    found = result_of(lambda: list_paths(wanted, place, hidden=hidden, kind=kind, is_told=False), otherwise=[])
    return [file_key(path) for path in found]


class FileStates:
    """`reads` has, by key, the state that each visit found. `touched` are the files that the run wrote or removed.

    `inside` has the keys by the flow around their visits. It is made of these records: `{"read": VISIT, "files": {KEY:
    STATE}}`, and `{"left": {KEY: STATE}}` for what a visit changed (a None goes before it, and stays if it is killed).
    """

    def __init__(self) -> None:
        self.reads: dict[str, dict[str, State]] = {}
        self.touched: dict[str, None] = {}
        self.inside: dict[str, dict[str, None]] = {}

    def add(self, record: dict[str, Any]) -> None:
        for key, state in record.get("files", {}).items():
            visit = record["read"]
            self.reads.setdefault(key, {})[visit] = state
            for flow in ["", *(visit[: at + 1] for at, letter in enumerate(visit) if letter == "/")]:
                self.inside.setdefault(flow, {})[key] = None
        for key, state in record.get("left", {}).items():
            self.reads.get(key, {}).update(dict.fromkeys(self.reads.get(key, ()), state))
            self.touched[key] = None

    def compacted(self) -> Iterator[dict[str, Any]]:
        """Yield the records that are enough."""
        if self.touched:
            yield {"left": dict.fromkeys(self.touched)}
        for key, readers in self.reads.items():
            for visit, state in readers.items():
                yield {"read": visit, "files": {key: state}}

    def changes(self, counts: Callable[[str], bool]) -> Iterator[Change]:
        """Yield each change since a visit that `counts`, one for each file."""
        for key, readers in self.reads.items():
            found = [(visit, then) for visit, then in readers.items() if then is not None and counts(visit)]
            now = state_of(key) if found else None
            for visit, then in found:
                if isinstance(then, list):
                    for name in sorted(({*then} ^ {*(now or ())}) - self.touched.keys()):
                        yield key, path_of(name), visit, "is gone" if name in then else "is new"
                elif then != now:
                    how = "is gone" if now == MISSING else "is new" if then == MISSING else "has changed"
                    yield key, path_of(key), visit, how
                    break

    def accepted(self) -> Iterator[dict[str, Any]]:
        """Yield the record that takes all files as they are now, if any have changed."""
        if changed := {key: state_of(key) for key, *_ in self.changes(lambda visit: True)}:
            yield {"left": changed}
