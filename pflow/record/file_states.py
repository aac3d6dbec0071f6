"""The files that the steps of a run have read: their states then, or as a later step of the run left them."""

from __future__ import annotations

import os
import stat
import time

from pflow import TYPE_CHECKING, Any, Callable, Iterator
from pflow.files.listing import list_paths
from pflow.values.digest import file_digest, file_stamp
from pflow.values.jsontext import decode, encode

if TYPE_CHECKING:
    State = str | list[str] | None
    """A file's digest, MISSING or CHANGED; of a listing, the keys of the files that it found; None if unknown."""
    Change = tuple[str, str, str, str]
    """The key of a file or listing, the path of what changed, a visit that read it, and how it changed."""

MISSING = "missing"
CHANGED = "changed while it was read"
_LARGEST = 1 << 30  # bytes; of a larger file, size and time count


def file_key(path: str | bytes) -> str:
    """Return the name of a file in the records: its absolute path, with a character for each byte."""
    return str(os.fsencode(os.path.abspath(os.fsdecode(path))), "latin-1")


def listing_key(pattern: str, directory: str, hidden: bool, kind: str) -> str:
    """Return the name of a listing in the records, by the arguments of `list_paths`."""
    return encode([str(os.fsencode(pattern), "latin-1"), file_key(directory), hidden, kind]).decode()


def path_of(key: str) -> str:
    return os.fsdecode(key.encode("latin-1"))


def look_at(key: str, *, digests: bool = True) -> tuple[State, Any]:
    """Return the state of a file or listing, and a stamp that changes with it (empty if that cannot be told)."""
    if not key.startswith("/"):
        found = _list(*decode(key.encode()))
        return found, found
    path, stamp = path_of(key), ""
    try:
        status = os.stat(path)
        stamp = file_stamp(status, time.time_ns())
        is_own = key.startswith(("/dev/", "/proc/"))  # another process finds something else there
        if not digests or is_own or not stat.S_ISREG(status.st_mode):  # to open a pipe is to disturb it
            return None, stamp
        return file_digest(path) if status.st_size <= _LARGEST else f"{status.st_size} {status.st_mtime_ns}", stamp
    except (FileNotFoundError, NotADirectoryError):
        return MISSING, stamp or MISSING
    except (OSError, ValueError):
        return None, stamp


def _list(pattern: str, directory: str, hidden: bool, kind: str) -> list[str]:
    try:
        found = list_paths(path_of(pattern), path_of(directory), hidden=hidden, kind=kind, is_told=False)
    except OSError:
        return []
    return [file_key(path) for path in found]


class FileStates:
    """`reads` has, by key, the state that each visit found. `touched` are the files that the run wrote or removed.

    `inside` has the keys by the flow around their visits. It is made of these records: `{"read": VISIT, "files": {KEY:
    STATE}}`, `{"left": {KEY: STATE}}` for what a visit changed (a None goes before it, and stays if it is killed), and
    `{"states": READS, "touched": KEYS}`.
    """

    def __init__(self) -> None:
        self.reads: dict[str, dict[str, State]] = {}
        self.touched: dict[str, None] = {}
        self.inside: dict[str, dict[str, None]] = {}
        self.has_listing = False

    def add(self, record: dict[str, Any]) -> None:
        found = {key: {record["read"]: state} for key, state in record["files"].items()} if "read" in record else {}
        for key, readers in (found or record.get("states", {})).items():
            self.reads.setdefault(key, {}).update(readers)
            self.has_listing = self.has_listing or not key.startswith("/")
            for visit in readers:
                for at in range(len(visit)):
                    if at == 0 or visit[at - 1] == "/":
                        self.inside.setdefault(visit[:at], {})[key] = None
        for key, state in record.get("left", {}).items():
            self.reads.get(key, {}).update(dict.fromkeys(self.reads.get(key, ()), state))
        self.touched |= dict.fromkeys(record.get("touched", record.get("left", ())))

    def whole(self) -> Iterator[dict[str, Any]]:
        """Yield the one record that is enough, if there are any."""
        if self.reads:
            yield {"states": self.reads, "touched": list(self.touched)}

    def changes(self, counts: Callable[[str], bool]) -> Iterator[Change]:
        """Yield each change since a visit that `counts`, one for each file."""
        for key, readers in self.reads.items():
            found = [(visit, then) for visit, then in readers.items() if then is not None and counts(visit)]
            now = look_at(key)[0] if found else None
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
        if changed := {key: look_at(key)[0] for key, *_ in self.changes(lambda visit: True)}:
            yield {"left": changed}
