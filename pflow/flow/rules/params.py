"""PF13: every param exists, or names a read, and its value fits; inputs and mappings name reads and writes."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.findings import Finding, Rule
from pflow.flow.fits import NO, fits, misfit, named, template_fits
from pflow.flow.flow import REST
from pflow.flow.rules._view import is_known
from pflow.flow.written import INPUT, PARAM
from pflow.interface import Item
from pflow.jsontext import text_of
from pflow.naming import guess, meant
from pflow.templates import is_reference
from pflow.types import Type, from_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.rules._view import View
    from pflow.flow.wired import WiredStep
    from pflow.flow.written import Part
    from pflow.paths import Path

_OF_DIALECTS = ("input_bindings", "output_bindings", "config", "input_key", "output_key")
"""Params that the seeds' nodes take in the flows of their dialects."""


def check_params(view: View) -> Iterator[Finding]:
    for wired in view.steps.values():
        if is_known(wired):
            yield from _check_names(wired)
            yield from _check_needed(wired)
            yield from _check_values(view, wired)
    for name, given in view.flow.inputs.items():
        declared = view.wired.inputs.get(name)
        if given.default is not None and declared is not None:
            item = Item("read", name, declared.type)
            if why := misfit(item, given.default):
                message = f"the default of '{name}' does not fit: {why}"
                yield Finding("PF13", ("inputs", name, "default"), message, _wanted(item, given.default))


def _check_names(wired: WiredStep) -> Iterator[Finding]:
    step, interface = wired.step, wired.interface
    for key in unknown_params(wired):
        message = f"{step.type} has no param or read '{key}'"
        yield Finding("PF13", (*step.place, "params", key), message, guess(key, _params_and_reads(wired)))
    for key in step.inputs:
        if key not in interface.reads:
            remedy = f'it is a param: "params": {{"{key}": …}}' if key in interface.params else ""
            yield _no_key((*step.place, "inputs", key), wired, "read", key, remedy)
    for key in step.input_mappings:
        if key not in interface.reads and not _is_identity(wired, key):
            remedy = f'it is a param: "params": {{"{key}": "${{…}}"}}' if key in interface.params else ""
            yield _no_key(("mappings", step.id, "input_mappings", key), wired, "read", key, remedy)
    for key in step.output_mappings:
        if key not in interface.writes and key != REST and not _is_identity(wired, key):
            yield _no_key(("mappings", step.id, "output_mappings", key), wired, "write", key, "")


def _params_and_reads(wired: WiredStep) -> list[str]:
    """What the name of a param may have meant."""
    return [*wired.interface.params, *wired.interface.reads]


def _no_key(place: Path, wired: WiredStep, kind: str, key: str, remedy: str) -> Finding:
    there = wired.interface.reads if kind == "read" else wired.interface.writes
    return Finding("PF13", place, f"{wired.step.type} does not {kind} '{key}'", remedy or guess(key, there))


def unknown_params(wired: WiredStep) -> list[str]:
    """The params that a step is given and its node does not have."""
    step, interface = wired.step, wired.interface
    config = step.params.get("config")
    allowed = {*interface.params, *interface.reads, *_OF_DIALECTS, *(config if isinstance(config, dict) else ())}
    return [key for key in step.params if key not in allowed]


def _is_identity(wired: WiredStep, key: str) -> bool:
    """Whether a mapping is that of seed 000's `input_key` or `output_key`."""
    return key in (wired.step.params.get("input_key"), wired.step.params.get("output_key"))


def slips(wired: WiredStep) -> set[str]:
    """The reads and params that a step seems to give under a misspelt name."""
    reads = wired.interface.reads
    found = {meant(key, _params_and_reads(wired)) for key in unknown_params(wired)}
    found |= {meant(key, reads) for key in [*wired.step.inputs, *wired.step.input_mappings] if key not in reads}
    return {key for key in found if key is not None}


def _check_needed(wired: WiredStep) -> Iterator[Finding]:
    """Warn of params without a default that nothing gives here: a flag still may."""
    step = wired.step
    unset = [
        item
        for key, item in wired.interface.params.items()
        if item.required and not item.env and key not in step.params and key not in slips(wired)
    ]
    for item in unset:
        message = f"nothing gives '{wired.id}' the param '{item.name}'" + (f" ({item.doc})" if item.doc else "")
        yield Finding("PF13", (*step.place, "params"), message, f'"{item.name}": …, or {item.flag}', is_warning=True)


def _check_values(view: View, wired: WiredStep) -> Iterator[Finding]:
    for part in view.parts[wired.id]:
        item = _item_of(part, wired)
        if item is None or part.fault:
            continue
        if "secret" in item.marks and not part.paths and part.written is not None:
            remedy = f"the environment's {item.env} gives it" if item.env else "leave it out"
            yield Finding("PF13", part.place, f"'{part.key}' is secret and stands in the flow", remedy)
        elif part.paths:
            yield from _check_template(view, part, item)
        elif why := misfit(item, part.written):
            yield Finding("PF13", part.place, f"'{part.key}' does not fit: {why}", _wanted(item, part.written))


def _item_of(part: Part, wired: WiredStep) -> Item | None:
    interface = wired.interface
    if part.role == INPUT:
        return interface.reads.get(part.key)
    return interface.params.get(part.key) or interface.reads.get(part.key) if part.role == PARAM else None


def _wanted(item: Item, value: object) -> str:
    """What to write instead of a value that does not fit."""
    if item.type.choices:
        return guess(str(value), item.type.choices)
    try:
        if isinstance(value, str):
            return f"write {text_of(from_text(item.type, value))}, without quotes"
    except ValueError:
        pass
    return f"write {named(item.type)}"


def _check_template(view: View, part: Part, item: Item) -> Iterator[Finding]:
    """Hold a template to the type that it is for, as far as it is known what it becomes."""
    written = part.written
    if isinstance(written, str):
        there = view.type_at(part.place, part.paths[0]) if is_reference(written) else None
        ok = there is None or template_fits(there, item.type) != NO
        what = f"'{written}' is {named(there)}" if there else ""
    else:
        there = Type("list" if isinstance(written, list) else "dict")
        ok, what = fits(there, item.type) != NO, f"it is {named(there)}"
    if not ok:
        yield Finding("PF13", part.place, f"'{part.key}' does not fit: {what}", _wanted(item, part.written))


RULES = (Rule("PF13", "every param exists, or names a read, and its value fits", check_params),)
