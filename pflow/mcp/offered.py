"""What is offered as a tool: a node or a saved flow, with all that a client is told of it."""

from __future__ import annotations

from pflow.catalog.kinds import FLOW, interpreter_fault_of
from pflow.errors import PflowError
from pflow.interface import Item
from pflow.mcp.schema import input_schema, output_schema
from pflow.mcp.secrets import secrets_of
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.catalog.kinds import Kind
    from pflow.flow.wired import WiredFlow
    from pflow.interface import Interface

STDIN = "stdin"
"""The key that raw input becomes."""

_CHANGING = ("writes files", "runs commands")


class Offered:
    """A tool. `label` is what pflow calls it (`llm`, `flow:fix`), `name` what clients do.

    `inputs` are the reads and params that a client may give, by the name of their member in the arguments. `secrets`
    are the writes that no client gets.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.name = ""
        self.label = kind.name
        interface = kind.interface
        self.is_flow = kind.origin == FLOW
        self.steps = len(self.plan.steps) if self.is_flow else 1
        self.inputs = _inputs(interface)
        if self.is_flow and takes_stdin(self.plan):
            self.inputs.setdefault(STDIN, _stdin())
        self.secrets = secrets_of(kind)
        self.writes = {name: item for name, item in interface.writes.items() if name not in self.secrets}
        self.is_open = _is_open(self) or interface.open
        self.title = self.label.removeprefix("flow:")
        self.description = _description(interface)
        self.input_schema = input_schema(self.inputs)
        self.output_schema = None if self.is_open else output_schema(self.writes.values())
        self.hints = hints(interface, is_open=self.is_open, is_flow_safe=_is_flow_safe(kind))

    @property
    def plan(self) -> WiredFlow:
        """Of a saved flow."""
        plan: WiredFlow = self.kind.plan  # type: ignore[attr-defined]
        return plan

    @property
    def is_read_only(self) -> bool:
        return bool(self.hints["readOnlyHint"])


def offer(kind: Kind) -> Offered:
    """Raises PflowError, in a few words, where a kind cannot be a tool."""
    if any(sign.isspace() or not sign.isprintable() for sign in kind.name):
        raise PflowError("its name has white space or signs that cannot be printed")
    interface = kind.interface
    fault = interface.fault or interpreter_fault_of(kind) or (_fault_of_flow(kind) if kind.origin == FLOW else "")
    if fault:
        raise PflowError(fault)
    if interface.open and kind.origin != FLOW:
        raise PflowError("it declares no interface")
    for item in interface.reads.values():
        if "secret" in item.marks and item.required:
            raise PflowError(f"'{item.name}' is a secret, which no client is to give")
    return Offered(kind)


def _fault_of_flow(kind: Kind) -> str:
    """Why nobody can tell what a flow takes; empty where its steps, or its own inputs, do."""
    plan: WiredFlow = kind.plan  # type: ignore[attr-defined]
    unknown = next((wired.step.type for wired in plan.steps.values() if wired.kind is None), None)
    if unknown is not None:
        return f"there is no node '{unknown}'"
    if kind.interface.open and not plan.flow.inputs:
        return "it has steps without an interface, and no inputs of its own"
    return ""


def hints(interface: Interface, *, is_open: bool, is_flow_safe: bool) -> dict[str, bool]:
    """MCP's annotations of a tool. What only uses the network may change things there, and is said to be neither."""
    changes = is_open or any(effect in _CHANGING for effect in interface.effects)
    uses_network = is_open or "network" in interface.effects
    told = {"readOnlyHint": not changes and not uses_network}
    if changes or not uses_network:
        told["destructiveHint"] = changes
    return {**told, "idempotentHint": is_flow_safe, "openWorldHint": uses_network}


def _inputs(interface: Interface) -> dict[str, Item]:
    items = {**interface.params, **interface.reads}
    ordered = [*interface.reads, *(name for name in interface.params if name not in interface.reads)]
    return {name: items[name] for name in ordered if "secret" not in items[name].marks}


def takes_stdin(plan: WiredFlow) -> bool:
    """Whether a step of a flow names what comes through a pipe."""
    if any(path[0] == STDIN for source in plan.sources() for path in source.paths):
        return True
    return any(STDIN in wired.interface.reads and STDIN not in wired.sources for wired in plan.steps.values())


def _stdin() -> Item:
    item = Item("read", STDIN, Type("any"))
    item.doc = "what would come through a pipe"
    return item


def _is_open(offered: Offered) -> bool:
    """Whether some step of a flow may do, and write, anything."""
    if not offered.is_flow:
        return False
    from pflow.flow.subflow import has_open_steps

    return has_open_steps(offered.plan)


def _is_flow_safe(kind: Kind) -> bool:
    """Whether a node is pure; a flow is where all its steps are."""
    if kind.origin != FLOW:
        return is_pure(kind)
    steps = kind.plan.steps.values()  # type: ignore[attr-defined]
    return all(wired.kind is not None and _is_flow_safe(wired.kind) for wired in steps)


def is_pure(kind: Kind) -> bool:
    from pflow.catalog.kinds import BUNDLED

    return bool(getattr(kind.node_class(), "flow_safe", False)) if kind.origin == BUNDLED else kind.interface.flow_safe


def _description(interface: Interface) -> str:
    """The docstring, as one text without signs that a terminal would obey."""
    text = "\n\n".join(part for part in (interface.summary, interface.description) if part)
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text)


def told(offered: Offered) -> dict[str, Any]:
    """An entry of the list, in a line."""
    return {
        "name": offered.label,
        "tool": offered.name,
        "kind": "flow" if offered.is_flow else "node",
        "summary": offered.description.partition("\n")[0],
        "effects": ["anything"] if offered.is_open else list(offered.kind.interface.effects),
        "read_only": offered.is_read_only,
    }
