"""Where a flow takes secrets: the values that stand there, and the flow without them."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Iterator
from pflow.flow.flow import Step
from pflow.flow.unload import flow_to_ir
from pflow.flow.wired import WiredFlow
from pflow.interface.interface import fresh
from pflow.values.secrets import MASK
from pflow.values.templates import TEMPLATE, references

if TYPE_CHECKING:
    Place = tuple[str, ...]


def secrets_of(wired: WiredFlow) -> Iterator[tuple[Place, Any, str]]:
    """Yield each value that stands where a flow or a node takes a secret: its place, the value, and the remedy.

    A place is `inputs`, a name and `default`; or `nodes` or `mappings`, a step's id, its part and a key.
    """
    for name, declared in wired.flow.inputs.items():
        used = wired.inputs.get(name)
        if declared.default is not None and used is not None and used.secret:
            yield ("inputs", name, "default"), declared.default, "take it out: the store gives it when the flow runs"
    for step in wired.steps.values():
        for item in step.interface.secrets:
            remedy = f"take it out: the environment's {item.env} gives it" if item.env else "take it out"
            yield from ((place, value, remedy) for place, value in _written(step.step, item.name))


def _written(step: Step, key: str) -> Iterator[tuple[Place, Any]]:
    """Yield the values in a step for a key: a value of its own, or a template as its mapping."""
    source = step.input_mappings.get(key)
    is_template = isinstance(source, str) and source.startswith(TEMPLATE)
    parts = (("nodes", "params", step.params.get(key)), ("nodes", "inputs", step.inputs.get(key)))
    for member, part, value in (*parts, ("mappings", "input_mappings", source if is_template else None)):
        if value is not None:
            yield (member, step.id, part, key), value


def literal_secrets(wired: WiredFlow) -> Iterator[tuple[Place, str]]:
    """Yield the place and the remedy of each secret that a flow, or one inside its steps, holds without references."""
    for place, value, remedy in secrets_of(wired):
        if not any(references(value.removeprefix(TEMPLATE) if isinstance(value, str) else value)):
            yield place, remedy
    for step in wired.steps.values():
        yield from literal_secrets(step.inline) if step.inline is not None else ()


def masked_ir(wired: WiredFlow) -> dict[str, Any]:
    """Return the IR of a flow with every secret masked, those of flows inside its steps too."""
    ir: dict[str, Any] = fresh(flow_to_ir(wired.flow))
    at = {**ir, "nodes": {node["id"]: node for node in ir["nodes"]}}
    for step in wired.steps.values():
        if step.inline is not None:
            inside = masked_ir(step.inline)
            at["nodes"][step.id] |= {name: inside[name] for name in ("nodes", "mappings") if name in inside}
    for (*place, key), value, _ in secrets_of(wired):
        holder: Any = at
        for name in place:
            holder = holder.get(name, {})
        if key in holder:
            holder[key] = TEMPLATE + MASK if str(value).startswith(TEMPLATE) else MASK
    return ir
