"""A node or a saved flow as a tool: its name, JSON schemas and effects as a client sees them, without its secrets."""

import re
from collections.abc import Container, Iterator

import mcp_types as types

from pflow.catalog.kinds import Kind
from pflow.errors import PflowError
from pflow.flow.subflow import CARRIED, FlowKind, has_open_steps
from pflow.flow.wired import WiredFlow
from pflow.interface.interface import COMMANDS, Item
from pflow.mcp.schema import ANYTHING, NO_LIST, input_schema, output_schema
from pflow.values.paths import Path, meet

_GOOD_NAME = re.compile("[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


class Offered:
    """A node, or a saved flow with its wired `flow`. `label` is its name in pflow, `tool` the client's view of it.

    `inputs` are the reads and params that a client may give, `writes` those that it gets, without secrets.
    """

    def __init__(self, kind: Kind, taken: Container[str]) -> None:
        """Raises PflowError, in a few words, if a kind cannot be a tool."""
        interface = kind.told()
        self.kind, self.label = kind, kind.name
        self.flow = kind.flow if isinstance(kind, FlowKind) else None
        if fault := next(_faults(kind, self.flow), ""):
            raise PflowError(fault)
        reads = {**interface.params, **interface.reads}  # of two with one name the read counts
        self.inputs = {name: item for name, item in reads.items() if not self._is_withheld(item)}
        secrets = _secrets_of(kind)
        writes = {name: item for name, item in interface.writes.items() if CARRIED not in item.marks}
        self.writes = {name: item for name, item in writes.items() if name not in secrets}
        self.effects = ["anything"] if self.flow and has_open_steps(self.flow) else list(interface.effects)
        self.hints = _hints(self.effects, repeats=interface.repeats == "yes")
        text = "\n\n".join(filter(None, (interface.summary, interface.description)))
        self.description = "".join(char if char.isprintable() or char == "\n" else " " for char in text)
        title = self.label.removeprefix("flow:")
        self.tool = types.Tool(
            name=_tool_name(self.label, taken),
            title=title,
            description=self.description,
            input_schema=input_schema(self.inputs, NO_LIST),
            output_schema=output_schema(self.writes.values(), ANYTHING),
            annotations=types.ToolAnnotations(title=title, **self.hints),
        )

    def _is_withheld(self, item: Item) -> bool:
        """Return True for items that a client may not give: secrets, and the commands of a saved flow."""
        names_command = item.kind == "param" and item.name.rpartition(".")[2] in COMMANDS
        return item.is_secret or (names_command and self.flow is not None)

    @property
    def is_read_only(self) -> bool:
        return self.hints["read_only_hint"]


def _tool_name(label: str, taken: Container[str]) -> str:
    """Return the tool's name of a node or a flow: NAME, or `flow_NAME` if a node has that. Raises PflowError."""
    for name in (label.removeprefix("flow:"), label.replace(":", "_", 1)):
        if _GOOD_NAME.fullmatch(name) and name not in taken:
            return name
    raise PflowError("a tool's name has letters, digits, - and _, 64 at most, and belongs to one tool")


def _faults(kind: Kind, flow: WiredFlow | None) -> Iterator[str]:
    interface = kind.interface
    if fault := interface.fault or kind.class_fault or kind.interpreter_fault:
        yield fault
    if flow is None and interface.open:
        yield "it declares no interface"
    if flow:
        yield from (f"there is no node '{step.step.type}'" for step in flow.steps.values() if step.kind is None)
        if interface.open:
            yield "it has steps without an interface, and does not declare its inputs and outputs"
    for item in interface.reads.values():
        if item.is_secret and item.required:
            yield f"'{item.name}' is a secret, which clients must not give"


def _hints(effects: list[str], *, repeats: bool) -> dict[str, bool]:
    """Return MCP's annotations. Use of the network alone makes a tool neither read-only nor destructive.

    Nor is such a tool idempotent: a node that repeats by its step's key, such as a comment, acts anew in each call.
    """
    changes = bool({"writes files", "runs commands", "anything"} & {*effects})
    uses_network = bool({"network", "anything"} & {*effects})
    hints = {"read_only_hint": not changes and not uses_network, "destructive_hint": changes}
    if uses_network and not changes:
        del hints["destructive_hint"]
    return {**hints, "idempotent_hint": repeats and not uses_network, "open_world_hint": uses_network}


def _secrets_of(kind: Kind) -> set[str]:
    """Return the names of secret writes; of a flow, those of its outputs, or without outputs of its store's keys."""
    if not isinstance(kind, FlowKind):
        return kind.interface.secret_writes
    places = list(_secret_places(kind.flow))
    if not kind.flow.outputs:
        return {str(place[0]) for place in places}
    return {
        name
        for name, source in kind.flow.outputs.items()
        if any(meet(path, place) for path in source.paths for place in places)
    }


def _secret_places(flow: WiredFlow) -> Iterator[Path]:
    for step in flow.steps.values():
        if step.kind is not None:
            yield from (step.place_of(key) for key in _secrets_of(step.kind))
    yield from (declared.path for declared in flow.inputs.values() if declared.secret)
