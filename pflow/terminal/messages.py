"""All text on stderr, with its secrets masked: pflow's own messages, and what libraries and nodes print.

pflow writes to the descriptor. Logs, warnings, and the exceptions of threads, of destructors and of asyncio go to
`sys.stderr`, which ForeignText replaces: it leaves out the frames of tracebacks.
"""

from __future__ import annotations

import _thread
import os
import sys

from pflow import Any, Iterable
from pflow.errors import Ignoring, PflowError, shorten
from pflow.text.printable import harmless

is_quiet = False
"""True under -q: messages that are only good to know are not printed."""

unfinished = 0
"""The descriptor on which the streamed parts of an answer stopped within a line; 0 if there is none."""

is_drawn = False
"""True while the last line on the terminal is a line of progress, which is drawn again and again."""


def be_quiet(quiet: bool) -> None:
    global is_quiet
    is_quiet = quiet


def note_output(fd: int, data: bytes = b"\n") -> None:
    """Note the last output: if it stops within a line, the next message on the same terminal begins a new line."""
    global unfinished
    unfinished = 0 if data.endswith(b"\n") else fd


def say(program: str, text: str) -> None:
    """Print `program: text` as one line."""
    _say("heading", program, text)


def say_error(program: str, error: PflowError, *, debug: bool = False) -> None:
    """Print an error and its hint as one line; with `debug`, the frames that led to it come first."""
    if debug:
        write_line(_frames(error).rstrip("\n"))
    _say("fault", program, error_text(error))


def error_text(error: PflowError) -> str:
    """Join an error and its hint: `cannot read 'x'; do this instead`, or after a question `is it so? yes, so`."""
    if not error.hint:
        return error.message
    return f"{error.message}{' ' if error.message.endswith('?') else '; '}{error.hint}"


def write_stderr(text: str | bytes) -> None:
    """Write a text in place of a drawn line. Ignore errors: if nobody reads stderr, the exit code must tell."""
    global unfinished, is_drawn
    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    unfinished = 0 if data.endswith(b"\n") and _break() else unfinished
    with Ignoring(OSError):
        os.write(2, b"\r\x1b[K" * is_drawn + for_terminal(2, data))
    is_drawn = False


def write_line(text: str) -> None:
    """Write a line to stderr, on a line of its own."""
    write_stderr(f"{_break()}{text}\n")


def draw_line(text: str, number: str = "") -> None:
    """Draw the last line of the terminal, which the next text replaces; cut, since a wrapped line cannot be cleared."""
    from pflow.terminal.columns import colour_of, stderr_width

    global unfinished, is_drawn
    text, begin = shorten(text, max(stderr_width() - len(number) - 2, 1)), _break()
    write_stderr(begin + (f"{colour_of(2).dim(number)} {text}" if number else text))
    unfinished, is_drawn = 0 if begin else unfinished, True


def clear_line() -> None:
    """Clear a drawn line before a text that is not a message, such as an answer, is shown."""
    if is_drawn:
        write_stderr("")


def for_terminal(fd: int, data: bytes, *, is_data: bool = False) -> bytes:
    """Return data for a descriptor: unchanged, or harmless if it is a terminal, which no text may control."""
    if not os.isatty(fd):
        return data
    return harmless(data.decode("utf-8", "surrogateescape"), is_data=is_data).encode("utf-8", "surrogateescape")


def _break() -> str:
    """Return the line break that a message needs after a part of an answer on the same terminal, else ""."""
    is_shared = unfinished and os.isatty(2) and os.fstat(unfinished).st_rdev == os.fstat(2).st_rdev
    return "\n" if is_shared else ""


def _say(paint: str, program: str, text: str) -> None:
    try:
        from pflow.terminal.columns import colour_of
        from pflow.text.printable import message_line
    except OSError:  # an import takes a descriptor, and that none is left may be the very message
        write_stderr(f"{program}: {ascii(text)[1:-1]}\n")
        return
    painted = getattr(colour_of(2), paint)(f"{program}:")
    write_line(f"{painted} {message_line(text)}")


def _frames(error: BaseException) -> str:
    """Format the frames of an error and of its causes, without their messages, which may contain secrets."""
    import traceback

    text = ""
    link: BaseException | None = error
    while link is not None:
        text = "".join(traceback.format_tb(link.__traceback__)) + type(link).__name__ + "\n" + text
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "Traceback (most recent call last):\n" + text


_BETWEEN = ("During handling of the above", "The above exception was the direct cause")
_LONGEST = 8192


def filter_stderr() -> None:
    """Pass all that is printed on `sys.stderr` from now on through a ForeignText."""
    if sys.stderr is not None and not isinstance(sys.stderr, ForeignText):
        sys.stderr = ForeignText(sys.stderr)


def silence(*names: str) -> None:
    """Drop the logs of these libraries: an error or an event of ours says the same."""
    import logging

    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


class ForeignText(_thread._local):
    """A stream of lines: each thread writes lines of its own. With --debug among the command's words, frames stay."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._rest = ""
        self._environment: dict[str, str] = {}
        self._in_traceback = self._after_traceback = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __enter__(self) -> ForeignText:
        return self

    def __exit__(self, *error: object) -> None:
        """Write what is left; stderr stays open for others."""
        self.flush()

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        self._write("".join([line + "\n" for line in lines if self._is_shown(line)]))
        if "\r" in self._rest or len(self._rest) > _LONGEST:  # where a TextIOWrapper of Python flushes too
            self.flush()
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def flush(self) -> None:
        """Write a line that is not ended, such as a question or a bar of progress."""
        if not (self._in_traceback and self._rest[:1] == " "):
            self._write(self._rest)
            self._rest = ""
        self._stream.flush()

    def _is_shown(self, line: str) -> bool:
        """Return False for the frames of a traceback, and for the lines between two of them."""
        if "--debug" in sys.argv:
            return True
        if "Traceback (most recent call last):" in line:
            self._in_traceback = True
            return False
        if self._in_traceback and line[:1] in ("", " "):
            return False
        if self._after_traceback and (not line or line.startswith(_BETWEEN)):
            return False
        self._in_traceback, self._after_traceback = False, self._in_traceback
        return True

    def _write(self, text: str) -> None:
        if not text:
            return
        from pflow.values.secrets import all_secrets, mask_logins, of_environment

        if (environment := dict(os.environ)) != self._environment:
            self._environment = environment
            all_secrets.add(of_environment())
        masked = mask_logins(all_secrets.mask(text))
        self._stream.write(harmless(masked) if os.isatty(2) else masked)
