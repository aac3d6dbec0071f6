"""PF13: every param exists, or names a read, and its value fits; inputs and mappings name reads and writes."""

from __future__ import annotations

from pflow import Collection, Iterator
from pflow.binding.store import KEY_PARAMS, key_mappings
from pflow.errors import Ignoring
from pflow.flow.expressions import INPUT, NO, PARAM, Expression, fits, misfit, template_fits, type_words
from pflow.flow.findings import Finding, Rule
from pflow.flow.flow import REST
from pflow.flow.ir import OF_BINDINGS, secrets_of
from pflow.flow.wired_flow import Reference, WiredFlow, WiredStep
from pflow.interface.interface import Field
from pflow.text.naming import guess, meant, nearest, tries_hint
from pflow.values.jsontext import text_of
from pflow.values.paths import Path
from pflow.values.templates import is_reference
from pflow.values.types import Type, from_text


def check_params(flow: WiredFlow) -> Iterator[Finding]:
    at = {reference.location: reference for reference in flow.references}
    for wired in flow.steps.values():
        for location, key, there, message in unknown_names(wired):
            given = getattr(wired.step, str(location[-2])) if location[-2] in ("params", "inputs") else {}
            is_sure = wired.is_known or (key in given and nearest(key, there) is not None)
            tries = tries_hint(key, given[key], 'the step\'s "retries"') if key in given else ""
            if is_sure or tries:
                is_param = location[-2] in ("inputs", "input_mappings") and key in wired.interface.params
                remedy = f'it is a param: "params": {{"{key}": …}}' if is_param else tries or guess(key, there)
                yield Finding("PF13", location, message, remedy, is_warning=not is_sure)
        yield from _check_needed(wired)
        if wired.is_known:
            for expr in flow.expressions[wired.id]:
                yield from _check_value(flow, wired, expr, at.get(expr.location))
        if wired.step.batch is not None and wired.step.batch.keep_item:
            yield from _check_kept_items(wired)
        if wired.step.repeats is not None and wired.subflow is not None:
            message = f"'{wired.id}' is a flow, so each of its steps says whether it repeats"
            yield Finding("PF13", (*wired.step.location, "repeats"), message, "say it in its steps")
    yield from _check_secrets(flow)
    for name, given in flow.flow.inputs.items():
        field, location = flow.inputs[name].as_field(), ("inputs", name, "default")
        if given.default is not None and (why := misfit(field, given.default)):
            message = f"the default of '{name}' does not fit: {why}"
            yield Finding("PF13", location, message, _wanted(field, given.default))


def _check_secrets(flow: WiredFlow) -> Iterator[Finding]:
    for (member, name, *rest), is_literal, remedy in secrets_of(flow):
        if is_literal:
            location = (*flow.steps[name].step.location, *rest) if member == "nodes" else (member, name, *rest)
            key = name if member == "inputs" else rest[-1]
            yield Finding("PF13", location, f"'{key}' is secret, but its value is in the flow", remedy)


def unknown_names(wired: WiredStep) -> Iterator[tuple[Path, str, Collection[str], str]]:
    """Yield each name in a step that its node does not know: its location, the name, the known names, a message."""
    step, interface = wired.step, wired.interface
    params, mappings = [*interface.params, *interface.reads], ("mappings", step.id)
    config = step.params.get("config")
    made = key_mappings(step.params)
    of_dialects = [*OF_BINDINGS, *(name for name, goal in KEY_PARAMS.items() if goal in made)]
    allowed = {*params, *of_dialects, *(config if isinstance(config, dict) else ())}
    for key in [key for key in step.params if key not in allowed]:
        yield (*step.location, "params", key), key, params, f"{step.type} has no param or read '{key}'"
    reads = {*interface.reads, *made.get("input_mappings", ())}
    writes = {*interface.writes, *made.get("output_mappings", ()), REST}
    for location, keys, known, there, verb in (
        ((*step.location, "inputs"), step.inputs, interface.reads, interface.reads, "read"),
        ((*mappings, "input_mappings"), step.input_mappings, reads, interface.reads, "read"),
        ((*mappings, "output_mappings"), step.output_mappings, writes, interface.writes, "write"),
    ):
        for key in [key for key in keys if key not in known]:
            yield (*location, key), key, there, f"{step.type} does not {verb} '{key}'"


def slips(wired: WiredStep) -> set[str | None]:
    """Return the reads and params to which a step seems to give a value under a misspelt name."""
    return {meant(key, there) for location, key, there, _ in unknown_names(wired) if location[-2] != "output_mappings"}


def unset_params(wired: WiredStep) -> list[Field]:
    """Return the params without a default to which neither the flow nor a variable of the environment gives a value."""
    needed = (field for field in wired.interface.params.values() if field.required and not field.env)
    return [field for field in needed if field.name not in wired.step.params]


def _check_needed(wired: WiredStep) -> Iterator[Finding]:
    """Warn of params without a value. It is no error, since a class may have a default in its code."""
    if wired.interface.inferred and not wired.interface.open:
        return
    step, misspelt = wired.step, slips(wired)
    for field in unset_params(wired):
        if field.name not in misspelt:
            message = f"nothing gives '{wired.id}' the param '{field.name}'" + (f" ({field.doc})" if field.doc else "")
            remedy = f'"{field.name}": …, or {field.flag}'
            is_said = wired.interface.open  # if no flag sets it, the step fails and says so
            yield Finding("PF13", (*step.location, "params"), message, remedy, is_warning=True, is_said_by_run=is_said)


def _check_kept_items(wired: WiredStep) -> Iterator[Finding]:
    """Refuse keep_item if the items are secret, or if the node has a write called `item`."""
    location = (*wired.step.location, "batch", "keep_item")
    if wired.has_secret_items:
        message = f"'{wired.id}' uses its items as secrets, so results may not hold them"
        yield Finding("PF13", location, message, "leave it out")
    if "item" in wired.interface.writes:
        yield Finding("PF13", location, f"'{wired.id}' writes an 'item' of its own", "leave it out")


def _check_value(flow: WiredFlow, wired: WiredStep, expr: Expression, reference: Reference | None) -> Iterator[Finding]:
    """Check the type and form of an input or a param; of a template, the type of its value if that is known."""
    role, interface = expr.role, wired.interface
    field = interface.reads.get(expr.key) if role == INPUT else interface.field(expr.key) if role == PARAM else None
    is_constant = not expr.paths
    if field is None or expr.fault or (field.is_secret and is_constant and expr.written is not None):
        return
    why = ""
    if is_constant:
        why = misfit(field, expr.written)
    elif not isinstance(expr.written, str):
        there = Type("list" if isinstance(expr.written, list) else "dict")
        why = f"it is {type_words(there)}" if fits(there, field.type) == NO else ""
    elif is_reference(expr.written) and reference is not None and not reference.trouble:
        there = flow.type_of(reference)
        why = f"'{expr.written}' is {type_words(there)}" if template_fits(there, field.type) == NO else ""
    if why:
        yield Finding("PF13", expr.location, f"'{expr.key}' does not fit: {why}", _wanted(field, expr.written))
    elif is_constant and (fault := flow.form_fault(wired.id, field, expr.written)):
        yield Finding("PF13", expr.location, fault.message, fault.hint)


def _wanted(field: Field, value: object) -> str:
    if field.type.choices:
        return guess(str(value), field.type.choices)
    with Ignoring(ValueError):
        if isinstance(value, str):
            return f"write {text_of(from_text(field.type, value))}, without quotes"
    return f"write {type_words(field.type)}"


RULES = (Rule("PF13", "every param exists, or names a read, and its value fits", check_params),)
