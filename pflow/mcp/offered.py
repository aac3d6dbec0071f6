"""A tool: a node or a saved flow as a client sees it, with its name, schemas and effects, without its secrets."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable
from functools import cached_property
from typing import Any

from pflow.catalog.kinds import BUNDLED, FLOW, Kind, interpreter_fault_of
from pflow.errors import PflowError
from pflow.flow.subflow import FlowKind, has_open_steps
from pflow.flow.wired import WiredFlow
from pflow.interface import Interface, Item
from pflow.mcp.schema import input_schema, output_schema
from pflow.types import Type

STDIN = "stdin"
"""The key that raw input becomes."""

_LONGEST_NAME = 64


class Offered:
    """A tool. `label` is what pflow calls it (`llm`, `flow:fix`), `name` what clients do.

    `inputs` are the reads and params that a client may give, by their argument; `writes` what it gets. `secrets` are
    the writes that no client gets. A tool `is_open` when a step of it may do, and write, anything.
    """

    def __init__(self, kind: Kind, taken: Container[str]) -> None:
        """Raises PflowError, in a few words, where a kind cannot be a tool."""
        self.kind = kind
        self.is_flow = kind.origin == FLOW
        _check(kind)
        interface = kind.interface
        self.label = kind.name
        self.name = tool_name(self.label, taken)
        self.title = self.label.removeprefix("flow:")
        self.description = _description(interface)
        self.steps = len(self.flow.steps) if self.is_flow else 1
        self.inputs = _inputs(interface)
        if self.is_flow and _takes_stdin(self.flow):
            self.inputs.setdefault(STDIN, _stdin())
        self.secrets = _secrets_of(kind)
        self.writes = {name: item for name, item in interface.writes.items() if name not in self.secrets}
        self.is_open = interface.open or (self.is_flow and has_open_steps(self.flow))
        self.input_schema = input_schema(self.inputs)
        self.output_schema = None if self.is_open else output_schema(self.writes.values())

    @property
    def flow(self) -> WiredFlow:
        """The wired flow of a saved flow."""
        return _wired(self.kind)

    @cached_property
    def hints(self) -> dict[str, bool]:
        """MCP's annotations. A tool that uses the network is called neither read-only nor destructive for that."""
        effects = self.kind.interface.effects
        changes = self.is_open or "writes files" in effects or "runs commands" in effects
        uses_network = self.is_open or "network" in effects
        hints = {"readOnlyHint": not changes and not uses_network}
        if changes or not uses_network:
            hints["destructiveHint"] = changes
        return {**hints, "idempotentHint": _is_flow_safe(self.kind), "openWorldHint": uses_network}

    @property
    def is_read_only(self) -> bool:
        return self.hints["readOnlyHint"]

    def entry(self) -> dict[str, Any]:
        """Its entry in the list of tools."""
        return {
            "name": self.label,
            "tool": self.name,
            "kind": "flow" if self.is_flow else "node",
            "summary": self.description.partition("\n")[0],
            "effects": ["anything"] if self.is_open else list(self.kind.interface.effects),
            "read_only": self.is_read_only,
        }


def tool_name(label: str, taken: Container[str]) -> str:
    """The name of a node or a saved flow (`flow:NAME`), as it is where clients accept that and it is free.

    Else, for a flow whose name a node has, `flow_NAME`; else as much of the name as they accept, and a digest of it.
    """
    plain = label.removeprefix("flow:")
    for name in (plain, label.replace(":", "_", 1)):
        if re.fullmatch(rf"[A-Za-z0-9_][A-Za-z0-9_-]{{0,{_LONGEST_NAME - 1}}}", name) and name not in taken:
            return name
    digest = hashlib.sha256(label.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    kept = re.sub("[^A-Za-z0-9_-]", "_", plain).lstrip("-")
    return f"{kept[: _LONGEST_NAME - 9]}-{digest}"


def _wired(kind: Kind) -> WiredFlow:
    assert isinstance(kind, FlowKind)
    return kind.flow


def _check(kind: Kind) -> None:
    """Raise PflowError where a kind cannot be a tool."""
    if any(char.isspace() or not char.isprintable() for char in kind.name):
        raise PflowError("its name has white space or characters that cannot be printed")
    interface = kind.interface
    if fault := interface.fault or interpreter_fault_of(kind):
        raise PflowError(fault)
    if kind.origin == FLOW:
        unknown = [step.step.type for step in _wired(kind).steps.values() if step.kind is None]
        if unknown:
            raise PflowError(f"there is no node '{unknown[0]}'")
        if interface.open and not _wired(kind).flow.inputs:
            raise PflowError("it has steps without an interface, and no inputs of its own")
    elif interface.open:
        raise PflowError("it declares no interface")
    for item in interface.reads.values():
        if "secret" in item.marks and item.required:
            raise PflowError(f"'{item.name}' is a secret, which no client is to give")


def _inputs(interface: Interface) -> dict[str, Item]:
    """The reads, then the params; of two with one name the read; no secrets."""
    items = {
        **interface.reads,
        **{name: item for name, item in interface.params.items() if name not in interface.reads},
    }
    return {name: item for name, item in items.items() if "secret" not in item.marks}


def _takes_stdin(flow: WiredFlow) -> bool:
    """Whether a step of a flow names what comes through a pipe."""
    if any(path[0] == STDIN for source in flow.sources() for path in source.paths):
        return True
    return any(STDIN in step.interface.reads and STDIN not in step.sources for step in flow.steps.values())


def _stdin() -> Item:
    item = Item("read", STDIN, Type("any"))
    item.doc = "what would come through a pipe"
    return item


def _is_flow_safe(kind: Kind) -> bool:
    """Whether a node is pure; a flow is where all its steps are."""
    if kind.origin == FLOW:
        return all(step.kind is not None and _is_flow_safe(step.kind) for step in _wired(kind).steps.values())
    if kind.origin == BUNDLED:
        return bool(getattr(kind.node_class(), "flow_safe", False))
    return kind.interface.flow_safe


def _description(interface: Interface) -> str:
    """The docstring, without characters that a terminal would obey."""
    text = "\n\n".join(part for part in (interface.summary, interface.description) if part)
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)


def _secrets_of(kind: Kind) -> set[str]:
    """The names of its writes that are secret; of a flow, its outputs, or the keys of its store where it has none."""
    if kind.origin != FLOW:
        return {name for name, item in kind.interface.writes.items() if "secret" in item.marks}
    flow = _wired(kind)
    places = list(_secret_places(flow))
    if not flow.outputs:
        return {str(place[0]) for place in places}
    return {
        name
        for name, source in flow.outputs.items()
        if any(path[: len(place)] == place[: len(path)] for path in source.paths for place in places)
    }


def _secret_places(flow: WiredFlow) -> Iterable[tuple[str | int, ...]]:
    """Where the store of a flow has secrets: steps write them, or they are inputs."""
    for step in flow.steps.values():
        if step.kind is not None:
            yield from (step.place_of(key) for key in _secrets_of(step.kind))
    yield from (declared.path for declared in flow.inputs.values() if declared.secret)
