"""A node or a saved flow as a tool: its name, JSON schemas and effects as a client sees them, without its secrets."""

import re
from collections.abc import Container, Iterable, Iterator
from typing import Any

import mcp_types as types
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from pflow.catalog.kinds import Kind
from pflow.errors import USAGE, PflowError
from pflow.flow.subflow import CARRIED, FlowKind, has_open_steps
from pflow.flow.wired import WiredFlow
from pflow.interface.interface import COMMANDS, UNDECLARED, Item
from pflow.values.types import Type

_GOOD_NAME = re.compile("[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


class Offered:
    """A node, or a saved flow with its wired `flow`. `label` is its name in pflow, `tool` the client's view of it.

    `inputs` are the reads and params that a client may give, `writes` those that it gets, without secrets.
    """

    def __init__(self, kind: Kind, taken: Container[str]) -> None:
        """Raises PflowError, in a few words, if a kind cannot be a tool."""
        interface = kind.interface
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
            input_schema=_typed(input_schema(self.inputs), _NO_LIST),
            output_schema=_typed(output_schema(self.writes.values()), _ANYTHING),
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
    if fault := interface.fault or kind.interpreter_fault:
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
        if any(path[: len(place)] == place[: len(path)] for path in source.paths for place in places)
    }


def _secret_places(flow: WiredFlow) -> Iterator[tuple[str | int, ...]]:
    for step in flow.steps.values():
        if step.kind is not None:
            yield from (step.place_of(key) for key in _secrets_of(step.kind))
    yield from (declared.path for declared in flow.inputs.values() if declared.secret)


Schema = dict[str, Any]

_BYTES: Schema = {
    "type": "object",
    "properties": {"$bytes": {"type": "string", "contentEncoding": "base64"}},
    "required": ["$bytes"],
    "additionalProperties": False,
}
_TEXT_OR_BYTES: Schema = {"anyOf": [{"type": "string"}, _BYTES]}
_LIST: Schema = {"type": "array", "items": {}}  # VS Code, OpenAI and Gemini refuse an array without `items`
_NO_LISTS: list[Schema] = [{"type": each} for each in ("string", "number", "boolean", "object", "null")]
_NO_LIST: Schema = {"anyOf": _NO_LISTS}  # of arguments, of which pflow itself takes more
_ANYTHING: Schema = {"minItems": 0}  # of results, which clients check; strict ones want a keyword there
_SIMPLE: dict[str, Schema] = {
    "str": {"type": "string"},
    "url": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "path": {"type": "string", "minLength": 1},
    "bytes": _TEXT_OR_BYTES,
    "list": _LIST,
    "dict": {"type": "object"},
    # Not {}: some clients accept no schema without a type, nor several types in one.
    "any": {"anyOf": [_LIST, *_NO_LISTS]},
}
_LONGEST = 300


def schema_of(type: Type, *, is_written: bool = False) -> Schema:
    """Return a type as a schema. The members of a shape are described, but not required."""
    if type.choices:
        return {"type": "string", "enum": list(type.choices)}
    # The name of a file that was found need not be UTF-8.
    schema = dict(_TEXT_OR_BYTES if is_written and type.name == "path" else _SIMPLE[type.name])
    if type.items is not None:
        schema["items"] = schema_of(type.items, is_written=is_written)
    if type.fields:
        schema["properties"] = {name: schema_of(each, is_written=is_written) for name, each in type.fields.items()}
    return schema


def input_schema(items: dict[str, Item]) -> Schema:
    """Return the schema of an object with only these members; those without a default are required."""
    properties = {name: _described(item) for name, item in items.items()}
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [name for name, item in items.items() if item.required]
    return {**schema, "required": required} if required else schema


def _typed(schema: Any, items: Schema) -> Any:
    """Put `items` in the place of those that may be anything: Gemini and strict clients refuse items without a type."""
    if isinstance(schema, list):
        return [_typed(each, items) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: items if (key, each) == ("items", {}) else _typed(each, items) for key, each in schema.items()}


def output_schema(items: Iterable[Item]) -> Schema:
    """Return the schema of an object that may have these members: a node need not write all that it declares."""
    return {"type": "object", "properties": {item.name: _described(item) for item in items}}


def _described(item: Item) -> Schema:
    schema = schema_of(item.type, is_written=item.kind == "write")
    if item.doc:
        schema["description"] = item.doc
    if item.default is not UNDECLARED and item.default is not None:
        schema["default"] = item.default
    return schema


def check_arguments(tool: str, schema: Schema, arguments: dict[str, Any]) -> None:
    """Raise PflowError (2) for arguments that do not fit."""
    if fault := fault_in(schema, arguments):
        raise PflowError(f"cannot call '{tool}': {fault}", hint="see its input schema", exit=USAGE)


def fault_in(schema: Schema, value: Any) -> str:
    """Describe the worst fault of a value; empty if it fits the schema."""
    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is None:
        return ""
    message = ends_of(error.message, _LONGEST)
    place = ".".join(map(str, error.absolute_path))
    return f"'{place}': {message}" if place else message


def ends_of(text: str, longest: int) -> str:
    """Shorten a message in its middle: it may begin with the value, and end with the reason."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"
