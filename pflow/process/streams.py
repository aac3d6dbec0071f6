"""Stdin and stdout: whether a stage may read, reading to the end, and writing whole."""

from __future__ import annotations

import os
import stat

from pflow import TYPE_CHECKING
from pflow.errors import BAD_STDIN, CANNOT_WRITE, PflowError
from pflow.process.signals import ClosedPipe, call_after, stop_timer
from pflow.terminal.messages import write_stderr

if TYPE_CHECKING:
    from typing import Any

    Piece = bytes | memoryview

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


_AT_ONCE = 1000
_SMALL = 1 << 18


begun: set[int] = set()
"""The descriptors that something was written to, or was tried to be."""


def secure_standard_files() -> list[int]:
    """Put /dev/null where stdin, stdout or stderr is closed, so that no file that is opened later takes its place.

    Returns which of 0, 1 and 2 were closed.
    """
    closed = []
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR if fd else os.O_RDONLY)
            closed.append(fd)
    return closed


def divert_prints() -> int:
    """Send whatever prints to stdout from here on to stderr, children too. Returns the real stdout's descriptor."""
    saved = os.dup(1)
    os.dup2(2, 1)
    return saved


class Diverted:
    """A while in which what a library prints goes to stderr: `with Diverted():`."""

    def __enter__(self) -> None:
        self._stdout = divert_prints()

    def __exit__(self, *error: object) -> None:
        os.dup2(self._stdout, 1)
        os.close(self._stdout)


def write_pieces(fd: int, pieces: list[Piece]) -> None:
    """Write all of it. Raises ClosedPipe, or PflowError (73)."""
    begun.add(fd)
    if sum(map(len, pieces)) <= _SMALL:
        pieces = [b"".join(pieces)]
    else:
        enlarge(fd)
    pending = [piece for piece in pieces if piece][::-1]
    while pending:
        batch = pending[: -_AT_ONCE - 1 : -1]
        _drop(pending, _write(fd, batch))


def _write(fd: int, batch: list[Piece]) -> int:
    try:
        return os.writev(fd, batch)
    except BrokenPipeError:
        raise ClosedPipe from None
    except BlockingIOError:  # another process that shares this pipe made it so
        wait_to_write(fd)
        return 0
    except OSError as error:
        raise PflowError(f"cannot write to stdout: {error.strerror}", exit=CANNOT_WRITE) from None


def _drop(pending: list[Piece], written: int) -> None:
    """Take what was written off the end of the pieces that stand there in reverse."""
    while written:
        piece = pending.pop()
        if len(piece) > written:
            pending.append(memoryview(piece)[written:])
            return
        written -= len(piece)


def as_it_is(value: Any) -> bytes:
    """A carried value for `--raw`: text and bytes exactly, anything else as one line of JSON."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    from pflow.jsontext import encode

    return encode(value) + b"\n"
