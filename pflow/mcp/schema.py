"""The JSON schemas of interfaces: what a tool takes, and what it gives back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from pflow.errors import USAGE, PflowError
from pflow.interface import UNDECLARED, Item
from pflow.types import Type

Schema = dict[str, Any]

BYTES: Schema = {
    "type": "object",
    "properties": {"$bytes": {"type": "string", "contentEncoding": "base64"}},
    "required": ["$bytes"],
    "additionalProperties": False,
}
"""Bytes that are not text, as they stand in a store document."""

_SIMPLE: dict[str, Schema] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "path": {"type": "string", "minLength": 1},
    "bytes": {"anyOf": [{"type": "string"}, BYTES]},
    "list": {"type": "array"},
    "dict": {"type": "object"},
    # Not {}: some clients accept no schema without a type, nor several types in one.
    "any": {"anyOf": [{"type": each} for each in ("string", "number", "boolean", "array", "object", "null")]},
}

_WRITTEN: dict[str, Schema] = {"path": {"anyOf": [{"type": "string"}, BYTES]}}
"""Where what is written may be wider than what is taken: the name of a file need not be UTF-8."""

_LONGEST = 300


def schema_of(type: Type, *, is_written: bool = False) -> Schema:
    """A type as a schema. The members of a shape are described, none is required."""
    if type.choices:
        return {"type": "string", "enum": list(type.choices)}
    schema = dict((is_written and _WRITTEN.get(type.name)) or _SIMPLE[type.name])
    if type.items is not None:
        schema["items"] = schema_of(type.items, is_written=is_written)
    if type.fields:
        schema["properties"] = {name: schema_of(each, is_written=is_written) for name, each in type.fields.items()}
    return schema


def input_schema(items: dict[str, Item]) -> Schema:
    """An object with these members and no others; those without a default are required."""
    required = [name for name, item in items.items() if item.required]
    return {
        "type": "object",
        "properties": {name: _described(item) for name, item in items.items()},
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def output_schema(items: Iterable[Item]) -> Schema:
    """An object that may have these members: a node need not always write what it declares."""
    return {"type": "object", "properties": {item.name: _described(item, is_written=True) for item in items}}


def _described(item: Item, *, is_written: bool = False) -> Schema:
    schema = schema_of(item.type, is_written=is_written)
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
    """The worst thing that is wrong with a value, in words; empty where it fits the schema."""
    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is None:
        return ""
    message = error.message  # it begins with the value, and ends with the reason
    if len(message) > _LONGEST:
        message = f"{message[: _LONGEST // 2]}…{message[-_LONGEST // 2 :]}"
    place = ".".join(map(str, error.absolute_path))
    return f"'{place}': {message}" if place else message
