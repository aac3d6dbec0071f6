"""The node that is tested: the command that starts it, and the interface that it declares."""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass, field

from pflow.catalog.interfaces import program_interface
from pflow.catalog.kinds import BUNDLED, FLOW, find_kind, launcher, no_such_kind
from pflow.errors import BAD_DATA, DENIED, MISSING, NOT_FOUND, USAGE, PflowError, reason_of
from pflow.interface.interface import Interface
from pflow.interface.source import read_interface, source_version


@dataclass
class TestedNode:
    """A node's name, its file, and the command that starts it (`argv`).

    `fault` says why its interface cannot be read; then `interface` is an open one.
    """

    name: str
    file: str
    argv: list[str]
    interface: Interface = field(default_factory=Interface)
    version: str = ""
    fault: str = ""

    @property
    def is_program(self) -> bool:
        return not self.file.endswith(".py")


def find_node(path: str) -> TestedNode:
    """The node that a path or a bare name stands for.

    Raises PflowError: 66 for a missing file, 77 for one that is not executable, 65 for one that cannot be a node, 127
    for an unknown name.
    """
    node = _of_file(path) if _is_path(path) else _of_name(path)
    try:
        node.interface = program_interface(node.file)[0] if node.is_program else read_interface(node.file)
        node.version = node.interface.version or ("" if node.is_program else source_version(node.file))
    except PflowError as error:
        node.fault = error.message
    except OSError as error:
        node.fault = f"cannot read '{error.filename}': {reason_of(error)}"
    return node


def _is_path(path: str) -> bool:
    return "/" in path or (os.path.isfile(path) and (path.endswith(".py") or path.startswith("pflow-")))


def _of_name(name: str) -> TestedNode:
    kind = find_kind(name.removeprefix("pflow-")) if name else None
    if kind is None:
        error = no_such_kind(name)
        raise PflowError(error.message, hint=error.hint, exit=NOT_FOUND)
    if kind.origin == FLOW:
        raise PflowError(f"cannot test '{name}': it is a flow", hint=f"pflow check {name}", exit=USAGE)
    if kind.origin == BUNDLED:
        return TestedNode(kind.name, os.path.realpath(kind.file), [_executable(f"pflow-{kind.name}")])
    return _of_file(kind.file)


def _of_file(path: str) -> TestedNode:
    file = os.path.abspath(path)
    if not os.path.isfile(file):
        what = "it is not a regular file" if os.path.lexists(file) else "there is no such file"
        raise PflowError(f"cannot test '{path}': {what}", exit=MISSING)
    folder, base = os.path.split(path)
    if base.endswith(".py"):
        return TestedNode(base[:-3].replace("_", "-"), file, [_executable("pflow"), file])
    if not base.startswith("pflow-") or base == "pflow-":
        hint = shlex.join(["mv", path, os.path.join(folder, "pflow-" + base)])
        raise PflowError(
            f"cannot test '{path}': a program that is a node is called pflow-NAME", hint=hint, exit=BAD_DATA
        )
    if not os.access(file, os.X_OK):
        hint = shlex.join(["chmod", "+x", path])
        raise PflowError(f"cannot run '{path}': it is not executable", hint=hint, exit=DENIED)
    return TestedNode(base.removeprefix("pflow-"), file, [file])


def _executable(program: str) -> str:
    """One of pflow's own: beside the one that runs, else on PATH."""
    found = launcher(program) or shutil.which(program)
    if found is None:
        raise PflowError(f"cannot find the executable '{program}'", hint="install pflow", exit=NOT_FOUND)
    return found
