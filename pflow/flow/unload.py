"""Unloading a flow: from a Flow back to its IR, and the IR's text and hash."""

from __future__ import annotations

from pflow import Any, Iterable, Iterator
from pflow.errors import PflowError, result_of
from pflow.flow.build import INLINE_MEMBERS, STEP_MEMBERS, chain
from pflow.flow.flow import Batch, Edge, FlowSpec, Input, Step
from pflow.flow.wired import WiredFlow, WiredStep
from pflow.flow.writes import END
from pflow.flow.written import MAPPING, OUTPUT, OVER, Part
from pflow.values.digest import sha256
from pflow.values.jsontext import encode
from pflow.values.paths import parse_path, write_path

IR = dict[str, Any]


def flow_to_ir(flow: FlowSpec) -> IR:
    """Return the IR of a flow, without defaults. Loading it gives an equal flow, whatever dialect this one was in."""
    edges = [_edge(edge) for edge in flow.edges]
    is_chain = edges == [_edge(edge) for edge in chain([step.id for step in flow.steps])]
    mappings = {step.id: _said(step, "input_mappings", "output_mappings", "soft") for step in flow.steps}
    mappings = {id: mapping for id, mapping in mappings.items() if mapping} | flow.stray_mappings
    return {
        **({"$schema": flow.schema} if flow.schema else {}),
        "pflow": 1,
        **_said(flow, "name", "description"),
        **({"inputs": {name: _input(given) for name, given in flow.inputs.items()}} if flow.inputs else {}),
        **_said(flow, "outputs"),
        "nodes": [_node(step) for step in flow.steps],
        **({} if is_chain else {"edges": edges}),
        **({"mappings": mappings} if mappings else {}),
        **_said(flow, "max_visits"),
    }


def _said(thing: Any, *names: str, **defaults: Any) -> IR:
    """Return those members of a thing that are neither empty, null nor their default."""
    members = {name: getattr(thing, name) for name in (*names, *defaults)}
    return {
        name: value
        for name, value in members.items()
        if value is not None and value not in ("", {}) and (name not in defaults or value != defaults[name])
    }


def _node(step: Step) -> IR:
    batch = {}
    if step.batch is not None:
        usual = Batch(step.batch.over).members | {"over": None}
        batch["batch"] = {name: value for name, value in step.batch.members.items() if value != usual[name]}
    inside = flow_to_ir(step.flow) if step.flow is not None else {}
    inline = {name: inside[name] for name in INLINE_MEMBERS if name in inside}
    return {"id": step.id, "type": step.type, **_said(step, *STEP_MEMBERS), **batch, **inline}


def _edge(edge: Edge) -> IR:
    return {"from": edge.source, "to": edge.target, **_said(edge, action="default")}


def _input(given: Input) -> IR:
    members = _said(given, type="any", description="", required=not given.has_default, pipe=False)
    return {**members, **({"default": given.default} if given.has_default else {})}


def flow_hash(flow: WiredFlow) -> str:
    """Return the SHA-256, in hex, of canonical JSON of the steps in order (id, type, version), the edges, the mappings
    and the paths that templates use.

    Outputs and batches count as mappings; of a `template:` only its paths count, as in inputs and params. A subflow's
    version is its own hash. A step of an unknown kind has the version it asks for.
    """
    steps = flow.steps.values()
    facts = {
        "edges": sorted({(edge.source, edge.action, edge.target) for edge in flow.flow.edges}),
        "mappings": [[wired.id, mapped] for wired in steps if (mapped := _mapped(wired, flow.parts[wired.id]))],
        "outputs": sorted(_places(flow.parts[END])),
        "steps": [[wired.id, wired.step.type, _version(wired)] for wired in steps],
    }
    return str(sha256(encode(facts, escape=False)).hexdigest())


def _version(wired: WiredStep) -> str:
    if wired.subflow is not None:
        return flow_hash(wired.subflow)
    asked, kind = wired.step.version or "", wired.kind
    return result_of(lambda: kind.version if kind else asked, of=(PflowError, OSError), otherwise=asked)


def _mapped(wired: WiredStep, parts: list[Part]) -> dict[str, Any]:
    """Return a step's mappings: the sources of its reads, the paths in its templates, the targets of its writes."""
    reads = sorted(_places(parts))
    writes = sorted([key, _path(target)] for key, target in wired.step.output_mappings.items())
    item = wired.step.batch.item if wired.step.batch else None
    facts = {"item": item, "reads": reads, "soft": wired.step.soft, "writes": writes}
    return {name: fact for name, fact in facts.items() if fact}


def _places(parts: Iterable[Part]) -> Iterator[list[Any]]:
    """Yield role, key and paths of each part that is a mapping or has a template; a template's paths are sorted."""
    for part in parts:
        is_mapping = part.role in (MAPPING, OVER, OUTPUT)
        if part.fault and is_mapping:
            yield [part.role, part.key, "fault", [str(part.written)]]
        elif part.is_template and (part.paths or is_mapping):
            yield [part.role, part.key, "template", sorted(map(write_path, part.paths))]
        elif is_mapping:
            yield [part.role, part.key, "paths", list(map(write_path, part.paths))]


def _path(written: str) -> str:
    return result_of(lambda: write_path(parse_path(written)), of=ValueError, otherwise=written)
