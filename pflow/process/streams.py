"""Stdin and stdout: whether a stage may read, reading to the end, and writing whole."""

from __future__ import annotations

import os
import stat
import sys
from io import FileIO

from pflow import TYPE_CHECKING
from pflow.errors import BAD_STDIN, CANNOT_WRITE, PflowError, no_memory, reason_of
from pflow.process.signals import ClosedPipe, call_after, stop_timer
from pflow.terminal.messages import write_stderr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Piece = bytes | memoryview


def wait_for(fd: int, *, to_write: bool = False, seconds: float | None = None) -> bool:
    """Wait until a descriptor can be read (written to), so long at most; whether it can."""
    import select

    return any(select.select([] if to_write else [fd], [fd] if to_write else [], [], seconds))


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


def read_all() -> bytes:
    """Stdin to its end. On a terminal's stderr, a word after ten seconds about what the stage is waiting for."""
    if os.isatty(2):
        call_after(_PATIENCE, _say_waiting)
        try:
            wait_for(0)
        finally:
            stop_timer()
    parts: list[bytes] = []
    try:
        stdin: Any = FileIO(0, closefd=False)
        while (part := stdin.readall()) != b"":
            if part is None:  # another process that shares this pipe made it non-blocking
                wait_for(0)
            else:
                parts.append(part)
    except OSError as error:
        raise PflowError(f"cannot read stdin: {reason_of(error)}", exit=BAD_STDIN) from None
    except MemoryError as error:
        raise no_memory("cannot read stdin", error, os.fstat(0).st_size) from error
    return b"".join(parts)


def _say_waiting() -> None:
    write_stderr("waiting for stdin (-n if this step takes none)\n")


_LARGE = 1 << 16

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


def flush_prints() -> None:
    """Write what was printed and is still kept back."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, AttributeError, ValueError):
            pass  # nobody reads it, or it was closed: from the start, or by a node


class Diverted:
    """A while in which what a library prints goes to stderr: `with Diverted():`."""

    def __enter__(self) -> None:
        self._stdout = divert_prints()

    def __exit__(self, *error: object) -> None:
        flush_prints()
        os.dup2(self._stdout, 1)
        os.close(self._stdout)


def write_pieces(fd: int, pieces: list[Piece]) -> None:
    """Write all of it. Raises ClosedPipe, or PflowError (73)."""
    begun.add(fd)
    for piece in _joined(pieces):
        rest = memoryview(piece)
        while rest:
            rest = rest[_write(fd, rest) :]


def _joined(pieces: list[Piece]) -> Iterator[Piece]:
    """The large pieces, and in one piece all that stand between two of them: fewer writes of many small members."""
    small: list[Piece] = []
    for piece in pieces:
        if len(piece) < _LARGE:
            small.append(piece)
        else:
            yield b"".join(small)
            yield piece
            small = []
    yield b"".join(small)


def _write(fd: int, data: memoryview) -> int:
    try:
        return os.write(fd, data)
    except BrokenPipeError:
        raise ClosedPipe from None
    except BlockingIOError:  # another process that shares this pipe made it so
        wait_for(fd, to_write=True)
        return 0
    except OSError as error:
        raise PflowError(f"cannot write to stdout: {reason_of(error)}", exit=CANNOT_WRITE) from None


def raw_form(value: Any, *, exact: bool = False) -> bytes:
    """A value for programs that are not pflow's: bytes as they are; a text, with a last newline unless it is empty or
    to be `exact`; anything else as one line of JSON.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return (value if exact or not value or value.endswith("\n") else value + "\n").encode()
    from pflow.values.jsontext import encode

    return encode(value) + b"\n"
