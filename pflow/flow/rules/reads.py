"""PF03 and PF08: every read that a node needs has a source, an `[explicit]` one a source of its own."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.findings import Finding, Rule
from pflow.flow.fits import YES, fits
from pflow.flow.rules.params import slips
from pflow.naming import meant, nearest
from pflow.paths import write_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.interface import Item
    from pflow.types import Type


def check_sources(flow: WiredFlow) -> Iterator[Finding]:
    """PF03. In a flow without `inputs` whatever nothing gives is an input, and no finding."""
    for wired, item in _without_source(flow):
        before = flow.before(wired.id)
        is_written = flow.writes_at(wired.id, (item.name,))
        if "explicit" in item.marks or is_written or any(each.kind is None for each in before):
            continue
        may_be = any(each.interface.open for each in before)
        message = f"nothing gives '{wired.id}' its '{item.name}'{_doc(item)}"
        yield Finding("PF03", wired.step.place, message, _remedy(flow, wired, item), is_warning=may_be)


def check_explicit(flow: WiredFlow) -> Iterator[Finding]:
    """PF08. In a flow without `inputs` such a read has a flag of its own."""
    for wired, item in _without_source(flow):
        if "explicit" in item.marks:
            message = f"nothing gives '{wired.id}' its '{item.name}'{_doc(item)}, which it never takes by name"
            yield Finding("PF08", wired.step.place, message, _remedy(flow, wired, item))


def _doc(item: Item) -> str:
    return f" ({item.doc})" if item.doc else ""


def _without_source(flow: WiredFlow) -> Iterator[tuple[WiredStep, Item]]:
    """The reads that a node needs and that neither a mapping, an input, a param nor the pipe gives."""
    if not flow.flow.inputs or flow.is_uncertain:
        return
    mismapped = {meant(id, flow.steps) for id in flow.flow.stray_mappings}
    for wired in [flow.steps[id] for id in flow.order if id not in mismapped]:
        misspelt = slips(wired) if wired.is_known else set()
        for key, item in wired.interface.reads.items() if wired.is_known else ():
            is_wired = (key in wired.sources and key not in wired.soft) or key in wired.step.params
            is_input = (key in flow.flow.inputs and "explicit" not in item.marks) or flow.first_read == (wired.id, key)
            if item.required and key not in misspelt and not is_wired and not is_input:
                yield wired, item


def _remedy(flow: WiredFlow, wired: WiredStep, item: Item) -> str:
    """What would give a read its value: a mapping from an input or an earlier write, else an input to declare.

    Where a file is written, and what a command is, no write is to decide.
    """
    key, is_explicit = item.name, "explicit" in item.marks
    source = key if key in flow.flow.inputs else nearest(key, flow.flow.inputs)
    if source is None and not is_explicit:
        fitting = [each for each in _written_before(flow, wired.id) if fits(each[1], item.type) == YES]
        fitting.sort(key=lambda each: each[1].name != item.type.name)
        source = fitting[0][0] if fitting else None
    if source:
        return f'"mappings": {{"{wired.id}": {{"input_mappings": {{"{key}": "{source}"}}}}}}'
    if is_explicit:
        return f'"inputs": {{"{key}": …}} of {write_path(wired.step.place)}'
    return f'"inputs": {{"{key}": {{"type": "{item.type}"}}}}'


def _written_before(flow: WiredFlow, id: str) -> Iterator[tuple[str, Type]]:
    """Path and type of what steps before one write, latest first, what a pipe carries before its other writes."""
    for step in reversed(flow.before(id)):
        for key, item in sorted(step.interface.writes.items(), key=lambda each: "pipe" not in each[1].marks):
            path = write_path(step.targets.get(key, (step.id, key)))
            yield path, item.type
            yield from ((f"{path}.{name}", type) for name, type in item.type.fields.items())


RULES = (
    Rule("PF03", "every required read has a source", check_sources),
    Rule("PF08", "an [explicit] read has a flag, an input, a param or a mapping", check_explicit),
)
