"""Stdin and stdout: detecting input, reading it to its end, and writing all of the output."""

from __future__ import annotations

import os
import stat
import sys

from pflow import TYPE_CHECKING, Any, Iterator
from pflow.errors import BAD_STDIN, CANNOT_WRITE, Ignoring, PflowError, no_memory, reason_of
from pflow.files.reading import read_to_end
from pflow.process.signals import ClosedPipe, Deadline
from pflow.terminal.messages import filter_stderr, for_terminal, say

if TYPE_CHECKING:
    Piece = bytes | memoryview


def wait_for(fd: int, *, to_write: bool = False, seconds: float | None = None) -> bool:
    """Wait up to `seconds` until a descriptor is readable, or writable; return True if it is."""
    import select

    return any(select.select([] if to_write else [fd], [fd] if to_write else [], [], seconds))


_NULL = os.makedev(1, 3)
_PATIENCE = 10.0
"""Seconds after which a stage says that nothing has come.

Under supervisord, ansible and ssh a pipe may stay open that is never written to, and no log shows that a stage waits.
"""


def is_readable(source: str = "auto") -> bool:
    """Return True if stdin is input for this stage: not a terminal, not closed, not a file that others read halfway.

    With a `source` other than auto (`--from`) the file may be at any offset. Raises PflowError (64) for a directory.
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


def read_all(limit: Deadline | None = None) -> bytes:
    """Read stdin to its end. If no byte comes for ten seconds, say once that the stage waits.

    The time limit restarts while another stage of pflow works on the input: that stage has a limit of its own.
    """
    act = "cannot read stdin"
    if not stat.S_ISREG(os.fstat(0).st_mode):  # a file has its bytes at once
        _wait_for_first_byte(limit)
    try:
        return read_to_end(0, act)
    except OSError as error:
        raise PflowError(f"{act}: {reason_of(error)}", exit=BAD_STDIN) from None
    except MemoryError as error:
        raise no_memory(act, error, os.fstat(0).st_size) from error


def _wait_for_first_byte(limit: Deadline | None) -> None:
    patience = [_PATIENCE]
    pauses = [limit.seconds / 2] if limit is not None and limit.seconds else []  # look in time to restart the limit
    while patience + pauses and not wait_for(0, seconds=min(patience + pauses)):
        from pflow.process.children import writers

        found = writers(0)
        if any("(pflow" in each for each in found):
            if limit is not None:
                limit.restart()
        elif patience and (not pauses or patience[0] <= pauses[0]):
            source = f" from {found[0]}" if found else ""
            say("pflow", f"waiting for stdin{source} (-n if this step needs no input)")
            patience = []


_LARGE = 1 << 16

written_to: set[int] = set()
"""The descriptors to which a write has begun, even if it failed: no error document may follow there."""


def secure_standard_files() -> list[int]:
    """Open /dev/null for closed standard descriptors: a file opened later would get their numbers, and be printed to.

    Return which of 0, 1 and 2 were closed. From here on, stderr is filtered (`filter_stderr`).
    """
    filter_stderr()
    closed = []
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR if fd else os.O_RDONLY)
            closed.append(fd)
    return closed


def closed_stdout(hint: str = "") -> PflowError:
    return PflowError("cannot write to stdout: it is closed", hint=hint, exit=CANNOT_WRITE)


def divert_prints() -> int:
    """Send what is printed to stdout from here on, by children too, to stderr; return the real stdout's descriptor.

    stdout carries the store alone, and libraries print what they like.
    """
    saved = os.dup(1)
    os.dup2(2, 1)
    return saved


def flush_prints() -> None:
    """Flush printed text that is still in buffers."""
    for stream in (sys.stdout, sys.stderr):
        with Ignoring(OSError, AttributeError, ValueError):  # its reader is gone, or it was closed
            stream.flush()


class Diverted:
    """A context in which a library's prints go to stderr: `with Diverted():`."""

    def __enter__(self) -> None:
        self._stdout = divert_prints()

    def __exit__(self, *error: object) -> None:
        flush_prints()
        os.dup2(self._stdout, 1)
        os.close(self._stdout)


def write_pieces(fd: int, pieces: list[Piece]) -> None:
    """Write all pieces. Raises ClosedPipe, or PflowError (73)."""
    written_to.add(fd)
    for piece in _joined(pieces):
        rest = memoryview(for_terminal(fd, bytes(piece), is_data=True) if os.isatty(fd) else piece)
        while rest:
            rest = rest[_write(fd, rest) :]


def _joined(pieces: list[Piece]) -> Iterator[Piece]:
    """Yield the large pieces, and the small ones between them joined, to save writes."""
    small: list[Piece] = []
    for piece in pieces:
        if len(piece) < _LARGE:
            small.append(piece)
        else:
            yield from (b"".join(small), piece)
            small = []
    yield b"".join(small)


def _write(fd: int, data: memoryview) -> int:
    try:
        return os.write(fd, data)
    except BrokenPipeError:
        raise ClosedPipe from None
    except BlockingIOError:  # another process made this pipe non-blocking
        wait_for(fd, to_write=True)
        return 0
    except OSError as error:
        raise PflowError(f"cannot write to stdout: {reason_of(error)}", exit=CANNOT_WRITE) from None


def raw_form(value: Any, *, exact: bool = False) -> bytes:
    """Encode a value for other programs: bytes unchanged; text with a final newline, unless it is empty or `exact`;
    anything else as one line of JSON.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return (value if exact or not value or value.endswith("\n") else value + "\n").encode()
    from pflow.values.jsontext import encode

    return encode(value) + b"\n"
