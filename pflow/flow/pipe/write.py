"""Writing a flow as pipe syntax that compiles to a flow in which each step takes the same values."""

from __future__ import annotations

from collections import Counter
from copy import copy

from pflow import Any
from pflow.errors import BAD_DATA, PflowError
from pflow.flow.expressions import OVER, can_be_mapping, path_text, reference_text
from pflow.flow.flags import only_binds
from pflow.flow.flow import REST, Edge, FlowSpec, Step
from pflow.flow.graph import latest
from pflow.flow.pipe.carry import is_certain
from pflow.flow.pipe.compile import compile_flow
from pflow.flow.pipe.read import is_action, parse_pipe
from pflow.flow.pipe.scan import free_id, quote
from pflow.flow.pipe.steps import step_words
from pflow.flow.references import data_of, is_stored
from pflow.flow.wired_flow import Reference, WiredFlow, WiredStep
from pflow.flow.wiring import wire
from pflow.interface.interface import Field
from pflow.text.naming import joined
from pflow.text.printable import clean
from pflow.values.jsontext import change_texts
from pflow.values.paths import Path, are_nested, is_step_name, parse_path
from pflow.values.templates import TEMPLATE, parse_place, parse_template

Chain = list[tuple[str, str]]
"""Steps in a row, each with the action of the edge to it; "" for the first."""

Facts = dict[tuple[str, ...], Any]
"""The facts by which two flows are compared, by the step's id, the kind of fact, and a key if it is about a value."""


def write_pipe(flow: FlowSpec) -> str:
    """Write a flow as pipe syntax, one step a line, without the mappings that it implies. Raises PflowError (65)."""
    try:
        return "\n".join(_lines(flow)) + "\n"
    except (PflowError, ValueError) as error:  # ValueError: a mapping is no path, which no rule has checked yet
        why, hint = (error.message, error.hint) if isinstance(error, PflowError) else (str(error), "")
        raise PflowError(f"cannot write the flow in pipe syntax: {why}", hint=hint, exit=BAD_DATA) from None


def _lines(flow: FlowSpec) -> list[str]:
    _refuse_unsayable(flow)
    wanted = wire(flow)
    facts = _facts(wanted)
    lines = _steps(*_draft(wanted, facts))
    # The text must not mean another flow: compile it and compare all facts.
    compiled = parse_pipe(["\n".join(lines)], flow.catalog, flow.item_names)
    if wrong := _difference(_facts(wire(compiled)), facts):
        raise PflowError(f"it cannot express {wrong}")
    return lines


def _refuse_unsayable(flow: FlowSpec) -> None:
    """Raise PflowError for what pipe syntax cannot say at all."""
    ids = {step.id for step in flow.steps}
    odd = [edge.action for edge in flow.edges if not is_action(edge.action)]
    whole = {
        "no step": not ids,
        "two steps of one name": len(ids) < len(flow.steps),
        "declared inputs": bool(flow.inputs),
        "declared outputs": bool(flow.outputs),
        "max_visits": flow.max_visits is not None,
        "an edge of a step that is not there": any({edge.source, edge.target} - ids for edge in flow.edges),
        "mappings of a step that is not there": bool(flow.stray_mappings),
        f"an edge for {joined(odd)}, which is not a name": bool(odd),
    }
    for what, is_so in whole.items():
        if is_so:
            raise PflowError(f"it has {what}", hint="use its JSON")


