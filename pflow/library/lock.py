"""The lock of the library: while one process changes saved flows, another waits."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pflow.errors import CANNOT_WRITE, DENIED, TRY_AGAIN, PflowError

_PATIENCE, _PAUSE = 10.0, 0.02
"""Seconds to wait for another process in all, and between two looks."""


@contextmanager
def locked(folder: str, act: str) -> Iterator[None]:
    """Make the directory if it is missing, and hold its lock. `act` names in errors what cannot be done.

    Raises PflowError: 73 and 77 for any OSError, those of the body too; 75 where another process keeps the lock.
    """
    try:
        make_folder(folder)
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _lock(fd, act)
            yield
        finally:
            os.close(fd)
    except OSError as error:
        raise as_error(act, error) from None


def as_error(act: str, error: OSError) -> PflowError:
    """What the system refused, with the file, or for a draft the directory that it was to be in."""
    file = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    is_draft = os.path.basename(file).startswith(".pflow-")
    where = f" '{os.path.dirname(file) if is_draft else file}'" if file else ""
    exit = DENIED if isinstance(error, PermissionError) else CANNOT_WRITE
    return PflowError(f"{act}: {(error.strerror or str(error)).lower()}{where}", exit=exit)


def make_folder(folder: str) -> None:
    """Make a directory and its parents for their owner alone. Raises OSError."""
    if not os.path.isdir(folder):
        make_folder(os.path.dirname(folder))
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise


def _lock(fd: int, act: str) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                what = f"{act}: another pflow is changing saved flows"
                raise PflowError(what, hint="try again when it has ended", exit=TRY_AGAIN) from None
            time.sleep(_PAUSE)
        except OSError:  # a file system without locks
            return
