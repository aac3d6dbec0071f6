"""Building a Flow from a document of the right shape, in any dialect, with defaults for what is not written."""

from __future__ import annotations

from itertools import pairwise

from pflow import Any
from pflow.binding.store import key_mappings
from pflow.errors import USAGE, Attempt
from pflow.flow.flow import INLINE, Batch, Edge, FlowInput, FlowSpec, Input, Step
from pflow.interface.interface import spell_flag
from pflow.values.jsontext import decode
from pflow.values.paths import Path, parse_path
from pflow.values.types import parse_type

Document = dict[str, Any]


def build_flow(document: Document) -> FlowSpec:
    """Build the flow of a document that `check_shape` has passed; a null in a list replaces a part it left out."""
    nodes = [node or {} for node in document.get("nodes", [])]
    mappings = document.get("mappings", {})
    steps, dialects = [], set()
    for number, (id, node) in enumerate(zip(_ids(nodes), nodes, strict=True)):
        if id:
            converted, mapping, dialect = convert(node, mappings.get(id, {}))
            steps.append(_step(id, converted, mapping, ("nodes", number)))
            dialects.add(dialect)
    flow = FlowSpec(steps, _edges(document, [step.id for step in steps]))
    flow.schema = document.get("$schema", "")
    flow.name = document.get("name", "")
    flow.description = document.get("description", "")
    inputs = document.get("inputs", {})
    flow.inputs = {name: Input(name, has_default="default" in given, **given) for name, given in inputs.items()}
    flow.outputs = document.get("outputs", {})
    flow.max_visits = document.get("max_visits")
    flow.dialect = next((dialect for dialect in (BINDINGS, KEYS) if dialect in dialects), PFLOW)
    ids = {step.id for step in steps}
    flow.stray_mappings = {id: each for id, each in mappings.items() if id not in ids}
    return flow


def inputs_of_script(text: str) -> dict[str, FlowInput]:
    """Return the inputs that an exported script declares in JSON. Raises PflowError (2)."""
    inputs = {}
    with Attempt("cannot take --inputs", of=(ValueError, AttributeError, TypeError), exit=USAGE):
        for name, facts in decode(text.encode()).items():
            path, type = parse_path(facts.pop("at", name)), parse_type(facts.pop("type", "any"))[0]
            flags = list(map(str, facts.pop("flags", [])))
            inputs[name] = FlowInput(name, path, type, **{"flag": spell_flag(name), "flags": flags, **facts})
    return inputs


def _ids(nodes: list[Document]) -> list[str]:
    """Return the id of each node, by default after its name or type; "" if it has none of these."""
    taken = {node["id"]: 2 for node in nodes if "id" in node}
    ids = []
    for node in nodes:
        own = node.get("name") or node.get("type", INLINE if "nodes" in node else "")
        id = node.get("id") or (id_after(own, taken) if own else "")
        taken.setdefault(id, 2)
        ids.append(id)
    return ids


def id_after(type: str, taken: dict[str, int]) -> str:
    """Make the id of a step that has none: `llm`, then `llm-2`; `fix` for `flow:fix` and `flows/fix.pflow.json`."""
    base = type.removeprefix("flow:").rpartition("/")[2].removesuffix(".json").removesuffix(".pflow") or type
    return numbered(base, taken)


def numbered(name: str, taken: dict[str, int]) -> str:
    """Return the name if it is free, else the first free `NAME-2`…; `taken` has the next number, at first 2."""
    if name not in taken:
        return name
    while f"{name}-{taken[name]}" in taken:
        taken[name] += 1
    return f"{name}-{taken[name]}"


STEP_MEMBERS = (
    "description", "version", "params", "inputs", "retries", "wait", "timeout", "max_visits", "repeats", "cache",
)  # fmt: skip
"""The members of a node that a step takes unchanged."""
INLINE_MEMBERS = ("nodes", "edges", "mappings", "outputs")
"""The members of a node that are a flow inside its step."""


def _step(id: str, node: Document, mapping: Document, place: Path) -> Step:
    members = {name: node[name] for name in STEP_MEMBERS if name in node}
    sources = {key: _source(written) for key, written in mapping.get("input_mappings", {}).items()}
    batch = {"item" if name == "as" else name: value for name, value in node.get("batch", {}).items()}
    inside = build_flow({name: node[name] for name in INLINE_MEMBERS if name in node}) if "nodes" in node else None
    if inside is not None:
        inside.document, inside.items = node, ()
    return Step(
        id,
        str(node.get("type", INLINE if "nodes" in node else node.get("name", id))),
        flow=inside,
        place=place,
        input_mappings=sources,
        output_mappings=mapping.get("output_mappings"),
        soft=mapping.get("soft"),
        batch=Batch(**batch) if "over" in batch else None,
        **members,
    )


def _source(written: Any) -> Any:
    return [path for path in written if path is not None] if isinstance(written, list) else written


def _edges(document: Document, ids: list[str]) -> list[Edge]:
    """Return the edges; a chain if none are written or one has a wrong shape, so that the rules can still follow."""
    written = [edge or {} for edge in document.get("edges", [{}])]
    if not all("from" in edge and "to" in edge for edge in written):
        return chain(ids)
    return [
        Edge(edge["from"], edge["to"], edge.get("action", "default"), ("edges", number))
        for number, edge in enumerate(written)
    ]


def chain(ids: list[str]) -> list[Edge]:
    """Return the edges of a flow without `edges`: the steps one after another."""
    return [Edge(source, target) for source, target in pairwise(ids)]


PFLOW, BINDINGS, KEYS = "pflow", "bindings", "keys"

_BINDINGS = {"input_bindings": "input_mappings", "output_bindings": "output_mappings"}
OF_BINDINGS = (*_BINDINGS, "config")
"""The members of a node in the form of seed 002, which become params too."""


def convert(node: Document, mapping: Document) -> tuple[Document, Document, str]:
    """Convert a node and its entry in `mappings` to pflow's form; return both and the node's dialect.

    For a key that both name, the entry counts.
    """
    dialect = PFLOW
    if keys := key_mappings(node.get("params", {})):
        keys = {goal: made for goal, made in keys.items() if "$" not in "".join(made)}  # a visit follows a template
        mapping = {**mapping, **{goal: {**made, **mapping.get(goal, {})} for goal, made in keys.items()}}
        dialect = KEYS
    if any(member in node for member in OF_BINDINGS):
        node, mapping = _from_bindings(node, mapping)
        dialect = BINDINGS
    return node, mapping, dialect


def _from_bindings(node: Document, mapping: Document) -> tuple[Document, Document]:
    """Convert seed 002: the params are `config`'s members and all three objects, since its nodes look into them."""
    objects = {member: node.get(member, {}) for member in OF_BINDINGS}
    kept = {member: value for member, value in node.items() if member not in objects}
    bound = {goal: {**objects[member], **mapping.get(goal, {})} for member, goal in _BINDINGS.items()}
    return {**kept, "params": {**node.get("params", {}), **objects["config"], **objects}}, {**mapping, **bound}
