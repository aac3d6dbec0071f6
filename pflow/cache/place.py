"""Where the cache is: a directory that nobody else may write to, its files, and what holds while files stay alike."""

from __future__ import annotations

import os
import stat
import time

from pflow import TYPE_CHECKING
from pflow.digest import digest_of, file_digest, file_stamp
from pflow.errors import BAD_CONFIG, PflowError
from pflow.jsontext import decode, encode
from pflow.xdg import cache_directory, make_private, read_cached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_LARGE = 1 << 16
"""Bytes of a file that take longer to digest than to look up."""
_LATER = 1 << 63
"""A time for which no file is too fresh."""


def directory(name: str = "") -> str:
    """The cache's directory, or one in it, made where it is missing. Raises PflowError (78) where it may not be."""
    base = cache_directory()
    if base is None:
        raise PflowError("cannot find the cache: the environment names no place", hint="set HOME", exit=BAD_CONFIG)
    own = os.path.join(base, "results")
    place = os.path.join(own, name)
    try:
        if not os.path.isdir(place):
            make_private(place)
        for each in (base, own):
            if fault := _fault_of(each):
                raise PflowError(f"cannot use the cache '{each}': {fault}", hint="rm it, or chmod", exit=BAD_CONFIG)
    except OSError as error:
        why = f"cannot use the cache '{place}': {(error.strerror or str(error)).lower()}"
        raise PflowError(why, exit=BAD_CONFIG) from None
    return place


def _fault_of(folder: str) -> str:
    """Why what lies in a directory may be somebody else's."""
    link, status = os.lstat(folder), os.stat(folder)
    if status.st_uid != os.geteuid() or link.st_uid != os.geteuid():
        return "it is another user's"
    return "others may write to it" if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


def save(path: str, data: bytes) -> None:
    """Write a file of the cache aside and give it its name. Raises OSError."""
    from pflow.atomic import replace

    replace(path, data, mode=0o600, lasts=False)


def touch(path: str) -> None:
    """Note that a file is used: what was not for longest is pruned first."""
    try:
        os.utime(path)
    except OSError:
        pass  # it is gone, or on a disk that may only be read


def remembered(question: list[str], find: Callable[[], tuple[Any, Iterable[str]]]) -> Any:
    """The JSON that `find` gives, or gave, while the files that it names have stayed as they were.

    A cache that cannot be used remembers nothing.
    """
    try:
        file = os.path.join(directory("digests"), digest_of(question))
    except PflowError:
        file = ""
    try:
        known = decode(read_cached(file) or b"")
        if all(_stamp_of(path, _LATER) == stamp for path, stamp in known["files"].items()):
            touch(file)
            return known["answer"]
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # nothing is there, or nothing of ours
    now = time.time_ns()
    answer, paths = find()
    stamps = {path: _stamp_of(path, now) for path in paths}
    if file and all(stamps.values()):
        try:
            save(file, encode({"answer": answer, "files": stamps}, escape=False))
        except (OSError, PflowError):
            pass
    return answer


def _stamp_of(path: str, now: int) -> str:
    try:
        return file_stamp(os.stat(path), now)
    except OSError:
        return "missing"


def digest_of_file(path: str) -> str:
    """SHA-256 of what a file holds, found once for a large one that stays as it is. Raises OSError."""
    if os.stat(path).st_size < _LARGE:
        return file_digest(path)
    full = os.path.abspath(path)
    return str(remembered(["file", full], lambda: (file_digest(full), [full])))