def _facts(flow: WiredFlow) -> Facts:
    """Return the facts of each step. A value from another step is known by its writer, since its place may differ."""
    facts: Facts = {}
    ends: dict[str, dict[Path, Any]] = {id: {} for id in ["", *flow.steps]}
    for each in flow.references:
        ends[each.step][each.path] = _ends(each)
    overs = {each.step: [_ends(each)] for each in flow.references if each.role == OVER}
    for id, wired in flow.steps.items():
        step, there = wired.step, ends[id]
        visits = (step.repeats, step.max_visits, step.cache)
        facts[id, "manner"] = (wired.number, step.type, step.retries, step.wait, step.timeout, *visits)
        facts[id, "batch"] = step.batch and {**step.batch.members, "over": overs.get(id, [])}
        facts[id, "flow"] = step.flow and wired.subflow and _facts(wired.subflow)
        facts[id, "edges"] = {action: set(targets) for action, targets in flow.graph.next[id].items()}
        for key, value in step.params.items():
            if not only_binds(wired, key) and not _is_flag(wired, key):
                facts[id, "param", key] = _value(value, wired.interface.params.get(key), there)
        for key in {**wired.interface.reads, **step.inputs, **step.input_mappings}:
            field, source = wired.interface.reads.get(key), step.input_mappings.get(key)
            if field is None and key in step.inputs and step.params.get(key, ...) == step.inputs[key]:
                continue  # an open node takes the flag as read and as param, and the param is compared
            if key in step.inputs or _is_flag(wired, key):
                fact = _value({**step.params, **step.inputs}[key], field or wired.interface.params.get(key), there)
            elif source is None:
                fact = _by_name(flow, id, key, field)
            elif isinstance(source, str) and source.startswith(TEMPLATE):
                fact = _value(source.removeprefix(TEMPLATE), None, there)
            else:
                paths = source if isinstance(source, list) else [source]
                fact = {end for path in paths for end in there[parse_place(path)]}
                own = _by_name(flow, id, key, field) if key in (step.soft or ()) else fact
                fact = fact if fact == own else (fact, own)
            facts[id, "read", key] = fact
        facts |= {(id, "place", write.key): write.target for write in flow.writes[id]}
        facts |= {(id, "kept", write.key): write.target for write in data_of(wired)}
    return facts


def _ends(reference: Reference) -> set[Any]:
    """Return the ends of a reference: each write as step, key, the path inside it, and the part of the write's place
    that lies below the reference's; without writes, the reference's own path.
    """
    found: set[Any] = {
        (write.step, write.key, place[len(write.target) :], write.target[len(place) :])
        for write in latest(reference.writes)
        for place in reference.places
        if are_nested(place, write.target)
    }
    return found or {reference.path}


def _difference(made: Facts, wanted: Facts) -> str:
    """Return the first fact that pipe syntax would change, in words; "" if there is none."""
    for at in {**wanted, **made}:
        there, here = made.get(at), wanted.get(at)
        if there != here:
            if at[1] == "place":
                return f"where '{at[0]}' writes '{at[2]}'"
            if at[1] == "kept":
                would = "would" if there else "would not"
                return f"the read {at[2]} of '{at[0]}': a flag {would} keep it in the store"
            if at[1] == "param" and (at[0], "read", at[2]) in made:
                return f"the param {at[2]} of '{at[0]}': its flag is data, not a param"
            is_known = all(isinstance(each, set | tuple) for each in (there, here))
            would, should = (_shown(each) if is_known else "" for each in (there, here))
            why = f": it would take {would}, not {should}" if would != should else ""
            return f"the {' '.join(at[1:])} of '{at[0]}'{why}"
    return ""


def _shown(ends: Any) -> str:
    every = ends if isinstance(ends, set) else set().union(*(each for each in ends if isinstance(each, set)))
    return joined(sorted(path_text((*each[:2], *each[2]) if len(each) == 4 else each) for each in every)) or "nothing"


def _is_flag(step: WiredStep, key: str) -> bool:
    """Return True if a param acts like the flag of a read that is neither taken from the store nor kept in it."""
    read = step.interface.reads.get(key)
    is_alone = key in step.step.params.keys() - {*step.step.inputs, *step.step.input_mappings, *step.interface.params}
    return is_alone and read is not None and "explicit" in read.marks and not read.is_stored


def _by_name(flow: WiredFlow, id: str, key: str, field: Field | None) -> set[Any]:
    """Return the ends of a read that has no mapping: the store's key of its name, or the pipe."""
    if field is None or "explicit" in field.marks:
        return set()
    found = {(write.step, write.key, (), ()) for write in latest(flow.reaching.at(id, (key,)).values())}
    return {*found, ("stdin",)} if flow.first_read == (id, key) else {*found}


def _value(value: Any, field: Field | None, ends: dict[Path, Any]) -> Any:
    """Return a value with each template as a tuple of its parts, in which the ends replace each path."""
    if field is not None and "verbatim" in field.marks:
        return value

    def read(text: str) -> Any:
        parts = [part if isinstance(part, str) else ends[part] for part in parse_template(text)]
        if all(isinstance(part, str) for part in parts):
            return "".join(parts)
        return parts[0] if len(parts) == 1 else ("template", *parts)

    return change_texts(value, read)


