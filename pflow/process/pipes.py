"""What pipes need on either end: room for a large document, and patience where somebody made them non-blocking."""

from __future__ import annotations

import os
import stat

CHUNK = 1 << 20
"""Bytes that a pipe is asked to hold, and that are read at once."""


def enlarge(fd: int) -> None:
    """Let a pipe hold a megabyte, where the system allows it: fewer turns for a large document."""
    import fcntl

    try:
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, CHUNK)
    except (OSError, AttributeError):
        pass


def wait_to_read(fd: int) -> None:
    import select

    select.select([fd], [], [])


def wait_to_write(fd: int) -> None:
    import select

    select.select([], [fd], [])


def is_quiet(fd: int) -> bool:
    """Whether a read would have to wait for the command before this one."""
    import select

    return not select.select([fd], [], [], 0)[0]
