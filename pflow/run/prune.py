"""Pruning: removing old runs, and the oldest where all of them take too much room; never one that is still going."""

from __future__ import annotations

import os
import time

from pflow.run.log import LOCK
from pflow.run.runs import ids_in, time_of

DAYS = 30
SIZE = 200 << 20


def prune(place: str, *, days: float = DAYS, size: int = SIZE) -> None:
    """Remove runs that are older than so many days, then the oldest until the rest takes so many bytes.

    The newest always stays. What cannot be removed is left for the next time.
    """
    ids = ids_in(place)
    oldest = time.time() - days * 86_400
    taken = 0
    for id in ids:
        directory = os.path.join(place, id)
        is_kept = time_of(id) >= oldest and taken <= size
        if is_kept:
            taken += _size_of(directory)
        if id != ids[0] and not (is_kept and taken <= size):
            _remove_run(directory)


def _size_of(directory: str) -> int:
    """The room that the files of a run take on the disk."""
    try:
        with os.scandir(directory) as entries:
            return sum(entry.stat(follow_symlinks=False).st_blocks * 512 for entry in entries)
    except OSError:
        return 0


def _remove_run(directory: str) -> None:
    import fcntl

    try:
        lock = os.open(os.path.join(directory, LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(directory)
    except OSError:
        pass  # it is still going, or not ours to remove
    finally:
        os.close(lock)


def _remove(directory: str) -> None:
    with os.scandir(directory) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name == LOCK):  # the lock is held to the end
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
            else:
                os.unlink(entry.path)
    os.rmdir(directory)
