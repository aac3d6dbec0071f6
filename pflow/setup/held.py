"""The directory that holds setup's record: made with the record in it, held by one at a time, removed with it.

It appears and goes, with what had to be made above it, by one rename: whenever setup is killed, there is either no
trace of it or a record of all that it made.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager

from pflow.atomic import replace
from pflow.setup.record import Record, record_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.setup.places import Places

_DRAFT = ".pflow-setup.tmp"
_NAME = "setup.json"


@contextmanager
def held(places: Places, *, make: bool) -> Iterator[bool]:
    """Hold the record's directory; with `make`, it is made. False where there is none. Raises OSError."""
    fd = _hold(places, make=make)
    try:
        yield fd is not None
    finally:
        if fd is not None:
            os.close(fd)


def _hold(places: Places, *, make: bool) -> int | None:
    while True:
        top = first_missing(places.home)
        if top is None:
            fd = _locked(places.home)
            if _is_still(fd, places.home):
                return fd
            os.close(fd)  # it was removed while we waited
            continue
        parent = _locked(os.path.dirname(top))
        try:
            if first_missing(places.home) == top:
                _remove_draft(os.path.dirname(top))
                if not make:
                    return None
                _make(top, places)
        finally:
            os.close(parent)


def first_missing(path: str) -> str | None:
    """The first directory on the way to a path, itself included, that is not there."""
    missing = None
    while not os.path.lexists(path):
        missing, path = path, os.path.dirname(path)
    return missing


def _locked(directory: str) -> int:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        pass
    return fd


def _is_still(fd: int, directory: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(directory))
    except FileNotFoundError:
        return False


def _make(top: str, places: Places) -> None:
    """Make the record's directory and what is missing above it, at once; the record says so."""
    record = Record()
    parent = os.path.dirname(top)
    draft = os.path.join(parent, _DRAFT)
    inner = os.path.join(draft, os.path.relpath(places.home, top))
    path = places.home
    while path != parent:
        record.directories.insert(0, os.path.relpath(path, places.share))
        path = os.path.dirname(path)
    try:
        os.makedirs(os.path.dirname(os.path.normpath(inner)), exist_ok=True)
        os.mkdir(os.path.normpath(inner), 0o700)
        replace(os.path.join(inner, _NAME), record_bytes(record), mode=0o600)
        os.rename(draft, top)
    except BaseException:
        _remove_draft(parent)
        raise


def remove_held(places: Places, record: Record) -> None:
    """Remove the record, and its directory and those above it as far as setup made them and they hold nothing else."""
    top = ""
    path, only = places.home, [_NAME]
    while os.path.relpath(path, places.share) in record.directories and os.listdir(path) == only:
        top, only, path = path, [os.path.basename(path)], os.path.dirname(path)
    if not top:
        os.unlink(os.path.join(places.home, _NAME))
        return
    parent = os.path.dirname(top)
    fd = _locked(parent)
    try:
        _remove_draft(parent)
        os.rename(top, os.path.join(parent, _DRAFT))
        _remove_draft(parent)
    finally:
        os.close(fd)


def _remove_draft(parent: str) -> None:
    """Remove what is about to be made or to go; whatever else is in it keeps it."""
    for directory, _, files in os.walk(os.path.join(parent, _DRAFT), topdown=False):
        if _NAME in files:
            os.unlink(os.path.join(directory, _NAME))
        os.rmdir(directory)
