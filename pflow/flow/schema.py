"""The shape of a flow's JSON, as the JSON schema that loading holds a document to and `pflow check --schema` prints."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.flow import MAX_VISITS, MOST_JOBS
from pflow.values.types import parse_type

if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

VERSION = 1
TYPE_FORMAT = "pflow-type"
"""The format of a text that is a type, `list[str]`; other validators pass over it."""


def _text(description: str, **more: Any) -> Schema:
    return {"description": description, "type": "string", **more}


def _name(description: str, **more: Any) -> Schema:
    return _text(description, minLength=1, **more)


def _whole(description: str, least: int, **more: Any) -> Schema:
    return {"description": description, "type": "integer", "minimum": least, **more}


def _map(description: str, values: Schema | None = None, **more: Any) -> Schema:
    return {"description": description, "type": "object", "additionalProperties": values or {}, **more}


def _object(description: str, members: Schema, **more: Any) -> Schema:
    return {
        "description": description,
        "type": "object",
        "properties": members,
        "additionalProperties": False,
        **more,
    }


def _list(description: str, items: Schema, **more: Any) -> Schema:
    return {"description": description, "type": "array", "items": items, **more}


_TEXT: Schema = {"type": "string"}

_BATCH = _object(
    "What it runs once for each of: the items of a list, or the members of an object.",
    {
        "over": _name("The path of the list or the object."),
        "as": _name("What the step calls one item; of a path, AS_name and AS_stem are the last part.", default="item"),
        "jobs": _whole("How many items run at the same time.", 1, maximum=MOST_JOBS),
        "on_error": _text(
            "When an item fails: stop, or keep going with null in its place and the failure in ID.errors.",
            enum=["stop", "keep"],
            default="stop",
        ),
        "keep_item": {
            "description": "Whether each result knows its item: {item, WRITE} in the place of the write's value.",
            "type": "boolean",
            "default": False,
        },
    },
    required=["over"],
)

_NODE = _object(
    "One step. It needs an id, a type or a name.",
    {
        "id": _name("What the step is called in this flow; else after its type."),
        "type": _name("The node that it runs, flow:NAME, or a path to a flow's file; else the name or the id."),
        "name": _name("The type, where that is not given."),
        "description": _text("What the step is for, in the user's words.", default=""),
        "version": _text("The node's: the same major, and at least this.", pattern=r"^[0-9]+(\.[0-9]+){0,2}$"),
        "params": _map("How it works; templates are expanded just before it runs.", default={}),
        "inputs": _map("What it works on: a value for a read, as a flag would give it.", default={}),
        "retries": _whole("How many more tries it has when it fails.", 0),
        "wait": {"description": "Seconds before each further try.", "type": "number", "minimum": 0},
        "timeout": {"description": "Seconds after which it has failed.", "type": "number", "exclusiveMinimum": 0},
        "max_visits": _whole("How often it may run; else what the flow says.", 1),
        "repeats": {
            "description": "Whether it may run again without harm once it was cut short; else its node says it.",
            "type": "boolean",
        },
        "cache": {
            "description": "Whether its answers are kept, and handed on to the same question; require: none is made.",
            "enum": [True, False, "require"],
        },
        "batch": _BATCH,
        "input_bindings": _map("An older form: the store's key for each read. Write mappings.", _TEXT, deprecated=True),
        "output_bindings": _map(
            "An older form: the store's key for each write. Write mappings.", _TEXT, deprecated=True
        ),
        "config": _map("An older form: the params. Write params.", deprecated=True),
    },
    anyOf=[{"required": [each]} for each in ("id", "type", "name")],
)

_EDGE = _object(
    "Leads from one step to another, for one action.",
    {
        "from": _text("The id of the step that it leads from."),
        "to": _text("The id of the step that it leads to."),
        "action": _name("What the first step returns when this edge is taken.", default="default"),
    },
    required=["from", "to"],
)

_MAPPING = _object(
    "Where one step's reads come from and its writes go to.",
    {
        "input_mappings": _map(
            "For a read: a path, template: and text, or paths of which the one written last counts.",
            {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1}]},
            default={},
        ),
        "output_mappings": _map(
            "For a write: the path that it goes to; for *: where all others go below.", _TEXT, default={}
        ),
    },
)

_INPUT = _object(
    "A value that the flow starts with.",
    {
        "type": _text(
            "str, int, float, bool, path, bytes, list, dict, any, a|b|c, list[…] or dict{…}.",
            format=TYPE_FORMAT,
            default="any",
        ),
        "description": _text("What it is.", default=""),
        "required": {
            "description": "Whether the flow needs it; not where it has a default.",
            "type": "boolean",
            "default": True,
        },
        "pipe": {
            "description": "Whether it takes what comes through the pipe.",
            "type": "boolean",
            "default": False,
        },
        "default": {"description": "Its value where none is given."},
    },
)

SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": f"pflow:flow:{VERSION}",
    **_object(
        "A flow of pflow's: nodes, edges and mappings.",
        {
            "$schema": _text("For editors: where this schema lies."),
            "pflow": _whole("The version of this form.", VERSION, maximum=VERSION, default=VERSION),
            "name": _text("What the flow is called.", default=""),
            "description": _text("What it is for, in the user's words.", default=""),
            "inputs": _map("What it starts with; without any, each source that no step writes.", _INPUT, default={}),
            "outputs": _map(
                "What it gives, and the path or template: that each comes from; else all.", _TEXT, default={}
            ),
            "nodes": _list("The steps; the first one starts the flow.", _NODE, minItems=1),
            "edges": _list("What leads where; without this member, the steps follow one another.", _EDGE),
            "mappings": _map("For a step's id: its mappings.", _MAPPING, default={}),
            "max_visits": _whole("How often any step may run.", 1, default=MAX_VISITS),
        },
        required=["nodes"],
    ),
}


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


def is_of_type(value: Any, type_name: str) -> bool:
    """Whether a value is of a type of JSON schema; an integral number is an integer, however it is written."""
    if type_name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[type_name]) and (type_name == "boolean" or not isinstance(value, bool))


def version_numbers(version: str) -> tuple[int, ...] | None:
    """The three numbers of a version; None for what is no version."""
    parts = version.split(".")
    if len(parts) > 3 or not all(part.isdecimal() and part.isascii() for part in parts):
        return None
    return tuple(int(part) for part in [*parts, "0", "0"][:3])


def type_fault(text: str) -> str:
    """Why a text is no type; empty where it is one."""
    try:
        end = parse_type(text)[1]
    except ValueError as error:
        return str(error)
    return f"'{text[end:]}' follows the type '{text[:end]}'" if end < len(text) else ""
