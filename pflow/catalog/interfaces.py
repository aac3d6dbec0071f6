"""What programs say of themselves: the interface in their leading comments, read and never run."""

from __future__ import annotations

import errno
import os
import stat

from pflow import TYPE_CHECKING
from pflow.errors import BAD_DATA, PflowError

if TYPE_CHECKING:
    from pflow.interface import Interface

_SIZE = 4096
_MARKERS = ("#!", "#", "//!", "//", "/*", "*/", "*", "--", ";")
"""What begins a comment, in one language or another."""


def program_interface(file: str) -> tuple[Interface, str]:
    """A program's interface, and the interpreter that it asks for.

    Raises PflowError (65) for one that does not parse, OSError for a file that cannot be read.
    """
    beside = file + ".interface"
    if os.path.isfile(beside):
        return _parse(beside, *read_header(beside)), _interpreter_of_binary(file)
    text, is_cut = read_header(file)
    return _parse(file, text, is_cut), interpreter(text)


def _interpreter_of_binary(file: str) -> str:
    """A program that has its interface beside it may be one that can be run and not read."""
    try:
        return interpreter(read_header(file)[0])
    except OSError:
        return ""


def _parse(file: str, text: str, is_cut: bool) -> Interface:
    from pflow.grammar import parse_interface

    text = text.replace("\r\n", "\n")
    is_commented = not file.endswith(".interface") or text.lstrip().startswith(_MARKERS)
    bare = strip_comments(text) if is_commented else text
    if is_cut and bare.count("\n") == text.count("\n") and _is_unfinished(bare):
        raise PflowError(f"cannot read the interface in '{file}': it goes past the first 4 KiB", exit=BAD_DATA)
    return parse_interface(bare, file=file, first_line=1)


def strip_comments(text: str) -> str:
    """A script's leading comments without their markers, line for line."""
    lines = []
    inside = False
    for line in text.split("\n"):
        bare = line.strip()
        marker = next((marker for marker in _MARKERS if bare.startswith(marker)), "")
        if bare and not marker and not inside:
            break
        inside = (inside or marker == "/*") and "*/" not in bare
        lines.append("" if marker == "#!" else _without_marker(bare, marker))
    return "\n".join(lines)


def _without_marker(line: str, marker: str) -> str:
    """A comment's text. Its marker may be repeated, but a dash may begin the text."""
    if marker in ("", "/*", "*/", "*"):
        line = line.removesuffix("*/")
    text = line.removeprefix(marker)
    if marker in ("#", "//", ";", "/*", "*"):
        text = text.lstrip(marker[-1])
    return text.strip()


def _is_unfinished(text: str) -> bool:
    """Whether an interface begins here and does not end."""
    lines = [line.strip() for line in text.split("\n")]
    return "Interface:" in lines and "" not in lines[lines.index("Interface:") :]


def read_header(file: str) -> tuple[str, bool]:
    """How a file begins, and whether there is more. Raises OSError for anything but a regular file, unopened."""
    _check_regular(os.stat(file).st_mode)
    fd = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        _check_regular(os.fstat(fd).st_mode)  # what the name stands for may have changed
        data = os.read(fd, _SIZE + 1)
    finally:
        os.close(fd)
    is_cut = len(data) > _SIZE
    if is_cut:
        data = data[:_SIZE].rpartition(b"\n")[0]
    return str(data.removeprefix(b"\xef\xbb\xbf"), "utf-8", "replace"), is_cut


def _check_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no file")


def interpreter(text: str) -> str:
    """What a script's #! asks for: a path, or with env the name of a program; empty where that is not known."""
    if not text.startswith("#!"):
        return ""
    line = text[2:].partition("\n")[0].replace("\t", " ")
    words = [word for word in line.split(" ") if word]  # a \r is a part of the name, as the system has it
    if len(words) > 1 and os.path.basename(words[0]) == "env":
        rest = words[2:] if words[1] in ("-S", "-i") else words[1:]
        return next((word for word in rest if "=" not in word), "") if not "".join(rest).startswith("-") else ""
    return os.path.join(".", words[0]) if words else ""


def interpreter_fault(name: str) -> str:
    """Why an interpreter cannot be had; empty where it can."""
    if not name or name in _can_run:
        return ""
    folders = [""] if "/" in name else os.environ.get("PATH", "").split(os.pathsep)
    if any(_can_be_run(os.path.join(folder, name)) for folder in folders):
        _can_run.add(name)
        return ""
    if name.endswith("\r"):
        return "its first line ends in a carriage return, as on Windows"
    return f"its interpreter '{name.removeprefix('./')}' is not there"


_can_run: set[str] = set()
"""Interpreters that were looked for and found."""


def _can_be_run(file: str) -> bool:
    return os.path.isfile(file) and os.access(file, os.X_OK)
