"""The node or flow that a step's `type` refers to, with the interface that its file declares.

Reading the interface never runs a user's file.
"""

from __future__ import annotations

import errno
import os
import stat

from pflow import Any
from pflow.catalog.registry import load_file
from pflow.errors import BAD_DATA, Attempt, PflowError, result_of
from pflow.files.reading import Opened, open_regular
from pflow.interface.interface import Interface

BUNDLED, STORE_COMMAND, PYTHON, PROGRAM, FLOW = "bundled", "tool", "python", "program", "flow"

_SIZE = 4096
_MARKERS = ("#!", "#", "//!", "//", "/*", "*/", "*", "--", ";")
"""The marks that begin a comment in various languages."""


class NodeType:
    """A node or flow that steps can name: its name, origin and file. Its interface and class are read when first used.

    `origin` is BUNDLED (comes with pflow), STORE_COMMAND, PYTHON (a user's own class), PROGRAM (any executable) or
    FLOW. In a list `fault` says why it cannot be used, `behind` names the file that shadows it.
    """

    def __init__(self, name: str, origin: str, file: str) -> None:
        self.name = name
        self.origin = origin
        self.file = file
        self.fault = ""
        self.behind = ""
        self.status: os.stat_result | None = None
        """The status of its file when it was listed."""
        self.interpreter = ""
        """The interpreter that a program asks for, set once its interface has been read."""
        self.class_fault = ""
        """Why no class in a user's own file can be the node, judging by the source.

        It is set once the interface has been read.
        """
        self.code: Any = None
        """Its code, set by pflow.cache.code when it is first needed."""
        self._pack: Any = ...
        self._class: Any = None
        self._interface: Interface | None = None
        self._version: str | None = None

    @property
    def pack(self) -> Any:
        """The pack that it belongs to (pflow.catalog.packs.Pack); None for pflow's nodes and a user's own."""
        if self._pack is ...:
            from pflow.catalog.packs import pack_of

            self._pack = pack_of(self.file) if self.file and self.origin not in (BUNDLED, STORE_COMMAND) else None
        return self._pack

    @property
    def interface(self) -> Interface:
        """Its reads, writes and params. Raises PflowError (65) if its file does not declare them correctly."""
        if self._interface is None:
            with Attempt(f"cannot read the node '{self.file}'"):
                self._interface = self._read_interface()
        return self._interface

    def forget_interface(self) -> None:
        """Drop its interface, so that a list of hundreds does not keep all of them; it is read again when needed."""
        self._interface = None

    def _read_interface(self) -> Interface:
        if self.origin == BUNDLED:
            from pflow.node import interface_of

            return interface_of(self.node_class())
        if self.pack is not None:
            from pflow.catalog.packs import verified

            verified(self.pack, self.file)
        if self.origin == PYTHON:
            from pflow.interface.source import read_python

            interface, self.class_fault = read_python(self.file)
            return interface
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

    def parts(self) -> list[NodeType]:
        """Return the node types of a flow's steps."""
        return []

    def help_interface(self) -> Interface:
        """Return the interface that lists and help show. A flow's has its flags and the defaults of its steps."""
        return self.interface

    def node_class(self) -> Any:
        """Import the class of a node in Python. Raises PflowError if that fails, or the class is not a node (PF09).

        For a node of a pack, return a stand-in: its own class is imported only when it runs, confined.
        """
        if self._class is None:
            from pflow.node import load_bundled

            if self.pack is not None:
                from pflow.catalog.confinement import stand_in

                self._class = stand_in(self.pack, self.name, self.file)
            else:
                is_bundled = self.origin == BUNDLED
                self._class = load_bundled(self.name) if is_bundled else load_file(self.file, self.name)
        return self._class

    @property
    def waits(self) -> bool:
        """True if its node only waits for a server (Node.waits)."""
        return self.origin in (BUNDLED, PYTHON) and bool(getattr(self.node_class(), "waits", False))

    @property
    def is_loaded(self) -> bool:
        """True if its class has been imported."""
        return self._class is not None

    @property
    def interpreter_fault(self) -> str:
        """Why a program's interpreter cannot be used; "" if it can, and for other kinds of nodes."""
        return interpreter_fault(self.interpreter) if self.origin == PROGRAM and self.interface else ""


def has_interface(program: str) -> bool:
    """Return True if a program has an interface. A broken one counts too: the stage reports its fault."""
    from pflow.process.start import first_bytes

    if not os.path.isfile(program + ".interface") and b"Interface:" not in first_bytes(program, _SIZE):
        return False  # most files on PATH return here, before the modules that read interfaces are loaded
    try:
        return not program_interface(program)[0].open
    except PflowError:
        return True
    except OSError:
        return False


