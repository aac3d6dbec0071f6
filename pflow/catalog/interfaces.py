"""A kind of node, and what its file says of itself: the interface, read and never run."""

from __future__ import annotations

import errno
import os
import stat

from pflow import TYPE_CHECKING
from pflow.errors import BAD_DATA, PflowError, exit_code, reason_of

if TYPE_CHECKING:
    from typing import Any

    from pflow.interface.interface import Interface

BUNDLED, TOOL, PYTHON, PROGRAM, FLOW = "bundled", "tool", "python", "program", "flow"

_SIZE = 4096
_MARKERS = ("#!", "#", "//!", "//", "/*", "*/", "*", "--", ";")
"""What begins a comment, in one language or another."""


class Kind:
    """A kind of node: its name, where it comes from, its file, and when asked for its interface, version and class.

    `origin` is BUNDLED (a node of pflow's), TOOL, PYTHON (a user's own class), PROGRAM (any executable) or FLOW. In a
    list `fault` says why it cannot be used, `behind` which file shadows it.
    """

    def __init__(self, name: str, origin: str, file: str) -> None:
        self.name = name
        self.origin = origin
        self.file = file
        self.fault = ""
        self.behind = ""
        self.status: os.stat_result | None = None
        """What the system said of its file when it was listed."""
        self.interpreter = ""
        """What a program asks to be run by, as far as its interface has been asked for."""
        self.code: Any = None
        """What its code is (pflow.cache.code), as far as that has been asked for."""
        self._class: Any = None
        self._interface: Interface | None = None
        self._version: str | None = None

    @property
    def interface(self) -> Interface:
        """What it reads, writes and takes. Raises PflowError (65) where its file does not say it rightly."""
        if self._interface is None:
            try:
                self._interface = self._read_interface()
            except OSError as error:
                why = f"cannot read the node '{self.file}': {reason_of(error)}"
                raise PflowError(why, exit=exit_code(error)) from None
        return self._interface

    def _read_interface(self) -> Interface:
        if self.origin == BUNDLED:
            from pflow.node import interface_of

            return interface_of(self.node_class())
        if self.origin == PYTHON:
            from pflow.interface.source import read_python

            return read_python(self.file)
        interface, self.interpreter = program_interface(self.file)
        return interface

    @property
    def version(self) -> str:
        if self._version is None:
            if self.origin in (BUNDLED, PYTHON):
                from pflow.interface.source import source_version

                self._version = source_version(self.file)
            else:
                self._version = self.interface.version or "1.0.0"
        return self._version

    def parts(self) -> list[Kind]:
        """The kinds that it is made of, where it is a flow."""
        return []

    def flags(self) -> dict[str, str]:
        """The flag of each read."""
        return {name: item.flag for name, item in self.interface.reads.items()}

    def node_class(self) -> Any:
        """The class of a node in Python, imported. Raises PflowError where it cannot be, or is no node (PF09)."""
        if self._class is None:
            from pflow.catalog import registry

            is_bundled = self.origin == BUNDLED
            self._class = registry.load_bundled(self.name) if is_bundled else registry.load_file(self.file, self.name)
        return self._class

    @property
    def is_loaded(self) -> bool:
        """Whether its class is there already."""
        return self._class is not None

    @property
    def interpreter_fault(self) -> str:
        """Why a program's interpreter cannot be had; empty where it can, and for what is no program."""
        return interpreter_fault(self.interpreter) if self.origin == PROGRAM and self.interface else ""


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
    from pflow.interface.grammar import parse_interface

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
    if name and name not in _can_run:
        folders = [""] if "/" in name else os.environ.get("PATH", "").split(os.pathsep)
        files = (os.path.join(folder, name) for folder in folders)
        if not any(os.path.isfile(file) and os.access(file, os.X_OK) for file in files):
            return f"its interpreter {name.removeprefix('./')!r} is missing"
        _can_run.add(name)
    return ""


_can_run: set[str] = set()
"""Interpreters that were looked for and found."""
