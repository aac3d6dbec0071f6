"""The IR of a flow: read into a FlowSpec in any dialect, written back, hashed, and shown without its secrets."""

from __future__ import annotations

from itertools import pairwise

from pflow import Any, Iterable, Iterator
from pflow.binding.store import key_mappings
from pflow.catalog.find import Catalog
from pflow.errors import BAD_DATA, USAGE, Attempt, PflowError, result_of
from pflow.flow.expressions import INPUT, MAPPING, OUTPUT, OVER, PARAM, Expression
from pflow.flow.flow import INLINE, INLINE_MEMBERS, STEP_MEMBERS, Batch, Edge, FlowInput, FlowSpec, Input, Step
from pflow.flow.graph import END
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.interface import fresh, spell_flag
from pflow.values.digest import sha256
from pflow.values.jsontext import decode, encode
from pflow.values.paths import Path, parse_path, type_name, write_path
from pflow.values.secrets import MASK
from pflow.values.templates import TEMPLATE
from pflow.values.types import parse_type

Document = dict[str, Any]


def load_document(document: Any, name: str, catalog: Catalog | None = None) -> FlowSpec:
    """Load the flow in a decoded JSON document. Raises PflowError (65) if it is not an object."""
    if not isinstance(document, dict):
        what = f"cannot read the flow '{name}': it holds {type_name(document)}, not a dict"
        raise PflowError(what, hint='a flow is {"nodes": [{"type": "…"}]}', exit=BAD_DATA)
    from pflow.flow.schema import check_shape

    sound, findings = check_shape(document)
    flow = build_flow(sound)
    flow.findings, flow.document = findings, document
    flow.catalog = catalog or flow.catalog
    return flow


def build_flow(document: Document) -> FlowSpec:
    """Build a flow from a document that `check_shape` returned: wrong parts are missing, or null in a list."""
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
    """Return the inputs that a script made by `pflow export` declares in JSON. Raises PflowError (2)."""
    inputs = {}
    with Attempt("cannot take --inputs", of=(ValueError, AttributeError, TypeError), exit=USAGE):
        for name, facts in decode(text.encode()).items():
            path, type = parse_path(facts.pop("at", name)), parse_type(facts.pop("type", "any"))[0]
            flags = list(map(str, facts.pop("flags", [])))
            inputs[name] = FlowInput(name, path, type, **{"flag": spell_flag(name), "flags": flags, **facts})
    return inputs


def _ids(nodes: list[Document]) -> list[str]:
    """Return the id of each node: its own, or one made from its name or type; "" if it has none of these."""
    taken = {node["id"]: 2 for node in nodes if "id" in node}
    ids = []
    for node in nodes:
        own = node.get("name") or node.get("type", INLINE if "nodes" in node else "")
        id = node.get("id") or (id_after(own, taken) if own else "")
        taken.setdefault(id, 2)
        ids.append(id)
    return ids


def id_after(type: str, taken: dict[str, int]) -> str:
    """Make an id for a step without one: `llm`, then `llm-2`; `fix` for `flow:fix` and for `flows/fix.pflow.json`."""
    base = type.removeprefix("flow:").rpartition("/")[2].removesuffix(".json").removesuffix(".pflow") or type
    return numbered(base, taken)


def numbered(name: str, taken: dict[str, int]) -> str:
    """Return the name if it is free, else `NAME-2` or the next free one. `taken` has the next number for each name."""
    if name not in taken:
        return name
    while f"{name}-{taken[name]}" in taken:
        taken[name] += 1
    return f"{name}-{taken[name]}"


def _step(id: str, node: Document, mapping: Document, location: Path) -> Step:
    members = {name: node[name] for name in STEP_MEMBERS if name in node}
    sources = {key: _source(written) for key, written in mapping.get("input_mappings", {}).items()}
    batch = {"item" if name == "as" else name: value for name, value in node.get("batch", {}).items()}
    inside = build_flow({name: node[name] for name in INLINE_MEMBERS if name in node}) if "nodes" in node else None
    if inside is not None:
        inside.document, inside.item_names = node, ()
    return Step(
        id,
        str(node.get("type", INLINE if "nodes" in node else node.get("name", id))),
        flow=inside,
        location=location,
        input_mappings=sources,
        output_mappings=mapping.get("output_mappings"),
        soft=mapping.get("soft"),
        batch=Batch(**batch) if "over" in batch else None,
        **members,
    )


