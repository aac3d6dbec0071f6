"""All text on stderr, with its secrets masked: pflow's own messages, and the output of libraries and nodes.

pflow writes its messages to the descriptor. Logs, warnings, and exceptions in threads, destructors and asyncio go to
`sys.stderr`, which is replaced by a ForeignText: that leaves out the frames of tracebacks.
"""

from __future__ import annotations

import _thread
import os
import sys

from pflow import Any, Iterable
from pflow.errors import Ignoring, PflowError, shorten
from pflow.text.printable import harmless

is_quiet = False
"""True with -q: messages that only inform are not printed."""

unfinished = 0
"""The descriptor on which an answer, streamed in parts, has stopped within a line; 0 if there is none."""

is_drawn = False
"""True while the last line on the terminal shows progress and will be drawn over."""


def be_quiet(quiet: bool) -> None:
    global is_quiet
    is_quiet = quiet


def note_output(fd: int, data: bytes = b"\n") -> None:
    """Note the end of an output: if it is not the end of a line, the next message on that terminal begins a new one."""
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
    """Write a text in place of a drawn line. Ignore errors: without stderr, only the exit code can report."""
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
    """Draw the terminal's last line, which the next text replaces. It is cut: a wrapped line cannot be cleared."""
    from pflow.terminal.columns import colour_of, stderr_width

    global unfinished, is_drawn
    text, begin = shorten(text, max(stderr_width() - len(number) - 2, 1)), _break()
    write_stderr(begin + (f"{colour_of(2).dim(number)} {text}" if number else text))
    unfinished, is_drawn = 0 if begin else unfinished, True


def clear_line() -> None:
    """Clear a drawn line, so that a text which is not a message can be shown, such as an answer."""
    if is_drawn:
        write_stderr("")


def for_terminal(fd: int, data: bytes, *, is_data: bool = False) -> bytes:
    """Return data to write to a descriptor. For a terminal, make it harmless: no text may control the terminal."""
    if not os.isatty(fd):
        return data
    return harmless(data.decode("utf-8", "surrogateescape"), is_data=is_data).encode("utf-8", "surrogateescape")


def _break() -> str:
    """Return the line break before a message, if an answer on the same terminal has stopped within a line; else ""."""
    is_shared = unfinished and os.isatty(2) and os.fstat(unfinished).st_rdev == os.fstat(2).st_rdev
    return "\n" if is_shared else ""


def _say(paint: str, program: str, text: str) -> None:
    try:
        from pflow.terminal.columns import colour_of
        from pflow.text.printable import message_line
    except OSError:  # importing needs a descriptor; the message may be that there is none left
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
    """Replace `sys.stderr` by a ForeignText."""
    if sys.stderr is not None and not isinstance(sys.stderr, ForeignText):
        sys.stderr = ForeignText(sys.stderr)


def silence(*names: str) -> None:
    """Drop the logs of these libraries, since our errors or events say the same."""
    import logging

    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


class ForeignText(_thread._local):
    """A stream that masks secrets and leaves out the frames of tracebacks, unless --debug is in the command line.

    It works line by line, and each thread has lines of its own.
    """

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
        """Write the unfinished line; stderr stays open for others."""
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
        """Write the unfinished line, such as a question or a progress bar."""
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
