"""The shape of a flow's JSON: a finding, in words, for each part that the schema refuses, and what is left of it."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.findings import SHAPE, Finding
from pflow.flow.schema import SCHEMA, TYPE_FORMAT, VERSION, is_of_type, type_fault, version_numbers
from pflow.values.jsontext import encode
from pflow.values.paths import kind_of
from pflow.words.naming import guess

if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.schema import Schema
    from pflow.values.paths import Path


_LEFT_OUT: Any = object()
_NOTHING: Schema = {}

_WANTED = {
    "string": ("a str", 'write "…"'),
    "integer": ("an int", "write a whole number"),
    "number": ("a number", "write a number"),
    "boolean": ("a bool", "write true or false"),
    "object": ("a dict", 'write {"…": …}'),
    "array": ("a list", "write […]"),
}


def check_shape(document: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """The parts of the right shape, and a finding for every other part, in the order of the file.

    A part of a wrong shape is left out; in a list, null stands for it.
    """
    findings: list[Finding] = []
    return _sound(document, SCHEMA, (), findings), findings


def _sound(value: Any, schema: Schema, place: Path, findings: list[Finding]) -> Any:
    """The value without the parts that have a wrong shape; _LEFT_OUT where that is all of it."""
    if "anyOf" in schema and "properties" not in schema:
        schema = schema["anyOf"][isinstance(value, list)]
    if fault := _fault(value, schema):
        findings.append(Finding(SHAPE, place, *fault))
        return _LEFT_OUT
    if "items" in schema:
        checked = [_sound(each, schema["items"], (*place, n), findings) for n, each in enumerate(value)]
        return [None if each is _LEFT_OUT else each for each in checked]
    if schema.get("type") != "object":
        return int(value) if schema.get("type") == "integer" else value
    members = schema.get("properties", {})
    findings += _missing(value, schema, place)
    sound = {}
    for key, each in value.items():
        if members and key not in members:
            findings.append(Finding(SHAPE, (*place, key), "there is no such member", guess(key, members)))
            continue
        checked = _sound(each, members.get(key) or schema["additionalProperties"] or _NOTHING, (*place, key), findings)
        if checked is not _LEFT_OUT:
            sound[key] = checked
    return sound


def _missing(value: dict[str, Any], schema: Schema, place: Path) -> list[Finding]:
    """A finding for each member that an object needs and lacks."""
    if "anyOf" in schema and not any(each["required"][0] in value for each in schema["anyOf"]):
        return [Finding(SHAPE, place, "it has no id, type or name", 'add "type", the node that it runs')]
    missing = [name for name in schema.get("required", ()) if name not in value]
    return [Finding(SHAPE, place, f"'{name}' is missing", f'add "{name}"') for name in missing]


def _fault(value: Any, schema: Schema) -> tuple[str, str] | None:
    """What is wrong with a value by itself, apart from what it holds, and what to write instead."""
    type_name = schema.get("type")
    if type_name is None:
        choices = [str(encode(each), "utf-8") for each in schema.get("enum", ())]
        is_one = not choices or str(encode(value), "utf-8") in choices  # 1 is not true
        return None if is_one else (f"{_it_is(value)}, not {' or '.join(choices)}", f"write {choices[0]}")
    if not is_of_type(value, type_name):
        wanted, remedy = _WANTED[type_name]
        return f"{_it_is(value)}, not {wanted}", remedy + (", or leave it out" if value is None else "")
    if type_name == "string":
        return _text_fault(value, schema)
    if type_name == "array":
        return ("it is empty", "write one") if len(value) < schema.get("minItems", 0) else None
    if type_name not in ("integer", "number"):
        return None
    if value < schema.get("minimum", value):
        return f"{_it_is(value)}, less than {schema['minimum']}", f"write {schema['minimum']} or more"
    if value > schema.get("maximum", value):
        most = schema["maximum"]
        remedy = "a newer pflow may read it" if most == VERSION else f"write {most} or less"
        return f"{_it_is(value)}, more than {most}", remedy
    if value <= schema.get("exclusiveMinimum", value - 1):
        return f"{_it_is(value)}, not more than 0", "write more than 0"
    return None


def _text_fault(value: str, schema: Schema) -> tuple[str, str] | None:
    if len(value) < schema.get("minLength", 0):
        return "it is empty", "write one"
    if "pattern" in schema and version_numbers(value) is None:
        return f"{_it_is(value)}, not a version", 'write one like "1.0.0"'
    if value not in schema.get("enum", (value,)):
        choices = " or ".join(schema["enum"])
        return f"{_it_is(value)}, not {choices}", f"write {choices}"
    if schema.get("format") == TYPE_FORMAT and (fault := type_fault(value)):
        return fault, "list[str], dict{title: str} and a|b are types too"
    return None


def _it_is(value: Any) -> str:
    shown = str(encode(value), "utf-8") if isinstance(value, int | float | str) else ""
    return f"it is {kind_of(value)}" + (f" ({shown})" if 0 < len(shown) < 40 else "")