def _source(written: Any) -> Any:
    return [path for path in written if path is not None] if isinstance(written, list) else written


def _edges(document: Document, ids: list[str]) -> list[Edge]:
    """Return the edges; a chain if there are none, or if one has a wrong shape, so that rules have a graph."""
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
"""The members that only a node of seed 002 has; they become params too."""


def convert(node: Document, mapping: Document) -> tuple[Document, Document, str]:
    """Convert a node and its entry in `mappings` to pflow's form; return both, and the dialect of the node.

    If both map a key, the entry wins.
    """
    dialect = PFLOW
    if keys := key_mappings(node.get("params", {})):
        # Only a visit can fill in a template, so it makes those mappings itself.
        keys = {goal: made for goal, made in keys.items() if "$" not in "".join(made)}
        mapping = {**mapping, **{goal: {**made, **mapping.get(goal, {})} for goal, made in keys.items()}}
        dialect = KEYS
    if any(member in node for member in OF_BINDINGS):
        node, mapping = _from_bindings(node, mapping)
        dialect = BINDINGS
    return node, mapping, dialect


def _from_bindings(node: Document, mapping: Document) -> tuple[Document, Document]:
    """Convert seed 002. The params also get the three objects themselves, since nodes of that time look into them."""
    objects = {member: node.get(member, {}) for member in OF_BINDINGS}
    kept = {member: value for member, value in node.items() if member not in objects}
    bound = {goal: {**objects[member], **mapping.get(goal, {})} for member, goal in _BINDINGS.items()}
    return {**kept, "params": {**node.get("params", {}), **objects["config"], **objects}}, {**mapping, **bound}


IR = dict[str, Any]


def flow_to_ir(flow: FlowSpec) -> IR:
    """Return the IR of a flow, without defaults. Loading it gives an equal flow in pflow's own form."""
    edges = [_edge(edge) for edge in flow.edges]
    is_chain = edges == [_edge(edge) for edge in chain([step.id for step in flow.steps])]
    mappings = {step.id: _without_defaults(step, "input_mappings", "output_mappings", "soft") for step in flow.steps}
    mappings = {id: mapping for id, mapping in mappings.items() if mapping} | flow.stray_mappings
    return {
        **({"$schema": flow.schema} if flow.schema else {}),
        "pflow": 1,
        **_without_defaults(flow, "name", "description"),
        **({"inputs": {name: _input(given) for name, given in flow.inputs.items()}} if flow.inputs else {}),
        **_without_defaults(flow, "outputs"),
        "nodes": [_node(step) for step in flow.steps],
        **({} if is_chain else {"edges": edges}),
        **({"mappings": mappings} if mappings else {}),
        **_without_defaults(flow, "max_visits"),
    }


def _without_defaults(thing: Any, *names: str, **defaults: Any) -> IR:
    """Return the members of an object that are not empty, null or their default."""
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
    return {"id": step.id, "type": step.type, **_without_defaults(step, *STEP_MEMBERS), **batch, **inline}


def _edge(edge: Edge) -> IR:
    return {"from": edge.source, "to": edge.target, **_without_defaults(edge, action="default")}


def _input(given: Input) -> IR:
    members = _without_defaults(given, type="any", description="", required=not given.has_default, pipe=False)
    return {**members, **({"default": given.default} if given.has_default else {})}


def flow_hash(flow: WiredFlow) -> str:
    """Return the hash of a flow: SHA-256 in hex, over how its steps are connected, without the values that they take.

    Hashed as canonical JSON are the steps in order (id, type, version), the edges, the mappings with outputs and
    batches, and the paths in templates. The version of a subflow is its hash; a step of an unknown kind has the version
    that it asks for.
    """
    steps = flow.steps.values()
    facts = {
        "edges": sorted({(edge.source, edge.action, edge.target) for edge in flow.flow.edges}),
        "mappings": [[wired.id, mapped] for wired in steps if (mapped := _mapped(wired, flow.expressions[wired.id]))],
        "outputs": sorted(_references(flow.expressions[END])),
        "steps": [[wired.id, wired.step.type, _version(wired)] for wired in steps],
    }
    return str(sha256(encode(facts, escape=False)).hexdigest())


