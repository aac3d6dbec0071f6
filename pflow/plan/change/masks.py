"""Secrets in a flow's IR: masked before a model or a terminal sees it, restored in what a model answers."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from pflow.explain.account import MASK
from pflow.flow.unload import flow_to_ir
from pflow.flow.wired import WiredFlow
from pflow.templates import TEMPLATE

IR = dict[str, Any]
Place = tuple[str, ...]
"""Where a secret stands: `nodes`, a step's id and the path from there; `mappings`; or `inputs`."""


def masked(wired: WiredFlow) -> IR:
    """The IR of a flow, with a mask in place of each secret."""
    ir = deepcopy(flow_to_ir(wired.flow))
    for holder, key, _ in _secrets(wired, ir):
        holder[key] = TEMPLATE + MASK if str(holder[key]).startswith(TEMPLATE) else MASK
    return ir


def unmasked(answer: IR, wired: WiredFlow) -> IR:
    """What a model answered, each mask replaced by the secret at the same place of the flow."""
    answer = deepcopy(answer)
    for old, key, place in _secrets(wired, flow_to_ir(wired.flow)):
        holder = _at(answer, place[:-1])
        if isinstance(holder, dict) and is_mask(holder.get(key)):
            holder[key] = old[key]
    return answer


def is_mask(value: Any) -> bool:
    return value in (MASK, TEMPLATE + MASK)


def _secrets(wired: WiredFlow, ir: IR) -> Iterator[tuple[IR, str, Place]]:
    """Each secret of a flow in its IR: the object that holds it, its key there, and its place."""
    for place in _places(wired):
        holder = _at(ir, place[:-1])
        if isinstance(holder, dict) and holder.get(place[-1]) is not None:
            yield holder, place[-1], place


def _places(wired: WiredFlow) -> Iterator[Place]:
    for step in wired.steps.values():
        items = {**step.interface.params, **step.interface.reads}
        for key in [key for key, item in items.items() if "secret" in item.marks]:
            yield "nodes", step.id, "params", key
            yield "nodes", step.id, "inputs", key
            source = step.step.input_mappings.get(key)
            if isinstance(source, str) and source.startswith(TEMPLATE):
                yield "mappings", step.id, "input_mappings", key
    for each in wired.inputs.values():
        if each.secret:
            yield "inputs", each.name, "default"


def _at(ir: IR, place: Place) -> Any:
    """What stands at a place of an IR; a step is found by its id."""
    value: Any = ir
    for name in place:
        if isinstance(value, list):
            steps = [each for each in value if isinstance(each, dict)]
            value = next(
                (each for each in steps if (each.get("id") or each.get("type") or each.get("name")) == name), None
            )
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def _id(node: IR) -> Any:
    return node.get("id") or node.get("type") or node.get("name")
