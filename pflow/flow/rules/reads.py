"""PF03 and PF08: every read that a node needs has a source, an `[explicit]` one a source of its own."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.findings import Finding, Rule
from pflow.flow.fits import YES, fits
from pflow.flow.rules._view import is_known
from pflow.flow.rules.params import slips
from pflow.naming import meant, nearest
from pflow.paths import write_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.rules._view import View
    from pflow.flow.wired import WiredStep
    from pflow.interface import Item
    from pflow.types import Type


def check_sources(view: View) -> Iterator[Finding]:
    """PF03. In a flow without `inputs` whatever nothing gives is an input, and no finding."""
    for wired, item in _without_source(view, explicit=False):
        key = item.name
        if view.wired.writes_at(wired.id, (key,)) or view.is_written_beside(key, wired.id):
            continue
        before = view.before(wired.id)
        if any(each.kind is None for each in before):
            continue
        may_be = any(each.interface.open for each in before)
        message = f"nothing gives '{wired.id}' its '{key}'" + _doc(item)
        yield Finding("PF03", wired.step.place, message, _remedy(view, wired, item), is_warning=may_be)


def check_explicit(view: View) -> Iterator[Finding]:
    """PF08. In a flow without `inputs` such a read has a flag of its own."""
    for wired, item in _without_source(view, explicit=True):
        message = f"nothing gives '{wired.id}' its '{item.name}'{_doc(item)}, which it never takes by name"
        yield Finding("PF08", wired.step.place, message, _remedy(view, wired, item))


def _doc(item: Item) -> str:
    return f" ({item.doc})" if item.doc else ""


def _without_source(view: View, *, explicit: bool) -> Iterator[tuple[WiredStep, Item]]:
    """The reads that a node needs and that neither a mapping, an input, a param nor the pipe gives."""
    if not view.flow.inputs or view.is_uncertain:
        return
    mismapped = {meant(id, view.steps) for id in view.flow.stray_mappings}
    for wired in view.steps.values():
        if not is_known(wired) or wired.id not in view.reached or wired.id in mismapped:
            continue
        misspelt = slips(wired)
        for key, item in wired.interface.reads.items():
            if item.required and explicit == ("explicit" in item.marks) and key not in misspelt:
                is_wired = key in wired.sources and key not in wired.soft
                is_input = key in view.flow.inputs and not explicit
                if not (is_wired or is_input or key in wired.step.params or view.wired.first_read == (wired.id, key)):
                    yield wired, item


def _remedy(view: View, wired: WiredStep, item: Item) -> str:
    """What would give a read its value: a mapping from an input or an earlier write, else an input to declare.

    Where a file is written, and what a command is, no write is to decide.
    """
    key, is_explicit = item.name, "explicit" in item.marks
    source = key if key in view.flow.inputs else nearest(key, view.flow.inputs)
    if source is None and not is_explicit:
        source = _fitting_write(view, wired, item)
    if source:
        return f'"mappings": {{"{wired.id}": {{"input_mappings": {{"{key}": "{source}"}}}}}}'
    if is_explicit:
        return f'"inputs": {{"{key}": …}} of {write_path(wired.step.place)}'
    return f'"inputs": {{"{key}": {{"type": "{item.type}"}}}}'


def _fitting_write(view: View, wired: WiredStep, item: Item) -> str | None:
    """The path of what an earlier step writes and this read most likely wants: by name, then the latest that fits."""
    writes = [each for step in reversed(view.before(wired.id)) for each in _written_by(step)]
    fitting = [each for each in writes if fits(each[2], item.type) == YES]
    fitting.sort(key=lambda each: (each[0] != item.name, each[2].name != item.type.name))
    return fitting[0][1] if fitting else None


def _written_by(step: WiredStep) -> Iterator[tuple[str, str, Type]]:
    """Name, path and type of what a step writes, what a pipe carries on first, and of the members that are known."""
    for key, item in sorted(step.interface.writes.items(), key=lambda each: "pipe" not in each[1].marks):
        path = write_path(step.targets.get(key, (step.id, key)))
        yield key, path, item.type
        yield from ((name, f"{path}.{name}", type) for name, type in item.type.fields.items())


RULES = (
    Rule("PF03", "every required read has a source", check_sources),
    Rule("PF08", "an [explicit] read has a flag, an input, a param or a mapping", check_explicit),
)
