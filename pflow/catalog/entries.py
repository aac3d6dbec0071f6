"""Nodes and saved flows by name: the interface of each as a JSON object, read from its file and never run."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.catalog.discovery import BUNDLED, find_node, node_at
from pflow.catalog.kinds import FLOW, Catalog, Kind, interpreter_fault_of, no_such_kind
from pflow.catalog.lines import cannot_read
from pflow.errors import NOT_FOUND, PflowError

if TYPE_CHECKING:
    from typing import Any

    from pflow.catalog.lines import Line
    from pflow.interface import Interface, Item


def describe(name: str, interface: Interface, *, version: str, flow_safe: bool) -> dict[str, Any]:
    """What --describe prints of a node: its interface, for other programs."""
    return {
        "name": name,
        "version": version,
        "summary": interface.summary,
        "description": interface.description,
        "reads": {key: _described(item) for key, item in interface.reads.items()},
        "writes": {key: _described(item) for key, item in interface.writes.items()},
        "params": {key: _described(item) for key, item in interface.params.items()},
        "actions": list(interface.actions),
        "effects": list(interface.effects),
        "flow_safe": flow_safe,
        "open": interface.open,
    }


def _described(item: Item) -> dict[str, Any]:
    about: dict[str, Any] = {"type": str(item.type), "doc": item.doc}
    if item.kind != "write":
        about["required"] = item.required
        if "secret" not in item.marks:
            about["flag"] = item.flag
    if not item.required:
        about["default"] = item.default
    more = {"marks": sorted(item.marks), "flags": item.flags, "env": item.env}
    return {**about, **{name: value for name, value in more.items() if value}}


def find(name: str, catalog: Catalog) -> Kind:
    """The node whose file a path is, else the node of this name, else the saved flow.

    Raises PflowError (127) for an unknown name.
    """
    kind = _at_path(name) or catalog.find(name) or catalog.find(f"flow:{name}")
    if kind is not None:
        return kind
    error = no_such_kind(name)
    found = find_node(name)
    hint = f"{found.name} is a tool: pflow-{found.name} --help" if found is not None else error.hint
    raise PflowError(error.message, hint=hint, exit=NOT_FOUND)


def _at_path(path: str) -> Kind | None:
    """A node by its file, also one that its name does not find."""
    if "/" not in path or not os.path.lexists(path):
        return None
    found = node_at(os.path.abspath(path))
    if found is not None and found.fault:
        raise PflowError(f"cannot use the node '{path}': {found.fault}", exit=NOT_FOUND)
    return Kind(found.name, found.origin, found.file) if found else None


def entry(kind: Kind) -> dict[str, Any]:
    """A kind's interface as `describe` gives it, with its `origin` and `file`; with `fault`, what is wrong with it.

    Where the file cannot be read, the fault stands in place of the interface.
    """
    where = {"origin": kind.origin, "file": kind.file}
    try:
        about = _entry_of_kind(kind)
    except PflowError as error:
        return {"name": kind.name, **where, "fault": error.message}
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return {"name": kind.name, **where, "fault": cannot_read(kind.file, error)}
    fault = kind.interface.fault or interpreter_fault_of(kind)
    return {**about, **where, "fault": fault} if fault else {**about, **where}


def _entry_of_kind(kind: Kind) -> dict[str, Any]:
    if not os.path.isfile(kind.file):
        raise ValueError("it is no file")
    is_bundled = kind.origin == BUNDLED
    flow_safe = getattr(kind.node_class(), "flow_safe", False) if is_bundled else kind.interface.flow_safe
    about = describe(kind.name, kind.interface, version=kind.version, flow_safe=bool(flow_safe))
    for name, flag in kind.flags().items() if kind.origin == FLOW else ():
        if "flag" in about["reads"][name]:
            about["reads"][name]["flag"] = flag
    return about


def is_known(entry: dict[str, Any]) -> bool:
    """Whether an entry has the node's interface."""
    return "reads" in entry


def entries(listed: list[Line], catalog: Catalog) -> list[dict[str, Any]]:
    """The entry of each line: a shadowed one has `shadowed_by`, the one before it the files that it `shadows`."""
    hidden: dict[str, list[str]] = {}
    for line in listed:
        if line.behind:
            hidden.setdefault(line.behind, []).append(line.file)
    return [_entry(line, hidden.get(line.file, []), catalog) for line in listed]


def _entry(line: Line, hidden: list[str], catalog: Catalog) -> dict[str, Any]:
    where = {"name": line.name, "origin": line.origin, "file": line.file}
    if line.behind:
        return {**where, "shadowed_by": line.behind}
    if line.fault and not line.version:
        return {**where, "fault": line.fault}
    kind = catalog.find(line.name) if line.origin == FLOW else Kind(line.name, line.origin, line.file)
    about = entry(kind) if kind else where
    return {**about, "shadows": hidden} if hidden else about
