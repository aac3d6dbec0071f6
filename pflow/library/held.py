"""Holding the library while something in it changes: of two that save at once, one waits."""

from __future__ import annotations

import os
from contextlib import contextmanager

from pflow.errors import CANNOT_WRITE, DENIED, TRY_AGAIN, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE = 10.0
"""Seconds that the other has."""
_PAUSE = 0.02


@contextmanager
def held(folder: str, act: str) -> Iterator[None]:
    """Hold the library; it is made where it is not there.

    `act` says what cannot be done. Raises PflowError: 73 and 77 for what the system refuses, within too; 75 where
    another holds it without end.
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
        raise in_words(act, error) from None


def in_words(act: str, error: OSError) -> PflowError:
    """What the system refused, and the place of it; of a draft, the directory that it was to be in."""
    file = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    is_draft = os.path.basename(file).startswith(".pflow-")
    where = f" '{os.path.dirname(file) if is_draft else file}'" if file else ""
    exit = DENIED if isinstance(error, PermissionError) else CANNOT_WRITE
    return PflowError(f"{act}: {(error.strerror or str(error)).lower()}{where}", exit=exit)


def make_folder(folder: str) -> None:
    """Make a directory, and those above it, for its owner alone. Raises OSError."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for each in reversed(missing):
        try:
            os.mkdir(each, 0o700)
        except FileExistsError:
            if not os.path.isdir(each):
                raise


def _lock(fd: int, act: str) -> None:
    import fcntl
    import time

    end = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                what = f"{act}: another pflow changes saved flows and does not end"
                raise PflowError(what, hint="try again when it has ended", exit=TRY_AGAIN) from None
            time.sleep(_PAUSE)
        except OSError:  # a file system without locks
            return
