"""What setup would change below a prefix, found out before anything is touched."""

from __future__ import annotations

import os
import stat

from pflow.errors import CANNOT_WRITE, DENIED, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.setup.places import Places
    from pflow.setup.record import Record

WRITE, UPDATE, REMOVE, KEEP, FOUND, CHANGED = "write", "update", "remove", "keep", "found", "changed"
"""What becomes of a file: it is new, another version, no longer wanted, as it should be, so though setup did not put it
there, or left because somebody changed it."""


class Changes:
    """What becomes of each file, by its name below share/; and the directories to make, the upper ones first."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.directories: list[str] = []

    def of(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.files.items() if kind in kinds]


def digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def find_changes(places: Places, wanted: dict[str, bytes], record: Record) -> Changes:
    """What makes a prefix hold the wanted files. Raises PflowError where that cannot be, for the first reason found."""
    changes = Changes()
    in_the_way = []
    for name, data in wanted.items():
        kind = _become(places.path(name), data, record.files.get(name))
        if kind is None:
            in_the_way.append(places.path(name))
        else:
            changes.files[name] = kind
    if in_the_way:
        raise _refusal(in_the_way)
    changes.files.update(find_removals(places, {name: record.files[name] for name in record.files.keys() - wanted}))
    for name in changes.of(WRITE):
        _add_directories(places, os.path.dirname(name), changes.directories)
    for name in changes.of(WRITE, UPDATE, REMOVE):
        _check_writable(os.path.dirname(places.path(name)))
    return changes


def find_removals(places: Places, files: dict[str, list[str]]) -> dict[str, str]:
    """What becomes of files that are no longer wanted; nothing of one that is gone."""
    found = {}
    for name in sorted(files):
        is_there, data = _look(places.path(name))
        if is_there:
            is_ours = data is not None and digest(data) in files[name]
            found[name] = REMOVE if is_ours else CHANGED
    return found


def _become(path: str, wanted: bytes, digests: list[str] | None) -> str | None:
    """What becomes of one file, of which setup knows these digests; None where a foreign one is in the way."""
    is_there, data = _look(path)
    if not is_there:
        return WRITE
    if data == wanted:
        return FOUND if digests is None else KEEP
    if digests is None:
        return None
    return UPDATE if data is not None and digest(data) in digests else CHANGED


def _look(path: str) -> tuple[bool, bytes | None]:
    """Whether anything is there, and the bytes of a regular file."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return True, None
        with open(path, "rb") as file:
            return True, file.read()
    except FileNotFoundError:
        return False, None
    except NotADirectoryError:
        return False, None  # the directory's own check says it better
    except PermissionError as error:
        raise PflowError(f"cannot read '{path}': {(error.strerror or '').lower()}", exit=DENIED) from None


def _refusal(paths: list[str]) -> PflowError:
    rest = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return PflowError(
        f"cannot write '{paths[0]}'{rest}: another file is there, which pflow setup did not write",
        hint="move it away, or take another --prefix; nothing was changed",
        exit=CANNOT_WRITE,
    )


def _add_directories(places: Places, name: str, directories: list[str]) -> None:
    """The directories that are missing on the way to one below share/."""
    if name and name not in directories and not os.path.isdir(places.path(name)):
        _add_directories(places, os.path.dirname(name), directories)
        directories.append(name)


def _check_writable(directory: str) -> None:
    """Raise PflowError where nothing can be put into a directory, or it cannot be made (73, 77)."""
    while not os.path.lexists(directory):
        directory = os.path.dirname(directory)
    if not os.path.isdir(directory):
        raise PflowError(f"cannot write below '{directory}': it is not a directory", exit=CANNOT_WRITE)
    if not os.access(directory, os.W_OK | os.X_OK):
        is_read_only = os.statvfs(directory).f_flag & os.ST_RDONLY
        why, exit = ("it is read-only", CANNOT_WRITE) if is_read_only else ("permission denied", DENIED)
        raise PflowError(f"cannot write below '{directory}': {why}", hint="--prefix DIR", exit=exit)


def check_prefix(places: Places) -> None:
    """Raise PflowError where setup's own record cannot be put below a prefix (73, 77)."""
    _check_writable(places.home)
