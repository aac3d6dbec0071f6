"""Reading to the end: in parts, so that signals and time limits are seen, and never more than the limit."""

from __future__ import annotations

import os
from io import BytesIO

from pflow.errors import BAD_DATA, PflowError

_PART, _LARGE_PART = 1 << 16, 1 << 20
_LARGE = 1 << 26
"""The size of a file that is read in parts: a signal waits until a smaller one is read."""

MOST_INPUT = 4_000_000_000
_most = MOST_INPUT


def limit_input(most: int) -> None:
    """Set how many bytes one input of this process may have (--max-input)."""
    global _most
    _most = most


def read_to_end(fd: int, act: str) -> bytes:
    """Read a descriptor to its end. `act` begins the message, such as "cannot read stdin".

    Raises PflowError (65) for more than the limit, OSError and MemoryError.
    """
    size = os.fstat(fd).st_size
    _check(size, act)
    whole = _read(fd, max(_PART, size + 1) if size < _LARGE else _PART)
    part = whole and _read(fd, _PART)
    if part:
        parts = BytesIO()  # which grows in place, and gives its bytes without a copy
        parts.write(whole)
        while part:
            _check(parts.tell() + len(part), act)
            parts.write(part)
            part = _read(fd, _PART if size < _LARGE else _LARGE_PART)
        return parts.getvalue()
    _check(len(whole), act)
    return whole


def _read(fd: int, size: int) -> bytes:
    try:
        return os.read(fd, size)
    except BlockingIOError:  # another process made this pipe non-blocking
        import select

        select.select([fd], [], [])
        return _read(fd, size)


def _check(size: int, act: str) -> None:
    if size > _most:
        hint = "--max-input=BYTES takes more"
        raise PflowError(f"{act}: it has more than {_most:,} bytes", hint=hint, exit=BAD_DATA)
