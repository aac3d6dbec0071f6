"""Nodes and saved flows by name: the interface of each as a JSON object, read from its file and never run."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.catalog.kinds import BUNDLED, FLOW, Catalog, Kind, find_node, no_such_kind, node_at
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
    kind = node_at(os.path.abspath(name)) if "/" in name and os.path.lexists(name) else None
    if kind is not None and kind.fault:
        raise PflowError(f"cannot use the node '{name}': {kind.fault}", exit=NOT_FOUND)
    kind = kind or catalog.find(name) or catalog.find(f"flow:{name}")
    if kind is not None:
        return kind
    error, tool = no_such_kind(name), find_node(name)
    hint = f"{tool.name} is a tool: pflow-{tool.name} --help" if tool is not None else error.hint
    raise PflowError(error.message, hint=hint, exit=NOT_FOUND)


def entry(kind: Kind) -> dict[str, Any]:
    """A kind's interface as `describe` gives it, with its `origin` and `file`; with `fault`, what is wrong with it.

    Where the file cannot be read, the fault stands in place of the interface.
    """
    where = {"origin": kind.origin, "file": kind.file}
    try:
        if not os.path.isfile(kind.file):
            raise ValueError("it is no file")
        interface = kind.interface
        flow_safe = getattr(kind.node_class(), "flow_safe", False) if kind.origin == BUNDLED else interface.flow_safe
        about = {**describe(kind.name, interface, version=kind.version, flow_safe=bool(flow_safe)), **where}
        for name, flag in kind.flags().items() if kind.origin == FLOW else ():
            if "flag" in about["reads"][name]:
                about["reads"][name]["flag"] = flag
        fault = interface.fault or kind.interpreter_fault
        return {**about, "fault": fault} if fault else about
    except PflowError as error:
        return {"name": kind.name, **where, "fault": error.message}
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return {"name": kind.name, **where, "fault": cannot_read(kind.file, error)}


def is_known(entry: dict[str, Any]) -> bool:
    """Whether an entry has the node's interface."""
    return "reads" in entry


def line_entry(line: Line, catalog: Catalog) -> dict[str, Any]:
    """The entry of a line: a shadowed one has `shadowed_by`."""
    where = {"name": line.name, "origin": line.origin, "file": line.file}
    if line.behind:
        return {**where, "shadowed_by": line.behind}
    if line.fault and not line.version:
        return {**where, "fault": line.fault}
    kind = catalog.find(line.name) if line.origin == FLOW else Kind(line.name, line.origin, line.file)
    return entry(kind) if kind else where
