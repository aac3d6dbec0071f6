"""PF03, PF08 and PF15: every required read has a source that fits its type; for an `[explicit]` read, a named one."""

from __future__ import annotations

from pflow import Iterable, Iterator
from pflow.flow.expressions import MAPPING, MAYBE, NO, OVER, YES, fits, template_fits, type_words
from pflow.flow.findings import Finding, Rule
from pflow.flow.graph import END
from pflow.flow.pipe.carry import is_certain
from pflow.flow.references import are_there_first
from pflow.flow.rules.answers import mapping_of, unused_steps
from pflow.flow.rules.params import slips
from pflow.flow.wired_flow import Reference, WiredFlow, WiredStep
from pflow.interface.interface import Field
from pflow.text.naming import meant, nearest
from pflow.values.paths import write_path
from pflow.values.templates import is_reference
from pflow.values.types import Type


def check_sources(flow: WiredFlow) -> Iterator[Finding]:
    """Check PF03 and PF08.

    In a flow without `inputs`, a read without a source becomes an input with a flag. This is only a warning, given if
    an earlier step could give the read. There is no warning in a flow inside a step or in a map, since the flow around
    it or an item may give the read.
    """
    for (id, key), source in sources_before(flow).items() if flow.flow.item_names is None else ():
        message = f"only a flag gives '{id}' its '{key}', though '{source}' fits it"
        location, remedy = flow.steps[id].step.location, mapping_of(flow, id, key, source)
        yield Finding("PF03", location, message, remedy, is_warning=True, is_said_by_run=True)
    for wired, field in without_source(flow):
        message = f"nothing gives '{wired.id}' its '{field.name}'" + (f" ({field.doc})" if field.doc else "")
        if "explicit" in field.marks:
            what = f"{message}, which is not taken by name"
            yield Finding("PF08", wired.step.location, what, _remedy(flow, wired, field))
            continue
        before = flow.before(wired.id)
        writes = [write for _, write in flow.writes_at(wired.id, (field.name,))]
        is_written = writes and are_there_first(flow, wired.id, writes)
        if is_written or any(each.node_type is None for each in before):
            continue
        may_be = any(each.interface.open for each in before)
        first = f" the first time: '{writes[0].step}' writes it later" if writes else ""
        yield Finding("PF03", wired.step.location, message + first, _remedy(flow, wired, field), is_warning=may_be)


def without_source(flow: WiredFlow) -> Iterator[tuple[WiredStep, Field]]:
    """Yield the required reads that have no mapping, input or param and do not take the pipe."""
    if not flow.flow.inputs or flow.is_uncertain:
        return
    # A step whose mappings are under a misspelt id has its sources there. PF12 reports the id.
    mismapped = {meant(id, flow.steps) for id in flow.flow.stray_mappings}
    for wired in [flow.steps[id] for id in flow.order if id not in mismapped]:
        misspelt = slips(wired) if wired.is_known else set()
        for key, field in wired.interface.reads.items() if wired.is_known else ():
            is_wired = wired.is_wired(key) or wired.step.fills(key)
            is_input = (key in flow.flow.inputs and "explicit" not in field.marks) or flow.first_read == (wired.id, key)
            if field.required and key not in misspelt and not is_wired and not is_input:
                yield wired, field


def sources_before(flow: WiredFlow) -> dict[tuple[str, str], str]:
    """Return an earlier write for each read that only a flag gives: one of its name, or else the latest unused answer.

    Reads that are meant to have a flag are left out: `[explicit]`, `[own]` and `[word]` reads, and the one that the
    pipe fills.
    """
    found, written = {}, [*_written(flow, reversed(flow.order))]
    unused = [id for id in unused_steps(flow, {}) if flow.steps[id].interface.pipe_write]
    answers = [next(_written(flow, [id])) for id in reversed(unused)]
    needed = [each for given in flow.inputs.values() for each in given.readers if each in given.needed_by]
    for id, key in [each for each in needed if each != flow.first_read]:
        field = flow.steps[id].interface.reads.get(key)
        if field is None or field.marks & {"explicit", "own", "word", "secret"} or flow.steps[id].step.fills(key):
            continue
        named = [each for each in written if each[1].rpartition(".")[2] in (key, *field.flags)]
        of_type = [each for each in answers if field.type.name in (each[2].name, "any") or each[2].name == "any"]
        for writer, path, type in [*named, *of_type]:
            is_before = flow.graph.may_precede_first(writer, id)
            if is_before and fits(type, field.type) == YES and is_certain(flow, {writer}, id):
                found[id, key] = path
                break
    return found


