"""The dialects of the seeds: a node in an older form, and its mappings, as this form has them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.findings import Place
    from pflow.flow.flow import Flow, Step

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


def place_in_file(flow: Flow, place: Place) -> Place:
    """Where the file of an older form has what stands at a place of this form."""
    if flow.dialect not in (BINDINGS, KEYS) or len(place) < 4:
        return place
    step = next((each for each in flow.steps if place[1] == each.id or place[:2] == each.place), None)
    if step is None:
        return place
    if place[0] == "mappings":
        return _place_of_mapping(step, place)
    config = step.params.get("config")
    is_config = place[2] == "params" and isinstance(config, dict) and place[3] in config
    return (*step.place, "config", *place[3:]) if is_config else place


def _place_of_mapping(step: Step, place: Place) -> Place:
    for older, goal in [*_BINDINGS.items(), *_KEYS.items()]:
        written = step.params.get(older)
        if goal == place[2] and written == place[3]:
            return (*step.place, "params", older)
        if goal == place[2] and isinstance(written, dict) and place[3] in written:
            return (*step.place, older, place[3])
    return place
