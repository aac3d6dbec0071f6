"""Kinds of nodes: what a step's type stands for, found by name, its interface read without running it."""

from __future__ import annotations

import sys

from pflow import TYPE_CHECKING
from pflow.catalog.discovery import BUNDLED, PROGRAM, PYTHON, TOOL, fault_of, find_node, list_nodes
from pflow.catalog.flows import is_flow_type, saved_flows
from pflow.errors import BAD_DATA, PflowError, exit_code
from pflow.naming import guess

if TYPE_CHECKING:
    from typing import Any

    from pflow.interface import Interface

__all__ = ["BUNDLED", "FLOW", "PROGRAM", "PYTHON", "Catalog", "Kind", "find_kind", "forget_kinds", "list_kinds"]

FLOW = "flow"


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
        if self.origin == PYTHON:
            from pflow.source import read_python

            return read_python(self.file)
        from pflow.catalog.interfaces import program_interface

        return program_interface(self.file)[0]

    @property
    def version(self) -> str:
        if self._version is None:
            if self.origin in (BUNDLED, PYTHON):
                from pflow.source import source_version

                self._version = source_version(self.file)
            else:
                self._version = self.interface.version or "1.0.0"
        return self._version

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


def interpreter_fault_of(kind: Kind) -> str:
    """Why a program's interpreter cannot be had; empty where it can, and for what is no program."""
    if kind.origin != PROGRAM:
        return ""
    from pflow.catalog.interfaces import interpreter_fault, program_interface

    return interpreter_fault(program_interface(kind.file)[1])


class Catalog:
    """Finds the kind of node that a step's type names: nodes only; pflow.flow.subflow has one that finds flows too.

    `directory` is where the relative paths of files begin.
    """

    def __init__(self, directory: str = ".") -> None:
        self.directory = directory

    def at(self, directory: str) -> Catalog:
        """The same catalog for a flow in another directory."""
        return Catalog(directory)

    def find(self, type: str) -> Kind | None:
        """The kind that a type names; None where there is none."""
        return find_kind(type)


_found: dict[str, Kind | None] = {}


def find_kind(type: str) -> Kind | None:
    """The node that a name, or its class's name, means; None where there is none."""
    if type not in _found:
        _found[type] = _find(type)
    return _found[type]


def forget_kinds() -> None:
    """Look for every node anew: the environment, or a file, has changed."""
    _found.clear()


def add_class(name: str, node: Any) -> None:
    """Let a name stand for a class of this process, whatever else has it."""
    from pflow.node import interface_of, version_of

    kind = Kind(name, PYTHON, getattr(sys.modules.get(node.__module__), "__file__", None) or "")
    kind._class, kind._interface, kind._version = node, interface_of(node), version_of(node)
    kind._interface.flow_safe = bool(getattr(node, "flow_safe", False))
    _found[name] = kind


def _find(type: str) -> Kind | None:
    found = find_node(type)
    return Kind(found.name, found.origin, found.file) if found is not None and found.origin != TOOL else None


def list_kinds() -> list[Kind]:
    """Every kind of node there is, in the order of pflow.catalog.discovery."""
    there = [found for found in list_nodes() if not found.fault and not found.behind]
    return [Kind(found.name, found.origin, found.file) for found in there]


def no_such_kind(type: str) -> PflowError:
    """The error (65) for a type that nothing has, with the nearest names, or those there are."""
    if is_flow_type(type) and not type.startswith("flow:"):
        return PflowError(f"cannot find the flow '{type}'", hint="its path begins where this file is", exit=BAD_DATA)
    if fault := fault_of(type):
        return PflowError(f"cannot use the node '{type}': {fault}", hint="pflow nodes lists them", exit=BAD_DATA)
    names = [*(kind.name for kind in list_kinds()), *(f"flow:{name}" for name in saved_flows())]
    return PflowError(f"cannot find the node '{type}'", hint=guess(type, names), exit=BAD_DATA)