def _remedy(flow: WiredFlow, wired: WiredStep, field: Field) -> str:
    """Say what would give a read its value: a mapping from an input or an earlier write, or an input to declare.

    For an `[explicit]` read, such as a command or the file to write, no write is suggested: data should not choose it.
    """
    key, is_explicit = field.name, "explicit" in field.marks
    source = key if key in flow.flow.inputs else nearest(key, flow.flow.inputs)
    if source is None and not is_explicit:
        before = [each for each in reversed(flow.order) if flow.graph.may_precede_first(each, wired.id)]
        fitting = [each for each in _written(flow, before) if fits(each[2], field.type) == YES]
        fitting.sort(key=lambda each: each[2].name != field.type.name)
        source = fitting[0][1] if fitting else None
    if source:
        return mapping_of(flow, wired.id, key, source)
    if flow.flow.dialect == "pipe":
        return f"{wired.step.type} {field.flag}=…"
    if is_explicit:
        return f'"inputs": {{"{key}": …}} of {write_path(wired.step.location)}'
    return f'"inputs": {{"{key}": {{"type": "{field.type}"}}}}'


def _written(flow: WiredFlow, ids: Iterable[str]) -> Iterator[tuple[str, str, Type]]:
    """Yield the writes of these steps and their members, as step, path and type; `[pipe]` writes first."""
    for id in ids:
        answer = flow.steps[id].interface.pipe_write
        for write in sorted(flow.writes[id], key=lambda write: write.field is not answer):
            path, type = write_path(flow.steps[id].targets.get(write.key, (id, write.key))), flow.write_type(write)
            yield id, path, type
            yield from ((id, f"{path}.{name}", each) for name, each in type.fields.items())


def check_types(flow: WiredFlow) -> Iterator[Finding]:
    for reference in flow.references:
        if not reference.trouble and reference.step != END:
            yield from _check_reference(flow, reference, flow.steps[reference.step])
    for wired in flow.steps.values():
        for field in wired.interface.reads.values() if wired.is_known else ():
            if not wired.is_wired(field.name) and "explicit" not in field.marks:
                yield from _check_by_name(flow, wired, field)


def _check_by_name(flow: WiredFlow, wired: WiredStep, field: Field) -> Iterator[Finding]:
    """Check the type of a read against the only write of its name, or the flow's declared input."""
    key = field.name
    writes = [write for _, write in flow.writes_at(wired.id, (key,))]
    given = flow.inputs.get(key)
    if not writes and given is not None and given.declared and fits(given.type, field.type) == NO:
        message = f"'{wired.id}' reads '{key}' as {type_words(field.type)}, but the input is {type_words(given.type)}"
        yield Finding("PF15", ("inputs", key, "type"), message, f'"type": "{field.type}"')
    if len(writes) == 1 and writes[0].target == (key,) == (writes[0].key,):
        there = flow.write_type(writes[0])
        if fits(there, field.type) == NO:
            what = f"'{wired.id}' reads '{key}' as {type_words(field.type)}"
            message = f"{what}, but '{writes[0].step}' writes it as {type_words(there)}"
            yield Finding("PF15", wired.step.location, message, mapping_of(flow, wired.id, key, "…"))


def _check_reference(flow: WiredFlow, reference: Reference, wired: WiredStep) -> Iterator[Finding]:
    there, expr, path = flow.type_of(reference), reference.expression, write_path(reference.path)
    if reference.role == OVER and there.name not in ("list", "dict", "any", "str"):  # a text may hold JSON or lines
        message = f"a batch runs over a list or an object, but '{path}' is {type_words(there)}"
        yield Finding("PF15", expr.location, message, "the path of a list or an object")
    field = wired.interface.reads.get(expr.key)
    if expr.role != MAPPING or field is None or (expr.is_template and not is_reference(expr.written)):
        return
    outcome = (template_fits if expr.is_template else fits)(there, field.type)
    what = f"'{expr.key}' wants {type_words(field.type)}, but '{path}'"
    if outcome == NO:
        yield Finding("PF15", expr.location, f"{what} is {type_words(there)}", f"map it from {type_words(field.type)}")
    elif outcome == MAYBE and reference.writes and all(write.field for write in reference.writes):
        remedy = f"it fails if that is not {type_words(field.type)}"
        yield Finding("PF15", expr.location, f"{what} may be {type_words(there)}", remedy, is_warning=True)


RULES = (
    Rule("PF03", "every required read has a source", check_sources, "error; where a flag may be meant, a warning"),
    Rule("PF08", "an [explicit] read has a flag, an input, a param or a mapping"),
    Rule("PF15", "the type of a mapped value fits", check_types, "error; for the type any, a warning"),
)
