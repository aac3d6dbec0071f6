"""PF15: what a read is mapped from, or takes by its name, is of a type that fits."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.findings import Finding, Rule
from pflow.flow.fits import MAYBE, NO, fits, named, template_fits
from pflow.flow.wired import END
from pflow.flow.written import MAPPING, OVER
from pflow.paths import write_path
from pflow.templates import is_reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.wired import Reference, WiredFlow, WiredStep
    from pflow.interface import Item


def check_types(flow: WiredFlow) -> Iterator[Finding]:
    for reference in flow.references:
        if not reference.trouble and reference.step != END:
            yield from _check_reference(flow, reference, flow.steps[reference.step])
    for wired in flow.steps.values():
        for item in wired.interface.reads.values() if wired.is_known else ():
            if wired.takes_by_name(item):
                yield from _check_by_name(flow, wired, item)


def _check_by_name(flow: WiredFlow, wired: WiredStep, item: Item) -> Iterator[Finding]:
    """Hold a read to the only write of its name, or to the flow's input, as its node and its flow declare them."""
    key = item.name
    writes = [write for _, write in flow.writes_at(wired.id, (key,))]
    given = flow.inputs.get(key)
    if not writes and given is not None and given.declared and fits(given.type, item.type) == NO:
        message = f"'{wired.id}' reads '{key}' as {named(item.type)}, and the input is {named(given.type)}"
        yield Finding("PF15", ("inputs", key, "type"), message, f'"type": "{item.type}"')
    if len(writes) == 1 and writes[0].target == (key,) == (writes[0].key,):
        there = flow.write_type(writes[0])
        if fits(there, item.type) == NO:
            what = f"'{wired.id}' reads '{key}' as {named(item.type)}"
            message = f"{what}, and '{writes[0].step}' writes it as {named(there)}"
            remedy = f'"mappings": {{"{wired.id}": {{"input_mappings": {{"{key}": …}}}}}}'
            yield Finding("PF15", wired.step.place, message, remedy)


def _check_reference(flow: WiredFlow, reference: Reference, wired: WiredStep) -> Iterator[Finding]:
    there, part, path = flow.type_of(reference), reference.part, write_path(reference.path)
    if reference.role == OVER and there.name not in ("list", "dict", "any"):
        message = f"a batch runs over a list or an object, and '{path}' is {named(there)}"
        yield Finding("PF15", part.place, message, "the path of a list or an object")
    item = wired.interface.reads.get(part.key)
    if part.role != MAPPING or item is None or (part.is_template and not is_reference(part.written)):
        return
    outcome = (template_fits if part.is_template else fits)(there, item.type)
    what = f"'{part.key}' wants {named(item.type)}, and '{path}'"
    if outcome == NO:
        yield Finding("PF15", part.place, f"{what} is {named(there)}", f"map it from {named(item.type)}")
    elif outcome == MAYBE and reference.writes and all(write.item for write in reference.writes):
        remedy = f"it fails where that is no {item.type}"
        yield Finding("PF15", part.place, f"{what} may be {named(there)}", remedy, is_warning=True)


RULES = (Rule("PF15", "the type of a mapped value fits; any warns", check_types),)