def _draft(wanted: WiredFlow, facts: Facts) -> tuple[FlowSpec, set[str]]:
    """Return a flow without the mappings that compiling makes by itself, and the steps to write with --id."""
    draft, old_steps = copy(wanted.flow), wanted.flow.steps
    draft.steps = [_without_mappings(wanted.steps[step.id]) for step in old_steps]
    bare = _facts(wire(compile_flow(draft, set())))
    for each in [each for each in wanted.references if is_moved(wanted, each)]:
        step, old = draft.step(each.step), wanted.steps[each.step].step
        at = str(each.path[0]), "place", str(each.path[1])
        if each.role == OVER and bare.get(at) != facts[at]:  # only this reference moves the write to its place
            step.batch = old.batch
        if each.key in old.input_mappings and each.key not in step.inputs:
            step.input_mappings[each.key] = old.input_mappings[each.key]
    apart, made = _keep_places(wanted, facts, draft)
    for step in [step for step in draft.steps if made[step.id, "batch"] != facts[step.id, "batch"]]:
        step.batch = wanted.steps[step.id].step.batch
        made = _facts(wire(compile_flow(draft, apart)))
    for old, step in zip(old_steps, draft.steps, strict=True):
        reads = wanted.steps[step.id].interface.reads
        for key, source in old.input_mappings.items():
            at = step.id, "read", key
            if key in step.inputs or (key not in step.input_mappings and made.get(at) == facts[at]):
                continue
            is_from_step = any(each.writes for each in wanted.references_to(step.id, key))
            # A flag that takes what the pipe carries keeps it from the step's [pipe] read; a mapping does not.
            is_flag = is_from_step or _is_unknown_beside(wanted, step, source)
            if is_flag and isinstance(source, str) and _has_flag(reads.get(key)):
                step.inputs[key] = reference_text(parse_path(source))
                step.input_mappings.pop(key, None)
            else:
                step.input_mappings[key] = source
    made = _facts(wire(compile_flow(draft, apart)))
    for old, step in zip(old_steps[1:], draft.steps[1:], strict=True):
        for key, field in wanted.steps[step.id].interface.reads.items():
            at = step.id, "read", key
            if step.fills(key) or made.get(at) == facts[at]:
                continue
            writers = {write.step for write in latest(wanted.reaching.at(step.id, (key,)).values())}
            if key in old.input_mappings or is_certain(wanted, writers, step.id):
                step.input_mappings[key] = old.input_mappings.get(key, path_text((key,)))
            elif "pipe" in field.marks:
                step.is_unfed = True
    return draft, apart


def is_moved(flow: WiredFlow, reference: Reference) -> bool:
    """Return True if a reference says `ID.KEY`: then wiring moves that write under the id."""
    step = flow.steps.get(str(reference.path[0]))
    return step is not None and reference.path[1:2] != () and reference.path[1] in step.moved


def _keep_places(wanted: WiredFlow, facts: Facts, draft: FlowSpec) -> tuple[set[str], Facts]:
    """Make compiling put each write where the flow has it: by a mapping in the draft, or by --id for its step.

    Return the steps with --id, and the facts of the compiled draft. Mapping a key to itself may keep other keys of the
    step in their places too, so only keys that several steps write are mapped first.
    """
    apart: set[str] = set()
    met = Counter(root for writes in wanted.writes.values() for root in {str(each.target[0]) for each in writes})
    whole = {id for id, each in wanted.steps.items() if each.is_moved and is_step_name(id)}
    while True:
        made = _facts(wire(compile_flow(draft, apart)))
        wrong = [each for each in facts if each[1] == "place" and made.get(each, each[2:]) != facts[each]]
        others = {id for id in whole if wrong and wanted.steps[id].step.output_mappings}
        if more := (whole & {id for id, *_ in wrong} or others) - apart:
            apart |= more
            continue
        away = [(draft.step(id), key, path_text(facts[id, place, key])) for id, place, key in wrong]
        away = [(step, key, path) for step, key, path in away if step.output_mappings.get(key) != path]
        if not away:  # every write is in its place, or no mapping can help, which the comparison reports
            return apart, made
        shared = [each for each in away if met[str(parse_path(each[2])[0])] > 1]
        for step, key, path in shared or away:
            step.output_mappings = {**step.output_mappings, key: path}


def _is_unknown_beside(wanted: WiredFlow, step: Step, source: str | list[str]) -> bool:
    """Return True if flags of the step have another unknown name: compiling guesses only a single one."""
    flags = {*step.inputs, *step.params}
    others = (each for each in wanted.references_of.get(step.id, ()) if path_text(each.path) != source)
    return any(each.key in flags and each.input not in (None, "stdin") for each in others)


