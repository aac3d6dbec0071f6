"""Starting a program, and the reason if it does not start."""

from __future__ import annotations

import errno
import os

from pflow import TYPE_CHECKING, Callable
from pflow.errors import BAD_CONFIG, BAD_DATA, DENIED, PflowError, exit_code, reason_of

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

NODE = "PFLOW_NODE"
"""The variable that holds a program's own name while it runs as a node's body. Run in any other way, the program hands
itself to pflow by its guard: `[ "${PFLOW_NODE-}" = shout ] || exec pflow "$0" "$@"; unset PFLOW_NODE`.
"""


def start_program(file: str, start: Callable[[list[str]], T]) -> T:
    """Call `start` with the words that run a file: the file, after /bin/sh if it is a script without a #!.

    Raises PflowError: 77 if it may not be run, 78 if its interpreter is missing.
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
    """Set the variable for the guard of a program without an interface, which would otherwise call us again forever."""
    if NODE.encode() in beginning(file, 1 << 26):  # in a compiled program it may be anywhere
        refuse_itself(name)
        os.environ[NODE] = name


def refuse_itself(name: str) -> None:
    """Raise PflowError (78) if a program that runs as a node's body calls itself again, which would never end."""
    if os.environ.get(NODE) == name:
        hint = f"its guard must compare {NODE} with '{name}', then unset it"
        raise PflowError(f"cannot run {name} inside itself", hint=hint, exit=BAD_CONFIG)


def _not_started(file: str, error: OSError) -> PflowError:
    what, hint, exit = reason_of(error), "", exit_code(error)
    if error.errno == errno.ENOENT and os.path.isfile(file):
        interpreter = os.fsdecode(beginning(file).partition(b"\n")[0].removeprefix(b"#!").strip())
        what, hint, exit = f"its interpreter '{interpreter}' is missing", "install it", BAD_CONFIG
    elif error.errno == errno.ENOEXEC:
        what, exit = "it is not a program for this machine", BAD_CONFIG
    elif error.errno == errno.EACCES:
        hint, exit = "chmod +x makes it a program", DENIED
    elif error.errno == errno.E2BIG:
        what, hint, exit = "its flags are too long", "a read may have any size", BAD_DATA
    return PflowError(f"cannot run '{file}': {what}", hint=hint, exit=exit)


def beginning(file: str, size: int = 256) -> bytes:
    try:
        with open(file, "rb") as program:
            return program.read(size)
    except OSError:
        return b""
