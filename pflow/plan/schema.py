"""The JSON schema of a plan, for models that take one: the IR's, in the few words that all of them understand."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Schema = dict[str, Any]

_KEPT = ("type", "description", "properties", "additionalProperties", "required", "items", "enum", "anyOf")
"""No references, patterns, bounds or defaults: one server or another refuses each of them."""

_SIMPLE: Schema = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}
"""Stands for any value: not every server takes a schema that says nothing."""

_MOST_NAMES = 200
"""Names that a schema lists."""


def plan_schema(types: Sequence[str] = ()) -> Schema:
    """The schema; a step's type is one of `types`, where those are given and not too many."""
    from pflow.flow.schema import SCHEMA

    plan = _plain(SCHEMA)
    for member in ("$schema", "pflow"):  # a model has no use for them
        del plan["properties"][member]
    step = plan["properties"]["nodes"]["items"]
    step["required"] = ["id", "type"]
    del step["anyOf"], step["properties"]["name"]
    step["properties"]["type"] = {"type": "string", "description": "The node that it runs, or flow:NAME."}
    plan["properties"]["cannot"] = {"type": "string", "description": "Why the task cannot be done; then no nodes."}
    if 0 < len(types) <= _MOST_NAMES:
        step["properties"]["type"]["enum"] = list(types)
    return plan


def _plain(schema: Schema) -> Schema:
    plain = {key: schema[key] for key in _KEPT if key in schema}
    if not plain.keys() - {"description"}:
        return {**plain, **_SIMPLE}
    if "properties" in plain:
        plain["properties"] = {
            key: _plain(each) for key, each in plain["properties"].items() if not each.get("deprecated")
        }
    for key in ("items", "additionalProperties"):
        if isinstance(plain.get(key), dict):
            plain[key] = _plain(plain[key])
    if "anyOf" in plain:
        plain["anyOf"] = [_plain(each) for each in plain["anyOf"]]
    return plain
