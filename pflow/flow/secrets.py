"""Where a flow takes secrets: the values that stand there, and the flow without them."""

from __future__ import annotations

from pflow import Any, Iterator
from pflow.flow.unload import flow_to_ir
from pflow.flow.wired import WiredFlow
from pflow.flow.written import INPUT, MAPPING, PARAM
from pflow.interface.interface import fresh
from pflow.values.secrets import MASK
from pflow.values.templates import TEMPLATE

Place = tuple[str, ...]


def secrets_of(wired: WiredFlow) -> Iterator[tuple[Place, bool, str]]:
    """Yield each place where a value stands that a flow or a node takes as a secret, True if the value has no
    references, and the remedy.

    A place is `inputs`, a name and `default`; or `nodes` or `mappings`, a step's id, its part and a key.
    """
    for name, declared in wired.flow.inputs.items():
        used = wired.inputs.get(name)
        if declared.default is not None and used is not None and used.secret:
            yield ("inputs", name, "default"), True, "take it out: the store gives it when the flow runs"
    for step in wired.steps.values():
        variables = {item.name: item.env for item in step.interface.secrets}
        for part in wired.parts[step.id]:
            is_value = part.is_template or part.role in (INPUT, PARAM)
            if part.key in variables and is_value and part.written is not None:
                env = variables[part.key]
                remedy = f"take it out: the environment's {env} gives it" if env else "take it out"
                member = "mappings" if part.role == MAPPING else "nodes"
                yield (member, step.id, str(part.place[-2]), part.key), not part.paths, remedy


def literal_secrets(wired: WiredFlow) -> Iterator[tuple[Place, str]]:
    """Yield the place and the remedy of each secret that a flow, or one inside its steps, holds without references."""
    yield from ((place, remedy) for place, is_literal, remedy in secrets_of(wired) if is_literal)
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
    for (*place, key), *_ in secrets_of(wired):
        holder: Any = at
        for name in place:
            holder = holder.get(name, {})
        if key in holder:
            holder[key] = TEMPLATE + MASK if place[0] == "mappings" else MASK
    return ir
