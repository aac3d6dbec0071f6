"""Where a flow takes secrets: the values that stand there, and the flow without them."""

from __future__ import annotations

from pflow import Any, Iterator
from pflow.flow.build import OF_BINDINGS
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
            yield ("inputs", name, "default"), True, "leave it out: the store gives it"
    for step in wired.steps.values():
        variables = {item.name: item.env for item in step.interface.secrets}
        for part in wired.parts[step.id]:
            is_value = part.is_template or part.role in (INPUT, PARAM) or TEMPLATE in str(part.written)
            if part.key in variables and is_value and part.written is not None:
                env, is_read = variables[part.key], part.key in step.interface.reads
                giver = f"the environment's {env}" if env else "the store" if is_read else ""
                remedy = "leave it out" + (f": {giver} gives it" if giver else "")
                member = "mappings" if part.role == MAPPING else "nodes"
                yield (member, step.id, str(part.place[-2]), part.key), not part.paths, remedy


def literal_secrets(wired: WiredFlow) -> Iterator[tuple[Place, str]]:
    """Yield the place and the remedy of each secret that a flow, or one inside its steps, holds without references."""
    yield from ((place, remedy) for place, is_literal, remedy in secrets_of(wired) if is_literal)
    for step in wired.steps.values():
        yield from literal_secrets(step.inline) if step.inline is not None else ()


def masked_ir(wired: WiredFlow) -> dict[str, Any]:
    """Return the IR of a flow with every secret masked, those of flows inside its steps too."""
    from pflow.flow.unload import flow_to_ir

    ir: dict[str, Any] = fresh(flow_to_ir(wired.flow))
    at = {**ir, "nodes": {node["id"]: node for node in ir["nodes"]}}
    for step in wired.steps.values():
        if step.inline is not None:
            inside = masked_ir(step.inline)
            at["nodes"][step.id] |= {name: inside[name] for name in ("nodes", "mappings") if name in inside}
    for (member, name, *part, key), *_ in secrets_of(wired):
        there: Any = at[member].get(name, {})
        holders = [there.get(each, {}) for each in part] or [there]
        params = at["nodes"].get(name, {}).get("params", {}) if part else {}
        holders += [params.get(each) for each in OF_BINDINGS]  # a dialect keeps them there too
        for holder in [each for each in holders if isinstance(each, dict) and key in each]:
            holder[key] = TEMPLATE + MASK if TEMPLATE in str(holder[key]) else MASK
    return ir
