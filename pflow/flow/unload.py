"""Unloading a flow: from a Flow back to its IR, and the IR's text."""

from __future__ import annotations

from pflow.flow.build import chain
from pflow.flow.flow import MAX_VISITS
from pflow.flow.jsonfile import write_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Batch, Edge, Flow, Input, Step

    IR = dict[str, Any]


def flow_to_ir(flow: Flow) -> IR:
    """The IR of a flow, without what is default. Loading it gives an equal flow, whatever dialect this one was in."""
    ids = [step.id for step in flow.steps]
    is_chain = list(map(_edge, flow.edges)) == list(map(_edge, chain(ids)))
    mappings = {step.id: mapping for step in flow.steps if (mapping := _mapping(step))}
    return {
        **_given(**{"$schema": flow.schema}),
        "pflow": 1,
        **_given(name=flow.name, description=flow.description),
        **_given(inputs={name: _input(given) for name, given in flow.inputs.items()}, outputs=flow.outputs),
        "nodes": [_node(step) for step in flow.steps],
        **({} if is_chain else {"edges": [_edge(edge) for edge in flow.edges]}),
        **_given(mappings=mappings | flow.stray_mappings),
        **({} if flow.max_visits == MAX_VISITS else {"max_visits": flow.max_visits}),
    }


def canonical_json(ir: IR) -> str:
    """The IR's text: two spaces a level, members in their order, non-ASCII as it is, a newline at the end."""
    return write_json(ir)


def _given(**members: Any) -> IR:
    """Those members that say something: neither empty nor null."""
    return {name: value for name, value in members.items() if value is not None and value not in ("", {})}


def _node(step: Step) -> IR:
    return {
        "id": step.id,
        "type": step.type,
        **_given(description=step.description, version=step.version, params=step.params, inputs=step.inputs),
        **_given(retries=step.retries, wait=step.wait, timeout=step.timeout, max_visits=step.max_visits),
        **({} if step.batch is None else {"batch": _batch(step.batch)}),
    }


def _batch(batch: Batch) -> IR:
    item = {} if batch.item == "item" else {"as": batch.item}
    on_error = {} if batch.on_error == "stop" else {"on_error": batch.on_error}
    return {"over": batch.over, **item, **_given(jobs=batch.jobs), **on_error}


def _edge(edge: Edge) -> IR:
    action = {} if edge.action == "default" else {"action": edge.action}
    return {"from": edge.source, "to": edge.target, **action}


def _mapping(step: Step) -> IR:
    return _given(input_mappings=step.input_mappings, output_mappings=step.output_mappings)


def _input(given: Input) -> IR:
    return {
        **({} if given.type == "any" else {"type": given.type}),
        **_given(description=given.description),
        **({} if given.required or given.has_default else {"required": False}),
        **({"pipe": True} if given.pipe else {}),
        **({"default": given.default} if given.has_default else {}),
    }
