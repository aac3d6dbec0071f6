"""Messages on stderr: the one place that prints errors and warnings."""

import os

from pflow.errors import Ignoring, PflowError

is_quiet = False
"""True under -q: what is merely good to know is not said."""

unfinished = 0
"""The descriptor on which the parts of an answer end within a line; 0 if there is none."""


def be_quiet(quiet: bool) -> None:
    global is_quiet
    is_quiet = quiet


def note_output(fd: int, data: bytes = b"\n") -> None:
    """Note what was written last as output: unless it ends a line, a message on the same terminal begins a new one."""
    global unfinished
    unfinished = 0 if data.endswith(b"\n") else fd


def say(program: str, text: str) -> None:
    """Print `program: text` as one line."""
    _say("heading", program, text)


def say_error(program: str, error: PflowError, *, debug: bool = False) -> None:
    """Print an error and its hint as one line; with `debug`, the frames that led to it come first."""
    if debug:
        write_stderr(_break() + _frames(error))
    _say("fault", program, error_text(error))


def error_text(error: PflowError) -> str:
    """Join an error and its hint: `cannot read 'x'; do this instead`, or after a question `is it so? yes, so`."""
    if not error.hint:
        return error.message
    return f"{error.message}{' ' if error.message.endswith('?') else '; '}{error.hint}"


def write_stderr(text: str | bytes) -> None:
    """Write a text; if nobody reads stderr, the exit code must do."""
    global unfinished
    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    unfinished = 0 if data.endswith(b"\n") and _break() else unfinished
    with Ignoring(OSError):
        os.write(2, for_terminal(2, data))


def for_terminal(fd: int, data: bytes, *, is_data: bool = False) -> bytes:
    """Return what may be written to a descriptor: unchanged, unless it is a terminal, which no text may control."""
    if not os.isatty(fd):
        return data
    from pflow.words.printable import harmless

    return harmless(data.decode("utf-8", "surrogateescape"), is_data=is_data).encode("utf-8", "surrogateescape")


def _break() -> str:
    """Return the line break that a message needs after a part of an answer on the same terminal, else ""."""
    is_shared = unfinished and os.isatty(2) and os.fstat(unfinished).st_rdev == os.fstat(2).st_rdev
    return "\n" if is_shared else ""


def _say(paint: str, program: str, text: str) -> None:
    try:
        from pflow.terminal.columns import colour_of
        from pflow.words.printable import on_one_line
    except OSError:  # no descriptor is left for a module
        write_stderr(f"{program}: {ascii(text)[1:-1]}\n")
        return
    painted = getattr(colour_of(2), paint)(f"{program}:")
    write_stderr(f"{_break()}{painted} {on_one_line(text)}\n")


def _frames(error: BaseException) -> str:
    """Format the frames of an error and of its causes, without their messages, which may contain secrets."""
    import traceback

    text = ""
    link: BaseException | None = error
    while link is not None:
        text = "".join(traceback.format_tb(link.__traceback__)) + type(link).__name__ + "\n" + text
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "Traceback (most recent call last):\n" + text
