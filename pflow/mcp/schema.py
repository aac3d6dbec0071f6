"""Converting types of the interface grammar to JSON schemas, and JSON schemas to types."""

import re
from collections.abc import Iterable
from typing import Any

from pflow.files.schema import worst_misfit
from pflow.interface.interface import UNDECLARED, Field
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
    "list": {"type": "array"},
    "dict": {"type": "object"},
    "bytes": _TEXT_OR_BYTES,
    "url": {"type": "string"},
    "path": {"type": "string", "minLength": 1},
}
_NAMES = {schema["type"]: name for name, schema in reversed(_SIMPLE.items()) if "type" in schema}
"""Our types by their names in a schema. A string is always a str, since a schema has no names for paths and URLs."""

_NO_LISTS: list[Schema] = [{"type": each} for each in ("string", "number", "boolean", "object", "null")]
UNTYPED: Schema = {}
"""The schema of items that may be anything, for our own checks. VS Code, OpenAI and Gemini refuse an array without
`items`; Gemini and strict clients also refuse items without a type, so clients get one of the next two schemas.
"""
NO_LIST: Schema = {"anyOf": _NO_LISTS}
"""The schema of such items in arguments, for clients. pflow itself also takes lists in lists."""
ANYTHING: Schema = {"minItems": 0}
"""The schema of such items in results, which clients check. It allows anything, and has a keyword, which strict clients
want."""

_DEEPEST = 4
"""The most levels of a schema that become a type, and the most references in a row that are followed."""

_LONGEST = 300
"""The most characters of a misfit."""


def schema_of(type: Type, items: Schema = UNTYPED, *, is_written: bool = False) -> Schema:
    """Return the schema of a type. The members of a shape are described, but not required."""
    if type.choices:
        return {"type": "string", "enum": list(type.choices)}
    if type.name == "any":  # some clients refuse {}, and others a list of types
        return {"anyOf": [{"type": "array", "items": items}, *_NO_LISTS]}
    # A path that a node has found is bytes if it is not UTF-8.
    schema = dict(_TEXT_OR_BYTES if is_written and type.name == "path" else _SIMPLE[type.name])
    if type.name == "list":
        schema["items"] = schema_of(type.items, items, is_written=is_written) if type.items else items
    if type.fields:
        fields = type.fields.items()
        schema["properties"] = {name: schema_of(each, items, is_written=is_written) for name, each in fields}
    return schema


def type_of(schema: Any, root: Schema, depth: int = 0) -> Type:
    """Return the type of a schema within `root`; `any` if the grammar of types cannot express it."""
    schema = resolve(schema, root)
    choices = [each for each in choices_of(schema) if each is not None]
    if all(isinstance(each, str) and re.fullmatch(r"[A-Za-z0-9_.-]+", each) for each in choices) and len(choices) > 1:
        return Type("choice", choices=tuple(dict.fromkeys(choices))) if len(set(choices)) > 1 else Type("str")
    names = [type(each).__name__ for each in choices]
    if declared := schema.get("type"):
        names = [_NAMES.get(str(each), "any") for each in as_list(declared) or [declared] if each != "null"]
    name = names[0] if len({*names}) == 1 else "any"
    is_list = name == "list" and "items" in schema and depth < _DEEPEST
    return Type(name, items=type_of(schema["items"], root, depth + 1) if is_list else None)


def choices_of(schema: Schema) -> list[Any]:
    """Return the values that a schema allows; empty if it does not list them."""
    return as_list(schema.get("enum")) or ([schema["const"]] if "const" in schema else [])


def resolve(schema: Any, root: Schema) -> Schema:
    """Follow a schema's references within the root, and its only alternative besides null; return the schema there."""
    about = found = as_dict(schema)
    for _ in range(_DEEPEST):
        several = [each for key in ("anyOf", "oneOf", "allOf") for each in as_list(found.get(key))]
        others = [as_dict(each) for each in several if as_dict(each).get("type") != "null"]
        if str(found.get("$ref")).startswith("#/"):
            reference, found = found["$ref"], root
            for part in reference.split("/")[1:]:
                found = as_dict(found.get(part))
        elif len(others) == 1:
            found = others[0]
    return {**found, **{key: value for key, value in about.items() if key in ("description", "default")}}


def as_dict(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one, since foreign JSON may have any value there."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one, since foreign JSON may have any value there."""
    return value if isinstance(value, list) else []


def input_schema(inputs: dict[str, Field], items: Schema = UNTYPED) -> Schema:
    """Return the schema of an object that may have only these members; required items are required members."""
    required = [name for name, field in inputs.items() if field.required]
    schema = {**_object(inputs.items(), items), "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def output_schema(writes: Iterable[Field], items: Schema = UNTYPED) -> Schema:
    """Return the schema of an object that may have these members: a node need not write all that it declares."""
    return _object(((field.name, field) for field in writes), items)


def _object(members: Iterable[tuple[str, Field]], items: Schema) -> Schema:
    return {"type": "object", "properties": {name: _described(field, items) for name, field in members}}


def _described(field: Field, items: Schema) -> Schema:
    schema = schema_of(field.type, items, is_written=field.kind == "write")
    if field.doc:
        schema["description"] = field.doc
    if field.default is not UNDECLARED and field.default is not None:
        schema["default"] = field.default
    return schema


def fault_in(schema: Schema, value: Any) -> str:
    """Describe the worst fault of a value; empty if it fits the schema."""
    error = worst_misfit(schema, value)
    if error is None:
        return ""
    message = without_middle(error.message, _LONGEST)
    place = ".".join(map(str, error.absolute_path))
    return f"'{place}': {message}" if place else message


def without_middle(text: str, longest: int) -> str:
    """Cut the middle out of a long message: it may begin with a long value, and end with the reason."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"
