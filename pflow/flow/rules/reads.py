"""PF03 and PF08: every read that a node needs has a source, an `[explicit]` one a source of its own."""

from __future__ import annotations

from pflow.flow.findings import Finding
from pflow.flow.rules.fits import YES, fits
from pflow.flow.rules.params import slips
from pflow.flow.rules.view import is_known
from pflow.naming import nearest
from pflow.paths import write_path
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.rules.view import View
    from pflow.flow.wired import WiredStep
    from pflow.interface import Item

PF03, PF08 = "PF03", "PF08"
_LOOKED_AT = 50
"""How many steps before one are looked at for what it may want."""


def check_sources(view: View) -> Iterator[Finding]:
    """PF03. In a flow without `inputs` whatever nothing gives is an input, and no finding."""
    for wired, item in _without_source(view, explicit=False):
        key = item.name
        if view.is_written_before(key, wired.id) or view.is_written_beside(key, wired.id):
            continue
        before = view.before(wired.id)
        if any(each.kind is None for each in before):
            continue
        may_be = any(each.interface.open for each in before)
        message = f"nothing gives '{wired.id}' its '{key}'" + _doc(item)
        yield Finding(PF03, wired.step.place, message, _remedy(view, wired, item), is_warning=may_be)


def check_explicit(view: View) -> Iterator[Finding]:
    """PF08. In a flow without `inputs` such a read has a flag of its own."""
    for wired, item in _without_source(view, explicit=True):
        message = f"nothing gives '{wired.id}' its '{item.name}'{_doc(item)}, which it never takes by name"
        yield Finding(PF08, wired.step.place, message, _remedy(view, wired, item))


def _doc(item: Item) -> str:
    return f" ({item.doc})" if item.doc else ""


def _without_source(view: View, *, explicit: bool) -> Iterator[tuple[WiredStep, Item]]:
    """The reads that a node needs and that neither a mapping, an input, a param nor the pipe gives."""
    if not view.flow.inputs:
        return
    for wired in view.steps.values():
        if not is_known(wired) or wired.id not in view.ways.reached or wired.id in view.mismapped:
            continue
        misspelt = slips(wired)
        for key, item in wired.interface.reads.items():
            if item.required and explicit == ("explicit" in item.marks) and key not in misspelt:
                is_wired = key in wired.sources and key not in wired.soft
                is_input = key in view.flow.inputs and not explicit
                if not (is_wired or is_input or key in wired.step.params or view.plan.first_read == (wired.id, key)):
                    yield wired, item


def _remedy(view: View, wired: WiredStep, item: Item) -> str:
    """What would give a read its value: a mapping from an input or an earlier write, else an input to declare.

    Where a file is written, and what a command is, no write is to decide.
    """
    key = item.name
    is_explicit = "explicit" in item.marks
    source = _like_named_input(view, key) or ("" if is_explicit else _fitting_write(view, wired, item))
    if source:
        return f'"mappings": {{"{wired.id}": {{"input_mappings": {{"{key}": "{source}"}}}}}}'
    if is_explicit:
        return f'"inputs": {{"{key}": …}} of {write_path(wired.step.place)}'
    return f'"inputs": {{"{key}": {{"type": "{item.type}"}}}}'


def _like_named_input(view: View, key: str) -> str | None:
    return key if key in view.flow.inputs else nearest(key, view.flow.inputs)


def _fitting_write(view: View, wired: WiredStep, item: Item) -> str:
    """The path of what an earlier step writes and this read most likely wants: by name, then the latest of its type."""
    candidates = [
        (_likeness(path[-1], type, item, is_carried=is_carried), -n, path)
        for n, each in enumerate(view.before(wired.id)[: -_LOOKED_AT - 1 : -1])
        for path, type, is_carried in _written_by(each)
    ]
    best = max(candidates, default=None)
    return ".".join(best[2]) if best is not None and best[0] > 0 else ""


def _written_by(wired: WiredStep) -> Iterator[tuple[tuple[str, ...], Type, bool]]:
    """What a step writes, and the members of it that are known."""
    for key, item in wired.interface.writes.items():
        place = tuple(map(str, wired.targets.get(key, (wired.id, key))))
        yield place, item.type, "pipe" in item.marks
        for name, type in item.type.fields.items():
            yield (*place, name), type, False


def _likeness(name: str, type: Type, item: Item, *, is_carried: bool) -> int:
    """How likely it is that a read wants a write; 0 where it cannot take it."""
    if fits(type, item.type) != YES:
        return 0
    is_same_type = type.name == item.type.name or "any" in (type.name, item.type.name)
    return 1 + 4 * (name == item.name) + 2 * is_same_type + is_carried