def _version(wired: WiredStep) -> str:
    if wired.subflow is not None:
        return flow_hash(wired.subflow)
    asked, node_type = wired.step.version or "", wired.node_type
    return result_of(lambda: node_type.version if node_type else asked, of=(PflowError, OSError), otherwise=asked)


def _mapped(wired: WiredStep, expressions: list[Expression]) -> dict[str, Any]:
    """Return a step's part of the hash: the sources of its reads, the paths in its templates, the places of writes."""
    reads = sorted(_references(expressions))
    writes = sorted([key, _path(target)] for key, target in wired.step.output_mappings.items())
    item = wired.step.batch.item if wired.step.batch else None
    facts = {"item": item, "reads": reads, "soft": wired.step.soft, "writes": writes}
    return {name: fact for name, fact in facts.items() if fact}


def _references(expressions: Iterable[Expression]) -> Iterator[list[Any]]:
    """Yield role, key and paths of each mapping and each template; the order of a template's paths does not count."""
    for expr in expressions:
        is_mapping = expr.role in (MAPPING, OVER, OUTPUT)
        if expr.fault and is_mapping:
            yield [expr.role, expr.key, "fault", [str(expr.written)]]
        elif expr.is_template and (expr.paths or is_mapping):
            yield [expr.role, expr.key, "template", sorted(map(write_path, expr.paths))]
        elif is_mapping:
            yield [expr.role, expr.key, "paths", list(map(write_path, expr.paths))]


def _path(written: str) -> str:
    return result_of(lambda: write_path(parse_path(written)), of=ValueError, otherwise=written)


Location = tuple[str, ...]


def secrets_of(wired: WiredFlow) -> Iterator[tuple[Location, bool, str]]:
    """Yield each secret in a flow: its location, True if it is a literal without references, and the remedy.

    A location is `inputs`, a name and `default`; or `nodes` or `mappings`, a step's id, a member and a key.
    """
    for name, declared in wired.flow.inputs.items():
        used = wired.inputs.get(name)
        if declared.default is not None and used is not None and used.secret:
            yield ("inputs", name, "default"), True, "leave it out: the store gives it"
    for step in wired.steps.values():
        variables = {field.name: field.env for field in step.interface.secrets}
        for expr in wired.expressions[step.id]:
            is_value = expr.is_template or expr.role in (INPUT, PARAM) or TEMPLATE in str(expr.written)
            if expr.key in variables and is_value and expr.written is not None:
                env, is_read = variables[expr.key], expr.key in step.interface.reads
                giver = f"the environment's {env}" if env else "the store" if is_read else ""
                remedy = "leave it out" + (f": {giver} gives it" if giver else "")
                member = "mappings" if expr.role == MAPPING else "nodes"
                yield (member, step.id, str(expr.location[-2]), expr.key), not expr.paths, remedy


def literal_secrets(wired: WiredFlow) -> Iterator[tuple[Location, str]]:
    """Yield the location and the remedy of each literal secret in a flow and in the flows inside its steps."""
    yield from ((location, remedy) for location, is_literal, remedy in secrets_of(wired) if is_literal)
    for step in wired.steps.values():
        yield from literal_secrets(step.inline) if step.inline is not None else ()


def masked_ir(wired: WiredFlow) -> dict[str, Any]:
    """Return the IR of a flow with all secrets masked, also in flows inside its steps."""
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
        holders += [params.get(each) for each in OF_BINDINGS]  # the form of seed 002 has the secret there a second time
        for holder in [each for each in holders if isinstance(each, dict) and key in each]:
            holder[key] = TEMPLATE + MASK if TEMPLATE in str(holder[key]) else MASK
    return ir
