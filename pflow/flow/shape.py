"""Checking the shape of a flow's JSON: a finding for each part that the schema refuses, and what is left of it."""

from __future__ import annotations

from pflow.flow.findings import SHAPE, Finding
from pflow.flow.schema import SCHEMA, TYPE_FORMAT, is_of_type, type_fault, version_numbers
from pflow.jsontext import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.schema import Schema
    from pflow.paths import Path

_LEFT_OUT: Any = object()


def check_shape(document: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """The parts of the right shape, and a finding for every other part, in the order of the file.

    A part of a wrong shape is left out; in a list, null stands for it. A misspelt member goes on under the name that
    was meant, so that no rule finds fault with what follows from it.
    """
    findings: list[Finding] = []
    return _sound(document, SCHEMA, (), findings), findings


def _sound(value: Any, schema: Schema, place: Path, findings: list[Finding], *, is_needed: bool = False) -> Any:
    """The value without the parts that have a wrong shape; _LEFT_OUT where that is all of it."""
    if "anyOf" in schema and "properties" not in schema:
        schema = schema["anyOf"][isinstance(value, list)]
    if not _fits(value, schema):
        from pflow.flow.misfits import words

        message, remedy = words(value, schema, place)
        if value is None and not is_needed:
            remedy += ", or leave it out"
        findings.append(Finding(SHAPE, place, message, remedy))
        return _meant(value, schema)
    if "properties" in schema:
        return _members(value, schema, place, findings)
    if "items" in schema:
        checked = [_sound(each, schema["items"], (*place, n), findings) for n, each in enumerate(value)]
        return [None if each is _LEFT_OUT else each for each in checked]
    if schema.get("additionalProperties"):
        values = schema["additionalProperties"]
        named = {key: _sound(each, values, (*place, key), findings) for key, each in value.items()}
        return {key: each for key, each in named.items() if each is not _LEFT_OUT}
    return int(value) if schema.get("type") == "integer" else value


def _meant(value: Any, schema: Schema) -> Any:
    """What a value of a wrong shape goes on as: a number as its text, a text as what has it for its type."""
    if schema["type"] == "string" and isinstance(value, int | float):
        return text_of(value)
    return {"type": value} if isinstance(value, str) and "type" in schema.get("properties", ()) else _LEFT_OUT


def _fits(value: Any, schema: Schema) -> bool:
    """Whether a value by itself, apart from what it holds, is what a schema allows."""
    type_name = schema.get("type")
    if type_name is None or not is_of_type(value, type_name):
        return type_name is None
    if type_name == "string":
        return _is_text(value, schema)
    if type_name in ("integer", "number"):
        is_within = schema.get("minimum", value) <= value <= schema.get("maximum", value)
        return bool(is_within and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"]))
    return type_name != "array" or bool(len(value) >= schema.get("minItems", 0))


def _is_text(value: str, schema: Schema) -> bool:
    if "pattern" in schema and version_numbers(value) is None:
        return False
    if schema.get("format") == TYPE_FORMAT and type_fault(value):
        return False
    return len(value) >= schema.get("minLength", 0) and value in schema.get("enum", (value,))


def _members(value: dict[str, Any], schema: Schema, place: Path, findings: list[Finding]) -> dict[str, Any]:
    """An object's sound members; what is missing comes first, unless a misspelt member seems to be it."""
    needed = schema.get("required", [])
    names = {key: key for key in value if key in schema["properties"]}
    if len(names) < len(value):
        from pflow.flow.misfits import name_members

        names = name_members(value, schema)
    known = set(names.values())
    missing = [name for name in needed if name not in known]
    is_nameless = "anyOf" in schema and not any(each["required"][0] in known for each in schema["anyOf"])
    if missing or is_nameless:
        from pflow.flow.misfits import missing_findings

        findings += missing_findings(missing, place)
    sound = {}
    for key, each in value.items():
        name = names.get(key)
        if key != name:
            from pflow.flow.misfits import unknown_finding

            findings.append(unknown_finding(key, name, schema, place))
        if name is None or (key != name and (name in value or name in sound)):
            continue
        checked = _sound(each, schema["properties"][name], (*place, key), findings, is_needed=name in needed)
        if checked is not _LEFT_OUT:
            sound[name] = checked
    return sound
