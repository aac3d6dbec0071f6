"""Kinds of nodes: what a step's type stands for, found by name, its interface read without running it."""

from __future__ import annotations

import os

from pflow.errors import BAD_DATA, PflowError, exit_code
from pflow.registry import bundled_names, own_directories
from pflow.source import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.interface import Interface

BUNDLED, PYTHON, PROGRAM, FLOW = "bundled", "python", "program", "flow"


class Kind:
    """A kind of node: its name, where it comes from, its file, and when asked for its interface, version and class.

    `origin` is BUNDLED (a node of pflow's), PYTHON (a user's own class), PROGRAM (any executable) or FLOW.
    """

    def __init__(self, name: str, origin: str, file: str) -> None:
        self.name = name
        self.origin = origin
        self.file = file
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
                raise PflowError(
                    f"cannot read the node '{self.file}': {error.strerror}", exit=exit_code(error)
                ) from None
        return self._interface

    def _read_interface(self) -> Interface:
        if self.origin == BUNDLED:
            from pflow.node import interface_of

            return interface_of(self.node_class())
        from pflow.source import read_interface

        if self.origin == PYTHON:
            return _open_where_prose(self.file)
        beside = self.file + ".interface"
        return read_interface(beside if os.path.isfile(beside) else self.file)

    @property
    def version(self) -> str:
        if self._version is None:
            if self.origin in (BUNDLED, PYTHON):
                from pflow.stage.main import source_version

                self._version = source_version(self.file)
            else:
                self._version = self.interface.version or "1.0.0"
        return self._version

    def node_class(self) -> Any:
        """The class of a node in Python, imported. Raises PflowError where it cannot be, or is no node (PF09)."""
        if self._class is None:
            from pflow import registry

            is_bundled = self.origin == BUNDLED
            self._class = registry.load_bundled(self.name) if is_bundled else registry.load_file(self.file, self.name)
        return self._class


def _open_where_prose(file: str) -> Interface:
    """The interface in a user's own file; an open one, with the fault, where it is prose or has another grammar."""
    from pflow.interface import Interface
    from pflow.source import read_interface

    try:
        return read_interface(file)
    except PflowError as error:
        if not error.message.startswith("cannot parse the interface"):
            raise
        interface = Interface()
        interface.fault = error.message
        return interface


_found: dict[str, Kind | None] = {}


def find_kind(type: str, directory: str = ".") -> Kind | None:
    """The kind of node that a type names, by the node's name or its class's name; None where there is none.

    `flow:NAME` and a path (`directory` is where a relative one begins) name a flow.
    """
    if is_flow_type(type):
        from pflow.flow.subflow import find_flow

        return find_flow(type, directory)
    if type not in _found:
        _found[type] = _find(type)
    return _found[type]


def is_flow_type(type: str) -> bool:
    return type.startswith("flow:") or "/" in type or type.endswith(".pflow.json")


def forget_kinds() -> None:
    """Look for every kind anew: the environment, or a file, has changed."""
    from pflow.flow.subflow import forget_plans

    _found.clear()
    forget_plans()


def _find(type: str) -> Kind | None:
    wanted = plain(type)
    if wanted and type.replace("-", "").replace("_", "").isalnum() and type.islower():
        bundled = _bundled(type.replace("_", "-"))
        if os.path.isfile(bundled.file):
            return bundled
    by_name = {plain(kind.name): kind for kind in reversed(list_kinds())}
    return by_name.get(wanted) or by_name.get(wanted.removesuffix("node"))


def _bundled(name: str) -> Kind:
    """The node of pflow's that has this name, if one has."""
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "nodes")
    return Kind(name, BUNDLED, os.path.join(folder, name.replace("-", "_") + ".py"))


def list_kinds() -> list[Kind]:
    """Every kind of node there is: pflow's own, the user's, the programs on PATH; the first of a name wins."""
    kinds = [_bundled(name) for name in bundled_names()]
    for directory in own_directories():
        kinds += _in_directory(directory, with_python=True)
    for directory in os.environ.get("PATH", "").split(os.pathsep):
        kinds += _in_directory(directory, with_python=False) if directory else []
    names = {f"pflow-{kind.name}" for kind in kinds if kind.origin == BUNDLED}
    names |= {"pflow-get", "pflow-set", "pflow-catch"}
    kinds = [kind for kind in kinds if kind.origin == BUNDLED or f"pflow-{kind.name}" not in names]
    return list({kind.name: kind for kind in reversed(kinds)}.values())[::-1]


def _in_directory(directory: str, *, with_python: bool) -> list[Kind]:
    try:
        files = sorted(os.listdir(directory))
    except OSError:
        return []
    kinds = []
    for file in files:
        path = os.path.join(directory, file)
        if with_python and file.endswith(".py") and not file.startswith("_") and os.path.isfile(path):
            kinds.append(Kind(file[:-3].replace("_", "-"), PYTHON, path))
        elif file.startswith("pflow-") and not file.endswith(".interface") and _is_program(path):
            kinds.append(Kind(file.removeprefix("pflow-"), PROGRAM, path))
    return kinds


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def no_such_kind(type: str) -> PflowError:
    import difflib

    near = difflib.get_close_matches(type, [kind.name for kind in list_kinds()], 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "pflow nodes lists them"
    return PflowError(f"cannot find the node '{type}'", hint=hint, exit=BAD_DATA)
