"""The dialects of the seeds: a node in an older form, and its mappings, as this form has them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Mapping = dict[str, Any]

PFLOW, BINDINGS, KEYS = "pflow", "bindings", "keys"

_BINDINGS = {"input_bindings": "input_mappings", "output_bindings": "output_mappings"}
_KEYS = {"input_key": "input_mappings", "output_key": "output_mappings"}


def convert(node: Node, mapping: Mapping) -> tuple[Node, Mapping, str]:
    """A node and its entry in `mappings`, both in this form, and the dialect that the node was in.

    What the entry says of a key counts, whatever the node says of it.
    """
    dialect = PFLOW
    if any(isinstance(node.get("params", {}).get(key), str) for key in _KEYS):
        node, mapping = _from_keys(node, mapping)
        dialect = KEYS
    if any(member in node for member in (*_BINDINGS, "config")):
        node, mapping = _from_bindings(node, mapping)
        dialect = BINDINGS
    return node, mapping, dialect


def _from_bindings(node: Node, mapping: Mapping) -> tuple[Node, Mapping]:
    """Seed 002: the params are `config`'s members, and all three objects, since its nodes look into them."""
    objects = {member: node.get(member, {}) for member in (*_BINDINGS, "config")}
    kept = {member: value for member, value in node.items() if member not in objects}
    bound = {goal: {**objects[member], **mapping.get(goal, {})} for member, goal in _BINDINGS.items()}
    return {**kept, "params": {**node.get("params", {}), **objects["config"], **objects}}, {**mapping, **bound}


def _from_keys(node: Node, mapping: Mapping) -> tuple[Node, Mapping]:
    """Seed 000: the node asks the store for a whole path as if it were a key; the mapping makes it the path."""
    for param, goal in _KEYS.items():
        path = node["params"].get(param)
        if isinstance(path, str):
            mapping = {**mapping, goal: {path: path, **mapping.get(goal, {})}}
    return node, mapping
