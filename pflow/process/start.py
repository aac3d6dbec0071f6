"""Starting a program, and in words why one does not start."""

from __future__ import annotations

import errno
import os

from pflow import TYPE_CHECKING
from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, PflowError, exit_code, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

NODE = "PFLOW_NODE"
"""In what a program finds its own name when it is run as a node's body. Run in any other way, it hands itself to pflow:
`[ "${PFLOW_NODE-}" = shout ] || exec pflow "$0" "$@"; unset PFLOW_NODE`, its guard.
"""


def start_program(file: str, start: Callable[[list[str]], T]) -> T:
    """Call `start` with the words that run a file: itself, or /bin/sh and it where it is a script without a #!.

    Raises PflowError: 77 where it may not be run, 78 where what it needs is missing.
    """
    try:
        try:
            return start([file])
        except OSError as error:
            if error.errno != errno.ENOEXEC or b"\0" in beginning(file):
                raise
            return start(["/bin/sh", file])
    except OSError as error:
        raise _not_started(file, error) from None


def pass_guard(file: str, name: str) -> None:
    """Let a program without an interface pass its guard, which would send it back to us without end."""
    if NODE.encode() in beginning(file, 1 << 26):  # in a compiled one it stands anywhere
        refuse_itself(name)
        os.environ[NODE] = name


def refuse_itself(name: str) -> None:
    """Raise PflowError (78) where a program that is run as a node's body asks for itself, and would without end."""
    if os.environ.get(NODE) == name:
        hint = f"its guard asks whether {NODE} is '{name}', and then unsets it"
        raise PflowError(f"cannot run {name} inside itself", hint=hint, exit=BAD_CONFIG)


def _not_started(file: str, error: OSError) -> PflowError:
    what, hint, exit = reason_of(error), "", exit_code(error)
    if error.errno == errno.ENOENT and os.path.isfile(file):
        interpreter = os.fsdecode(beginning(file).partition(b"\n")[0].removeprefix(b"#!").strip())
        what, hint, exit = f"its interpreter '{interpreter}' is not there", "install it", BAD_CONFIG
    elif error.errno == errno.ENOEXEC:
        what, exit = "it is no program for this machine", BAD_CONFIG
    elif error.errno == errno.EACCES:
        hint, exit = "chmod +x makes it a program", DENIED
    elif error.errno == errno.E2BIG:
        what, hint, exit = "its flags are too long", "a read may be of any size", BAD_DATA
    return PflowError(f"cannot run '{file}': {what}", hint=hint, exit=exit)


def beginning(file: str, size: int = 256) -> bytes:
    try:
        with open(file, "rb") as program:
            return program.read(size)
    except OSError:
        return b""
