"""The JSON schemas of interfaces: what a tool takes, and what it gives back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from pflow.errors import USAGE, PflowError
from pflow.interface.interface import UNDECLARED, Item
from pflow.values.types import Type

Schema = dict[str, Any]

_BYTES: Schema = {
    "type": "object",
    "properties": {"$bytes": {"type": "string", "contentEncoding": "base64"}},
    "required": ["$bytes"],
    "additionalProperties": False,
}
_TEXT_OR_BYTES: Schema = {"anyOf": [{"type": "string"}, _BYTES]}
_SIMPLE: dict[str, Schema] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "path": {"type": "string", "minLength": 1},
    "bytes": _TEXT_OR_BYTES,
    "list": {"type": "array"},
    "dict": {"type": "object"},
    # Not {}: some clients accept no schema without a type, nor several types in one.
    "any": {"anyOf": [{"type": each} for each in ("string", "number", "boolean", "array", "object", "null")]},
}
_LONGEST = 300


def schema_of(type: Type, *, is_written: bool = False) -> Schema:
    """A type as a schema. The members of a shape are described, none is required."""
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
    """An object with these members and no others; those without a default are required."""
    properties = {name: _described(item) for name, item in items.items()}
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [name for name, item in items.items() if item.required]
    return {**schema, "required": required} if required else schema


def output_schema(items: Iterable[Item]) -> Schema:
    """An object that may have these members: a node need not always write what it declares."""
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
    """The worst thing that is wrong with a value, in words; empty where it fits the schema."""
    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is None:
        return ""
    message = ends_of(error.message, _LONGEST)
    place = ".".join(map(str, error.absolute_path))
    return f"'{place}': {message}" if place else message


def ends_of(text: str, longest: int) -> str:
    """A message in so many characters: it may begin with what was given, and end with the reason."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"