def _without_mappings(wired: WiredStep) -> Step:
    """Return a step with template mappings as flags, and without the other mappings of reads and the batch's path.

    A template mapping stays if the store would keep the flag. A mapping of a write stays unless it leads to ID.KEY.
    """
    step, bare = wired.step, copy(wired.step)
    flags = {key: value for key, value in step.params.items() if _is_flag(wired, key)}
    bare.params = {key: value for key, value in step.params.items() if key not in flags and not only_binds(wired, key)}
    bare.inputs, bare.input_mappings, bare.soft = {**flags, **step.inputs}, {}, None
    for key, source in step.input_mappings.items():
        if str(source).startswith(TEMPLATE):
            is_kept = is_stored(wired, key) and wired.interface.reads.get(key) is not None
            into, start = (bare.input_mappings, "") if is_kept else (bare.inputs, TEMPLATE)
            into[key] = str(source).removeprefix(start)
    if step.batch is not None:
        bare.batch = copy(step.batch)
        bare.batch.over = ""
    own = {key: path_text((step.id,) if key == REST else (step.id, key)) for key in step.output_mappings}
    bare.output_mappings = {key: path for key, path in step.output_mappings.items() if path != own[key]}
    return bare


def _has_flag(field: Field | None) -> bool:
    """Return True if a flag with a reference does the same as a mapping: its text is not kept in the store."""
    return field is not None and not field.is_stored and field.is_textual and can_be_mapping(field, "$name")


def _steps(flow: FlowSpec, apart: set[str]) -> list[str]:
    steps = {step.id: step for step in flow.steps}
    found = _chains(flow)
    mentioned = Counter(id for chain in found for id, _ in chain)
    named: set[str] = set()
    taken: dict[str, int] = {}
    for id, step in steps.items():
        if mentioned[id] > 1 or step.type in named or (id not in apart and free_id(step.type, taken) != id):
            named.add(id)
        taken.setdefault(id, 2)
    versions = [f"{step.type} {step.version}" for step in flow.steps if step.version is not None]
    lines = [clean(f"# versions: {', '.join(versions)}")] if versions else []
    for chain in found:
        for id, action in chain:
            words = [id]
            if id in steps:
                step = steps.pop(id)
                words = [first_word(step, is_named=id in named), *step_words(step, flow.catalog)]
                words += [f"--id={id}"] if id in apart else []
            separator = "" if not action else "  => " if action == "default" else f"  ={action}=> "
            lines.append(separator + " ".join(words))
    return lines


def _chains(flow: FlowSpec) -> list[Chain]:
    """Return the edges as chains. The steps first appear in their own order, by which pipe syntax numbers them."""
    found: list[Chain] = []
    left = dict.fromkeys(flow.edges)
    into: dict[str, list[Edge]] = {}
    for each in left:
        into.setdefault(each.target, []).append(each)
    met: set[str] = set()
    for step in flow.steps:
        edges = [edge for edge in into.get(step.id, ()) if edge in left and edge.source in met]
        last = found[-1][-1][0] if found else ""
        edge = next((edge for edge in edges if edge.source == last), edges[0] if edges else None)
        if edge is None or edge.source != last:
            _extend_chain(found, left, met)
            found.append([(edge.source if edge else step.id, "")])
        if edge is not None:
            del left[edge]
            found[-1].append((step.id, edge.action))
        met.add(step.id)
    while left:
        if not _extend_chain(found, left, met):
            found.append([(next(iter(left)).source, "")])
    return found


def _extend_chain(chains: list[Chain], left: dict[Edge, None], met: set[str]) -> bool:
    """Extend the last chain to a step that was met before (a loop, or where branches meet); return True if done."""
    edge = next((edge for edge in left if chains and edge.source == chains[-1][-1][0] and edge.target in met), None)
    if edge is not None:
        del left[edge]
        chains[-1].append((edge.target, edge.action))
    return edge is not None


def first_word(step: Step, *, is_named: bool) -> str:
    """Write the first word of a step: its type, or its flow in parentheses, and its id if `is_named`."""
    if step.flow is None:
        return quote(f"{step.type}:{step.id}" if is_named else step.type)
    return "\n    ".join(["(", *_lines(step.flow)]) + "\n  )" + f":{step.id}" * is_named
