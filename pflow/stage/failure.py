"""Saying that a stage failed: one line on stderr, an error document on stdout."""

from __future__ import annotations

import os

from pflow.errors import BAD_DATA, BUG, PflowError, exit_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.stage.document import Document


def from_node(name: str, error: BaseException) -> PflowError:
    """What a node raised, in words and with its exit code."""
    if isinstance(error, PflowError):
        return error
    if isinstance(error, SystemExit):
        return PflowError(f"cannot run {name}: it called exit({error.code})")
    if not isinstance(error, Exception):
        return PflowError(f"cannot run {name}: it raised {type(error).__name__}", hint="--debug shows where")
    if isinstance(error, OSError) and error.strerror:
        where = f" '{os.fsdecode(error.filename)}'" if isinstance(error.filename, str | bytes) else ""
        what = f"{error.strerror}{where}"
    else:
        what = f"{type(error).__name__}: {error}"
    return PflowError(f"cannot run {name}: {what}", hint="--debug shows where", exit=exit_code(error))


def from_bug(error: Exception) -> PflowError:
    """What pflow itself raised, in words: a bug, unless some data is nested more deeply than Python can follow."""
    if isinstance(error, RecursionError):
        return PflowError("cannot take a value that is nested so deeply", exit=BAD_DATA)
    what = f"{type(error).__name__}: {error}"
    return PflowError(f"a bug in pflow: {what}", hint="--debug shows where; please report it", exit=BUG)


def say(program: str, text: str, *, is_error: bool = False) -> None:
    """One line on stderr, whatever is in the text."""
    line = " ".join(text.split())
    line = "".join([sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line])
    write_stderr(f"{_painted(f'{program}:', is_error=is_error)} {line}\n")


def _painted(program: str, *, is_error: bool) -> str:
    """Who says it, in colour where stderr gets that."""
    from pflow.terminal.colour import colour_of

    colour = colour_of(2)
    return colour.fault(program) if is_error else colour.heading(program)


def write_stderr(text: str) -> None:
    try:
        os.write(2, text.encode("utf-8", "backslashreplace"))
    except OSError:
        pass  # nobody hears us: the exit code has to do


def say_error(program: str, error: PflowError, *, debug: bool) -> None:
    if debug:
        write_stderr(_frames(error))
    link = " " if error.message.endswith("?") else "; "
    say(program, f"{error.message}{link}{error.hint}" if error.hint else error.message, is_error=True)


def _frames(error: BaseException) -> str:
    """The way to an error and to each that led to it, without their words: those may hold secrets."""
    import traceback

    text = ""
    link: BaseException | None = error
    while link is not None:
        text = "".join(traceback.format_tb(link.__traceback__)) + type(link).__name__ + "\n" + text
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "Traceback (most recent call last):\n" + text


def mark_failed(document: Document, step: str, node: str, error: PflowError) -> None:
    """Turn a store into an error document: later stages pass it on and do nothing."""
    document.start()
    document.header["error"] = {"step": step, "node": node, "exit": error.exit, "message": sayable(error.message)}


def sayable(message: str) -> str:
    return message.encode("utf-8", "backslashreplace").decode()
