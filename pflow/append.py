"""Adding to the end of a file: all of it or nothing, beside others who do the same."""

from __future__ import annotations

import os

from pflow.atomic import replace, write_all


def append(path: str, data: bytes, *, mode: int = 0o666) -> None:
    """Add `data` to the end of a file in one write, or make the file; a write that fails is taken back.

    Who appends through here takes turns, so that nobody takes back what another wrote. Raises OSError.
    """
    if not os.path.exists(path):
        try:
            return replace(path, data, mode=mode, overwrite=False)
        except FileExistsError:
            pass
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        _lock(fd)
        _append_or_restore(fd, data)
    finally:
        os.close(fd)


def _append_or_restore(fd: int, data: bytes) -> None:
    before = os.fstat(fd).st_size
    try:
        write_all(fd, data)
        os.fsync(fd)
    except BaseException:
        # More than ours is there when somebody wrote who does not take turns.
        if before < os.fstat(fd).st_size <= before + len(data):
            os.ftruncate(fd, before)
        raise


def _lock(fd: int) -> None:
    """Wait for our turn, where the file system has locks. Closing the file ends it."""
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:
        return
