"""The cache's directory, which only its user may write: save files, prune them, and remember digests of files."""

from __future__ import annotations

import fcntl
import os
import stat
import time

from pflow import Any, Callable, Iterable, Iterator
from pflow.errors import BAD_CONFIG, CANNOT_WRITE, Attempt, Ignoring, PflowError, result_of
from pflow.files.atomic import failpoint, open_private, replace
from pflow.files.directories import cache_directory, make_private, read_cached, required_directory
from pflow.files.reading import Opened, file_digest, file_stamp
from pflow.values.digest import digest_of
from pflow.values.jsontext import decode, encode

ENTRIES, BLOBS = "entries", "blobs"
LIMIT = "PFLOW_CACHE_SIZE"
"""The variable that limits the size of the cache: 500M, 2G."""

_DEFAULT_LIMIT = "1G"
_GROWN = "grown"
"""A file that gets a byte for each _UNIT written, so that its size says when to prune without a look at all files."""
_UNIT = 1 << 16
_KEPT = 0.8
"""The share of the limit that stays after pruning."""
_YOUNG = 60
"""Seconds after its last use for which a file is not pruned, since it may still be in use."""
_LARGE = 1 << 16
"""The size in bytes from which looking a digest up is faster than making it."""
_LATER = 1 << 63
"""A time so late that no file counts as just changed."""


_trusted: set[str] = set()
"""The directories that this process has checked."""


def directory(name: str = "") -> str:
    """Return the cache's directory, or one in it, made if missing. Raises PflowError (78) if it cannot be trusted."""
    base = cache_directory()
    if base is not None and (known := f"{base}/results/{name}".rstrip("/")) in _trusted:
        return known
    base = required_directory(base, "cannot use the cache", "XDG_CACHE_HOME")
    own = os.path.join(base, "results")
    place = os.path.join(own, name) if name else own
    with Attempt(f"cannot use the cache in '{place}'", exit=BAD_CONFIG):
        if not os.path.isdir(place):
            make_private(place)
        for each in (base, own):
            if fault := _fault_of(each):
                hint = "chmod go-w, or another XDG_CACHE_HOME"
                raise PflowError(f"cannot use the cache in '{each}': {fault}", hint=hint, exit=BAD_CONFIG)
    _trusted.add(place)
    return place


def _fault_of(folder: str) -> str:
    """Say why others could have written into a directory; empty if they could not."""
    link, status = os.lstat(folder), os.stat(folder)
    if status.st_uid != os.geteuid() or link.st_uid != os.geteuid():
        return "it belongs to another user"
    return "others may write to it" if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def save(path: str, data: bytes) -> None:
    """Write a file of the cache atomically, and make room if needed. Raises PflowError (73)."""
    with Attempt("cannot write to the cache", exit=CANNOT_WRITE):
        failpoint("cache.write")
        replace(path, data, mode=0o600, lasts=False)
        failpoint("cache.written")
        _grow(len(data))


def touch(path: str) -> None:
    """Note that a file is used, since the least recently used files are pruned first."""
    with Ignoring(OSError):  # another process pruned it, or the disk is read-only: the answer is valid nevertheless
        os.utime(path)


def size_limit() -> int:
    """Return the bytes that the cache may take. Raises PflowError (78) if the variable is not a size."""
    text = os.environ.get(LIMIT) or _DEFAULT_LIMIT
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    if not (number.isascii() and number.isdecimal() and unit in ("", "K", "M", "G", "T")):
        raise PflowError(f"cannot take {LIMIT}='{text}': it is not a size", hint="500M, 2G", exit=BAD_CONFIG)
    return int(number) << 10 * " KMGT".index(unit or " ")


def _grow(size: int) -> None:
    """Count the bytes written, and prune if the cache may exceed the limit."""
    limit, grown = size_limit(), open_private(os.path.join(directory(), _GROWN), os.O_APPEND)
    with Opened(grown) as fd, Ignoring(OSError):  # another process is pruning, or the disk is full
        os.write(fd, b"." * (size // _UNIT + 1))
        if os.fstat(fd).st_size * _UNIT > limit:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            prune(limit)


def files() -> Iterator[tuple[str, os.stat_result]]:
    """Yield every file of the cache, including drafts that a kill left."""
    for folder, _, names in os.walk(directory()):
        for name in names:
            path = os.path.join(folder, name)
            with Ignoring(FileNotFoundError):  # another process has just removed it
                if name != _GROWN:
                    yield path, os.lstat(path)


def prune(limit: int) -> tuple[int, int]:
    """Remove the least recently used files until the rest fits; return their number, and the bytes of the rest.

    Files younger than a minute may be in use, and stay.
    """
    found = sorted((status.st_mtime, status.st_blocks * 512, path) for path, status in files())
    taken, removed = sum(size for _, size, _ in found), 0
    goal = limit if taken <= limit else int(limit * _KEPT)
    newest = time.time() - _YOUNG
    for used, size, path in found:
        if used > newest:
            break
        if taken > goal or path.endswith(".tmp"):  # a killed process leaves its draft, which nothing else removes
            remove(path)
            taken, removed = taken - size, removed + 1
    with open(open_private(os.path.join(directory(), _GROWN)), "wb") as grown:
        grown.truncate(taken // _UNIT)
    return removed, taken


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass  # another process has just removed it
    except IsADirectoryError:  # pflow did not make it, and each later write would fail on it
        import shutil

        shutil.rmtree(path, ignore_errors=True)


def remembered(question: list[str], find: Callable[[], tuple[Any, Iterable[str]]]) -> Any:
    """Return the JSON that `find` returns, or that it returned earlier if the files that it named have not changed.

    Remember nothing if the cache cannot be used.
    """
    file = result_of(lambda: os.path.join(directory("digests"), digest_of(question)), of=PflowError, otherwise="")
    with Ignoring(ValueError, KeyError, TypeError, AttributeError):  # missing, cut short, or of another version
        known = decode(read_cached(file) or b"")
        if all(stamp_of(path, _LATER) == stamp for path, stamp in known["files"].items()):
            touch(file)
            return known["answer"]
    now = time.time_ns()
    answer, paths = find()
    stamps = {path: stamp_of(path, now) for path in paths}
    if file and all(stamps.values()):
        with Ignoring(PflowError):
            save(file, encode({"answer": answer, "files": stamps}, escape=False))
    return answer


def stamp_of(path: str, now: int) -> str:
    return result_of(lambda: file_stamp(os.stat(path), now), of=(OSError, ValueError), otherwise="missing")


def digest_of_file(path: str) -> str:
    """Return the SHA-256 of a file's content, remembered for a large file until it changes. Raises OSError."""
    if os.stat(path).st_size < _LARGE:
        return file_digest(path)
    full = os.path.abspath(path)
    return str(remembered(["file", full], lambda: (file_digest(full), [full])))
