"""Writing to stdout: whole, in any size, and silent when nobody reads any more."""

from __future__ import annotations

import os

from pflow.errors import CANNOT_WRITE, PflowError
from pflow.process.pipes import enlarge, wait_to_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Piece = bytes | memoryview

_AT_ONCE = 1000
_SMALL = 1 << 18


begun: set[int] = set()
"""The descriptors that something was written to, or was tried to be."""


class ClosedPipe(Exception):
    """The reader of our stdout has gone."""


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
