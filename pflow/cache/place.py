"""Where the cache is: a directory of the user's alone, from which what was not used for longest is pruned."""

from __future__ import annotations

import fcntl
import os
import stat
import time

from pflow import TYPE_CHECKING
from pflow.errors import BAD_CONFIG, CANNOT_WRITE, PflowError, reason_of
from pflow.files.failpoint import failpoint
from pflow.files.xdg import cache_directory, make_private

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTRIES, BLOBS, DIGESTS = "entries", "blobs", "digests"
LIMIT = "PFLOW_CACHE_SIZE"
"""The variable with the bytes that the cache may take: 500M, 2G."""

_DEFAULT_LIMIT = "1G"
_GROWN = "grown"
"""A file that gets a byte for each _UNIT that is written: its size says when to prune, without counting the files."""
_UNIT = 1 << 16
_KEPT = 0.8
"""What of the limit stays after a pruning."""
_YOUNG = 60
"""Seconds in which a file may be in use, and is not pruned."""


_sound: set[str] = set()
"""The directories that this process has looked at, and found its own."""


def directory(name: str = "") -> str:
    """The cache's directory, or one in it, made where it is missing. Raises PflowError (78) where it may not be."""
    base = cache_directory()
    if base is not None and (known := f"{base}/results/{name}".rstrip("/")) in _sound:
        return known
    if base is None:
        hint = "HOME or XDG_CACHE_HOME names the place"
        raise PflowError("cannot use the cache: there is no place for it", hint=hint, exit=BAD_CONFIG)
    own = os.path.join(base, "results")
    place = os.path.join(own, name) if name else own
    try:
        if not os.path.isdir(place):
            make_private(place)
        for each in (base, own):
            if fault := _fault_of(each):
                hint = "chmod go-w, or another XDG_CACHE_HOME"
                raise PflowError(f"cannot use the cache in '{each}': {fault}", hint=hint, exit=BAD_CONFIG)
    except OSError as error:
        why = f"cannot use the cache in '{place}': {reason_of(error)}"
        raise PflowError(why, exit=BAD_CONFIG) from None
    _sound.add(place)
    return place


def _fault_of(folder: str) -> str:
    """Why what lies in a directory may be somebody else's."""
    link, status = os.lstat(folder), os.stat(folder)
    if status.st_uid != os.geteuid() or link.st_uid != os.geteuid():
        return "it is another user's"
    return "others may write to it" if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def save(path: str, data: bytes) -> None:
    """Write a file of the cache aside, give it its name, and make room where it is needed. Raises PflowError (73)."""
    from pflow.files.atomic import replace

    try:
        failpoint("cache.write")
        replace(path, data, mode=0o600, lasts=False)
        failpoint("cache.written")
        _grow(len(data))
    except OSError as error:
        why = f"cannot write to the cache: {reason_of(error)}"
        raise PflowError(why, exit=CANNOT_WRITE) from None


def touch(path: str) -> None:
    """Note that a file is used: what was not for longest is pruned first."""
    try:
        os.utime(path)
    except OSError:
        pass  # it is gone, or on a disk that may only be read


def size_limit() -> int:
    """The bytes that the cache may take. Raises PflowError (78) where the variable says no size."""
    text = os.environ.get(LIMIT) or _DEFAULT_LIMIT
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    if not (number.isascii() and number.isdecimal() and unit in ("", "K", "M", "G", "T")):
        raise PflowError(f"cannot take {LIMIT}='{text}': it is no size", hint="500M, 2G", exit=BAD_CONFIG)
    return int(number) << 10 * " KMGT".index(unit or " ")


def _grow(size: int) -> None:
    """Count what was written, and prune once that may be too much."""
    limit = size_limit()
    fd = os.open(os.path.join(directory(), _GROWN), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, b"." * (size // _UNIT + 1))
        if os.fstat(fd).st_size * _UNIT > limit:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            prune(limit)
    except OSError:
        pass  # another process is at it, or the disk is full
    finally:
        os.close(fd)


def files() -> Iterator[tuple[str, os.stat_result]]:
    """Every file of the cache, drafts that a kill left too."""
    for folder, _, names in os.walk(directory()):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if name != _GROWN:
                    yield path, os.lstat(path)
            except FileNotFoundError:
                pass  # another process was faster


def prune(limit: int) -> tuple[int, int]:
    """Remove what was not used for longest until the rest fits: how many files went, and the bytes that the rest takes.

    What is in use may be younger than a minute, and stays.
    """
    found = sorted((status.st_mtime, status.st_blocks * 512, path) for path, status in files())
    taken, removed = sum(size for _, size, _ in found), 0
    goal = limit if taken <= limit else int(limit * _KEPT)
    newest = time.time() - _YOUNG
    for used, size, path in found:
        if used > newest:
            break
        if taken > goal or path.endswith(".tmp"):  # a draft that a kill left
            remove(path)
            taken, removed = taken - size, removed + 1
    fd = os.open(os.path.join(directory(), _GROWN), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(fd, taken // _UNIT)
    finally:
        os.close(fd)
    return removed, taken


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass  # another process was faster
