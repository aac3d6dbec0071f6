"""What stands on stdin, whether a stage may read it, and reading it to its end."""

from __future__ import annotations

import os
import stat

from pflow.errors import BAD_STDIN, PflowError
from pflow.process.pipes import CHUNK, enlarge, wait_to_read
from pflow.process.signals import call_after, stop_timer
from pflow.terminal.messages import write_stderr

_PIPE = 1 << 16
_NULL = os.makedev(1, 3)
_PATIENCE = 10


def is_readable(source: str = "auto") -> bool:
    """Whether stdin is input for this stage: not a terminal, not closed, not in the middle of somebody's file.

    A `source` other than auto (`--from`) takes a file at any offset. Raises PflowError (64) for a directory.
    """
    try:
        status = os.fstat(0)
    except OSError:
        return False
    if stat.S_ISDIR(status.st_mode):
        raise PflowError("cannot read stdin: it is a directory", exit=BAD_STDIN)
    if stat.S_ISCHR(status.st_mode):
        return status.st_rdev != _NULL and not os.isatty(0)
    if stat.S_ISREG(status.st_mode):
        return source != "auto" or os.lseek(0, 0, os.SEEK_CUR) == 0
    return True


def read_chunks() -> list[bytes]:
    """Stdin to its end, in chunks of up to a megabyte that are never joined; all but the last hold 64 KiB or more."""
    chunks: list[bytes] = []
    chunk = _first_chunk()
    while chunk:
        if len(chunk) >= _PIPE and len(chunks) == 1:
            enlarge(0)
        if chunks and len(chunks[-1]) < _PIPE:
            chunks[-1] += chunk
        else:
            chunks.append(chunk)
        chunk = _read(CHUNK)
    return chunks


def _first_chunk() -> bytes:
    """The first read; on a terminal's stderr, a word after ten seconds about what the stage is waiting for."""
    if not os.isatty(2):
        return _read(_PIPE)
    call_after(_PATIENCE, _say_waiting)
    try:
        return _read(_PIPE)
    finally:
        stop_timer()


def _read(size: int) -> bytes:
    try:
        return os.read(0, size)
    except BlockingIOError:  # another process that shares this pipe made it so
        wait_to_read(0)
        return _read(size)
    except OSError as error:
        raise PflowError(f"cannot read stdin: {error.strerror}", exit=BAD_STDIN) from None


def _say_waiting() -> None:
    write_stderr("waiting for stdin (-n if this step takes none)\n")
