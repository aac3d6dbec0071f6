"""Reading files and pipes to the end, or up to the limit of bytes: in parts, so that a signal or time limit can act."""

from __future__ import annotations

import errno
import os
import stat
from io import BytesIO

from pflow.errors import BAD_DATA, PflowError, result_of

_PART, _LARGE_PART = 1 << 16, 1 << 20
"""The most bytes read at once from a pipe, and from a file: a signal has to wait for one read at most."""

MOST_INPUT = 4_000_000_000
_most = MOST_INPUT
_MOMENT = 100_000_000
"""Nanoseconds within which a file may change twice and keep one time stamp."""
_PLAIN, _DENSEST = 100_000_000, 100
"""Data is a bomb if it unpacks to more than _PLAIN bytes and _DENSEST times its size. Tables unpack to ten times it."""


def limit_input(most: int) -> None:
    """Set how many bytes one input of this process may have (--max-input)."""
    global _most
    _most = most


def open_regular(path: str | bytes, flags: int = os.O_RDONLY) -> int:
    """Open a regular file, or make it if `flags` say so. Raises OSError for any other file.

    It never waits: opening a pipe waits for its other end, opening a device may wait too.
    """
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return fd


class Opened:
    """A context that closes a descriptor at its end. `open` takes no directories, and contextlib is slow to import."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __enter__(self) -> int:
        return self.fd

    def __exit__(self, *error: object) -> None:
        os.close(self.fd)


def file_state(path: str, *, follow: bool = True) -> tuple[int, ...] | None:
    """Return numbers that change when a file or its content does; None if it is missing."""
    about = result_of(lambda: os.stat(path, follow_symlinks=follow), of=(OSError, ValueError), otherwise=None)
    return about and (about.st_mode, about.st_size, about.st_mtime_ns, about.st_ino)


def read_regular(path: str) -> bytes:
    """Read one of pflow's own files. Raises OSError, also for a pipe, a device or a directory."""
    with open(open_regular(path), "rb", buffering=0) as file:
        return file.read()


def file_digest(path: str | bytes) -> str:
    """Return the SHA-256, in hex, of a file's content. Raises OSError, EINVAL if the file is not regular."""
    from pflow.values.digest import hasher_for  # a plain stage digests nothing

    with Opened(open_regular(path)) as fd:
        digest = hasher_for(os.fstat(fd).st_size)()
        while chunk := os.read(fd, _LARGE_PART):
            digest.update(chunk)
        return str(digest.hexdigest())


def file_stamp(status: os.stat_result, now: int) -> str:
    """Return a stamp that changes with the file; empty if the file changed so shortly before `now` (nanoseconds) that
    another change might not show.
    """
    if status.st_ctime_ns > now - _MOMENT:
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def read_to_end(fd: int, act: str) -> bytes:
    """Read a descriptor to its end. `act` begins the message, such as "cannot read stdin".

    Raises PflowError (65) for more than the limit, OSError and MemoryError.
    """
    size = os.fstat(fd).st_size
    check_size(size, act)
    data = BytesIO()  # a list of parts would need twice the memory to join them
    while part := read_part(fd, _LARGE_PART if size > _PART else _PART):
        data.write(part)
        check_size(data.tell(), act)
    return data.getvalue()


def read_part(fd: int, size: int) -> bytes:
    """Read up to `size` bytes, as many as are there; wait for the first one. Raises OSError."""
    try:
        return os.read(fd, size)
    except BlockingIOError:  # another process that shares this pipe made it non-blocking
        import select

        select.select([fd], [], [])
        return read_part(fd, size)


def check_size(size: int, act: str) -> None:
    """Raise PflowError (65) if one input has more bytes than the limit."""
    if size > _most:
        hint = "--max-input=BYTES takes more"
        raise PflowError(f"{act}: it has more than {_most:,} bytes", hint=hint, exit=BAD_DATA)


def check_unpacked(size: int, unpacked: int, act: str) -> None:
    """Raise PflowError (65) for a bomb: data far larger than its packed `size`, or than the limit set by the user."""
    if _most != MOST_INPUT:
        check_size(unpacked, act)
    elif unpacked > max(_PLAIN, size * _DENSEST):
        hint = "--max-input=BYTES allows so many, if you trust it"
        raise PflowError(f"{act}: it unpacks to more than {_DENSEST} times its size", hint=hint, exit=BAD_DATA)
