"""PF15: what a read is mapped from, or takes by its name, is of a type that fits."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.findings import Finding, Rule
from pflow.flow.fits import MAYBE, NO, fits, named, template_fits
from pflow.flow.rules._view import is_known
from pflow.flow.schema import type_fault
from pflow.flow.written import MAPPING, OVER
from pflow.paths import write_path
from pflow.templates import is_reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.rules._view import View
    from pflow.flow.wired import Reference, WiredStep
    from pflow.interface import Item
    from pflow.types import Type

_BATCHABLE = ("list", "dict", "any")


def check_mapped_types(view: View) -> Iterator[Finding]:
    yield from _check_declared(view)
    for reference in view.wired.references:
        if not reference.trouble and reference.step:
            yield from _check_reference(view, reference, view.steps[reference.step])
    for wired in view.steps.values():
        if is_known(wired):
            for key, item in wired.interface.reads.items():
                if item.type.name not in ("any", "str") and _is_by_name(wired, key, item):
                    yield from _check_by_name(view, wired, key, item)


def _check_declared(view: View) -> Iterator[Finding]:
    """Hold the types of the flow's inputs to the grammar, and to the reads that take them by name."""
    for name, given in view.flow.inputs.items():
        if fault := type_fault(given.type):
            yield Finding("PF15", ("inputs", name, "type"), fault, "list[str], dict{title: str} and a|b are types too")
            continue
        there = view.wired.inputs[name].type
        for id, key in view.wired.inputs[name].readers:
            wired = view.steps[id]
            item = wired.interface.reads.get(key)
            if item and key == name and _is_by_name(wired, key, item) and fits(there, item.type) == NO:
                message = f"'{id}' reads '{key}' as {named(item.type)}, and the input is {named(there)}"
                yield Finding("PF15", ("inputs", name, "type"), message, f'"type": "{item.type}"')


def _is_by_name(wired: WiredStep, key: str, item: Item) -> bool:
    """Whether a read takes the store's key of its name."""
    is_wired = key in wired.sources and key not in wired.soft
    return not is_wired and "explicit" not in item.marks


def _check_by_name(view: View, wired: WiredStep, key: str, item: Item) -> Iterator[Finding]:
    writes = [write for _, write in view.wired.writes_at(wired.id, (key,))]
    declared = writes[0].item if len(writes) == 1 and writes[0].target == (key,) == (writes[0].key,) else None
    if declared is None or view.steps[writes[0].step].step.batch is not None or fits(declared.type, item.type) != NO:
        return
    there = f"and '{writes[0].step}' writes it as {named(declared.type)}"
    message = f"'{wired.id}' reads '{key}' as {named(item.type)}, {there}"
    remedy = f'"mappings": {{"{wired.id}": {{"input_mappings": {{"{key}": …}}}}}}'
    yield Finding("PF15", wired.step.place, message, remedy)


def _check_reference(view: View, reference: Reference, wired: WiredStep) -> Iterator[Finding]:
    there = view.wired.type_of(reference)
    if reference.role == OVER:
        if there.name not in _BATCHABLE:
            message = f"a batch runs over a list or an object, and '{write_path(reference.path)}' is {named(there)}"
            yield Finding("PF15", reference.place, message, "the path of a list or an object")
        return
    item = wired.interface.reads.get(reference.key)
    if reference.role != MAPPING or item is None:
        return
    part = view.part_at(reference)
    if part.is_template and not is_reference(part.written):
        return
    outcome = (template_fits if part.is_template else fits)(there, item.type)
    if outcome == NO:
        yield _misfit(reference, there, item)
    elif outcome == MAYBE and _is_declared(reference):
        yield _misfit(reference, there, item, is_warning=True)


def _misfit(reference: Reference, there: Type, item: Item, *, is_warning: bool = False) -> Finding:
    may = "may be" if is_warning else "is"
    message = f"'{reference.key}' wants {named(item.type)}, and '{write_path(reference.path)}' {may} {named(there)}"
    remedy = f"it fails where that is no {item.type}" if is_warning else f"map it from {named(item.type)}"
    return Finding("PF15", reference.place, message, remedy, is_warning=is_warning)


def _is_declared(reference: Reference) -> bool:
    """Whether a node says what it writes there, be it `any`."""
    return bool(reference.writes) and all(write.item is not None for write in reference.writes)


RULES = (Rule("PF15", "the type of a mapped value fits; any warns", check_mapped_types),)