def node_in(file: str) -> NodeType | None:
    """Return the node in a program's file in any directory; None for any other file, such as a flow's."""
    if file.endswith((".json", ".py", ".sh")) or not os.path.isfile(file) or not has_interface(file):
        return None
    return NodeType(os.path.basename(file).removeprefix("pflow-"), PROGRAM, os.path.abspath(file))


def program_interface(file: str) -> tuple[Interface, str]:
    """Return a program's interface and the interpreter that it asks for. Raises PflowError (65), OSError."""
    from pflow.catalog.packs import pack_of, verified

    beside = file + ".interface"
    pack = pack_of(os.path.abspath(file))
    is_beside = os.path.isfile(beside)
    if pack is not None and (is_beside or pack.digest_of(beside)):
        verified(pack, os.path.abspath(beside))
    if is_beside:
        text, _ = result_of(read_header, file, otherwise=("", False))  # a program may be executable but not readable
        return _parse(beside, *read_header(beside)), interpreter(text)
    text, is_cut = read_header(file)
    return _parse(file, text, is_cut), interpreter(text)


def _parse(file: str, text: str, is_cut: bool) -> Interface:
    from pflow.interface.grammar import parse_interface

    text = text.replace("\r\n", "\n")
    is_commented = not file.endswith(".interface") or text.lstrip().startswith(_MARKERS)
    bare = strip_comments(text) if is_commented else text
    if is_cut and bare.count("\n") == text.count("\n") and _is_unfinished(bare):
        raise PflowError(f"cannot read the interface in '{file}': it exceeds the first 4 KiB", exit=BAD_DATA)
    return parse_interface(bare, file=file, first_line=1)


def strip_comments(text: str) -> str:
    """Return a script's leading comments without their markers, line for line."""
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
    """Return a comment's text. The marker may be repeated, except a dash, which may begin the text."""
    if marker in ("", "/*", "*/", "*"):
        line = line.removesuffix("*/")
    text = line.removeprefix(marker)
    if marker in ("#", "//", ";", "/*", "*"):
        text = text.lstrip(marker[-1])
    return text.strip()


def _is_unfinished(text: str) -> bool:
    lines = [line.strip() for line in text.split("\n")]
    return "Interface:" in lines and "" not in lines[lines.index("Interface:") :]


def read_header(file: str) -> tuple[str, bool]:
    """Read the beginning of a regular file; return it, and True if there is more. Raises OSError for other files."""
    if not stat.S_ISREG(os.stat(file).st_mode):  # opening a device can block, or act on it
        raise OSError(errno.EINVAL, "it is not a file")
    with Opened(open_regular(file)) as fd:  # it checks again: the name may lead to another file by now
        data = os.read(fd, _SIZE + 1)
    is_cut = len(data) > _SIZE
    if is_cut:
        data = data[:_SIZE].rpartition(b"\n")[0]
    return str(data.removeprefix(b"\xef\xbb\xbf"), "utf-8", "replace"), is_cut


def interpreter(text: str) -> str:
    """Return the interpreter in a script's #! line: a path, or with env the name of a program; "" if unknown."""
    if not text.startswith("#!"):
        return ""
    line = text[2:].partition("\n")[0].replace("\t", " ")
    words = [word for word in line.split(" ") if word]  # a \r is part of the name, as it is for the kernel
    if len(words) > 1 and os.path.basename(words[0]) == "env":
        rest = words[2:] if words[1] in ("-S", "-i") else words[1:]
        return next((word for word in rest if "=" not in word), "") if not "".join(rest).startswith("-") else ""
    return os.path.join(".", words[0]) if words else ""


MISSING = "its interpreter"
"""How the fault of a missing interpreter begins.

It is the only fault that can be fixed without changing the node: install the interpreter.
"""


def interpreter_fault(name: str) -> str:
    """Say why an interpreter cannot be used; empty if it can."""
    if name and name not in _can_run:
        folders = [""] if "/" in name else os.environ.get("PATH", "").split(os.pathsep)
        files = (os.path.join(folder, name) for folder in folders)
        if not any(os.path.isfile(file) and os.access(file, os.X_OK) for file in files):
            return f"{MISSING} {name.removeprefix('./')!r} is missing"
        _can_run.add(name)
    return ""


_can_run: set[str] = set()
"""The interpreters that were found to be usable."""
