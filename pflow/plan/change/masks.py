"""Secrets in a flow's IR: masked before a model or a terminal sees it, put back into what a model answers."""

from __future__ import annotations

from copy import deepcopy

from pflow.explain.account import MASK
from pflow.templates import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.flow import Flow
    from pflow.flow.wired import WiredFlow

    IR = dict[str, Any]
    Place = tuple[str, ...]
    """Where a secret stands: `nodes`, a step's id and the way on; `mappings`; or `inputs`."""


def hidden(flow: Flow) -> IR:
    """The IR of a flow, with a mask in place of each secret."""
    from pflow.flow.unload import flow_to_ir

    ir = deepcopy(flow_to_ir(flow))
    for holder, key, _ in _secrets(flow, ir):
        holder[key] = TEMPLATE + MASK if str(holder[key]).startswith(TEMPLATE) else MASK
    return ir


def restored(answer: IR, flow: Flow) -> IR:
    """What a model answered, each mask in it replaced by the secret that stands at the same place of the flow."""
    from pflow.flow.unload import flow_to_ir

    answer = deepcopy(answer)
    secrets = {place: holder[key] for holder, key, place in _secrets(flow, flow_to_ir(flow))}
    for place, value in secrets.items():
        holder = _at(answer, place[:-1])
        if isinstance(holder, dict) and holder.get(place[-1]) in (MASK, TEMPLATE + MASK):
            holder[place[-1]] = value
    return answer


def _secrets(flow: Flow, ir: IR) -> Iterator[tuple[IR, str, Place]]:
    """Each secret of a flow in its IR: the object that holds it, its key there, and its place."""
    from pflow.flow.wiring import wire

    plan = wire(flow)
    for place in _places(plan):
        holder = _at(ir, place[:-1])
        if isinstance(holder, dict) and place[-1] in holder and holder[place[-1]] is not None:
            yield holder, place[-1], place


def _places(plan: WiredFlow) -> Iterator[Place]:
    for wired in plan.steps.values():
        items = {**wired.interface.params, **wired.interface.reads}
        for key in [key for key, item in items.items() if "secret" in item.marks]:
            yield "nodes", wired.id, "params", key
            yield "nodes", wired.id, "inputs", key
            source = wired.step.input_mappings.get(key)
            if isinstance(source, str) and source.startswith(TEMPLATE):
                yield "mappings", wired.id, "input_mappings", key
    for given in plan.inputs.values():
        if given.secret:
            yield "inputs", given.name, "default"


def _at(ir: IR, place: Place) -> Any:
    """What stands at a place of an IR; a step is found by its id."""
    value: Any = ir
    for name in place:
        if isinstance(value, list):
            value = next((each for each in value if isinstance(each, dict) and _id(each) == name), None)
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def _id(node: IR) -> Any:
    return node.get("id") or node.get("type") or node.get("name")
