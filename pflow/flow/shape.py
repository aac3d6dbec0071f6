"""The shape of a flow's JSON: a finding, in words, for each part that the schema refuses, and what is left of it."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.findings import SHAPE, Finding
from pflow.flow.schema import SCHEMA, TYPE_FORMAT, VERSION, is_of_type, parts, type_fault, version_numbers
from pflow.jsontext import decode, encode, text_of
from pflow.naming import nearest
from pflow.paths import kind_of

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
    """What a value of a wrong shape goes on as, where that is sound: a number as its text, a text as a type."""
    if schema["type"] == "string" and isinstance(value, int | float):
        text = text_of(value)
        return text if _fits(text, schema) else _LEFT_OUT
    members = schema.get("properties", {})
    is_type = isinstance(value, str) and "type" in members and _fits(value, members["type"])
    return {"type": value} if is_type else _LEFT_OUT


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
        names = name_members(value, schema)
    known = set(names.values())
    missing = [name for name in needed if name not in known]
    is_nameless = "anyOf" in schema and not any(each["required"][0] in known for each in schema["anyOf"])
    if missing or is_nameless:
        findings += missing_findings(missing, place)
    sound = {}
    for key, each in value.items():
        name = names.get(key)
        if key != name:
            findings.append(unknown_finding(key, name, schema, place))
        if name is None or (key != name and (name in value or name in sound)):
            continue
        checked = _sound(each, schema["properties"][name], (*place, key), findings, is_needed=name in needed)
        if checked is not _LEFT_OUT:
            sound[name] = checked
    return sound


_WANTED = {
    "string": ("a str", 'write "…"'),
    "integer": ("an int", "write a whole number"),
    "number": ("a number", "write a number"),
    "boolean": ("a bool", "write true or false"),
    "object": ("a dict", 'write {"…": …}'),
    "array": ("a list", "write […]"),
}
_BARE: dict[str, tuple[type, ...]] = {"integer": (int,), "number": (int, float), "boolean": (bool,)}
"""What may stand in quotes where it should not."""

_MISSING = {
    "nodes": 'add "nodes": [{"type": "…"}]',
    "from": "add the id of the step that it leads from",
    "to": "add the id of the step that it leads to",
    "over": "add the path of a list or an object",
}
_USUAL = {"string": "str", "text": "str", "integer": "int", "number": "float", "boolean": "bool"}
_USUAL |= {"array": "list", "object": "dict", "file": "path", "null": "any"}


def words(value: Any, schema: Schema, place: Path) -> tuple[str, str]:
    """What is wrong with a value, and what to write instead."""
    wanted, remedy = _WANTED[schema["type"]]
    if is_of_type(value, schema["type"]):
        return _range_words(value, schema, place)
    message = f"{_it_is(value)}, not {wanted}"
    if schema["type"] == "string" and isinstance(value, int | float):
        return message, f'write "{text_of(value)}"'
    if isinstance(value, str) and type(_inside(value)) in _BARE.get(schema["type"], ()):
        return message, f"write {value.strip()}, without quotes"
    if isinstance(value, str) and "type" in schema.get("properties", ()):
        return message, f'write {{"type": "{value}"}}'
    return message, remedy


def _it_is(value: Any) -> str:
    shown = str(encode(value), "utf-8") if isinstance(value, int | float | str) else ""
    return f"it is {kind_of(value)}" + (f" ({shown})" if 0 < len(shown) < 40 else "")


def _inside(text: str) -> Any:
    try:
        return decode(text.encode())
    except ValueError:
        return None


def _range_words(value: Any, schema: Schema, place: Path) -> tuple[str, str]:
    """The words for a value of the right type that is out of range."""
    if place == ("pflow",):
        remedy = "a newer pflow may read it" if value > VERSION else f"write {VERSION}"
        return f"the file is of version {value}, and this pflow reads version {VERSION}", remedy
    if "exclusiveMinimum" in schema:
        return f"it is {value}, not more than 0", "write more than 0"
    if "minimum" in schema:
        return f"it is {value}, less than {schema['minimum']}", f"write {schema['minimum']} or more"
    if "pattern" in schema:
        return f"{_it_is(value)}, not a version", 'write one like "1.0.0"'
    if "enum" in schema:
        choices = " or ".join(map(repr, schema["enum"]))
        return f"{_it_is(value)}, not {choices}", f"write {choices}"
    if schema.get("format") == TYPE_FORMAT:
        usual = _USUAL.get(value) or nearest(value, ("path", "bytes", "list", "dict", "float", "bool"))
        return type_fault(value), f"did you mean {usual}?" if usual else ""
    return "it is empty", "a flow has a step at least" if place == ("nodes",) else "write one"


def name_members(value: dict[str, Any], schema: Schema) -> dict[str, str]:
    """The member that each key of an object means; an unknown key means the nearest, else the first that is missing."""
    properties = schema["properties"]
    names = {key: key if key in properties else nearest(key, properties) for key in value}
    missing = [name for name in schema.get("required", []) if name not in names.values()]
    return {key: meant for key, name in names.items() if (meant := name or (missing.pop(0) if missing else None))}


def missing_findings(missing: list[str], place: Path) -> list[Finding]:
    """A finding for each missing member; without any, for a node that nothing names."""
    if not missing:
        return [Finding(SHAPE, place, "it has no id, type or name", 'add "type", the node that it runs')]
    return [Finding(SHAPE, (*place, name), "it is missing", _MISSING[name]) for name in missing]


def unknown_finding(key: str, meant: str | None, schema: Schema, place: Path) -> Finding:
    """The finding for a member that there is not, with the one that was meant, or the part that has it."""
    if meant:
        remedy = f"did you mean {meant}?"
    elif home := next((part for part, other in parts().items() if key in other["properties"]), ""):
        remedy = f"it belongs to {home}"
    else:
        title = next(part for part, other in parts().items() if other["properties"] is schema["properties"])
        members = [name for name, each in schema["properties"].items() if "deprecated" not in each]
        remedy = f"{title} has {', '.join(members)}"
    return Finding(SHAPE, (*place, key), "there is no such member", remedy)
