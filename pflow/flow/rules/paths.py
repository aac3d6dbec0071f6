"""PF14: every path in a mapping or template can come from an earlier step or an input, as far as shapes are known."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import shorten
from pflow.flow.findings import Finding, Rule
from pflow.flow.written import MAPPING
from pflow.naming import nearest
from pflow.paths import missing, parse_path, write_path
from pflow.templates import broken_references

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.rules._view import View
    from pflow.flow.wired import Reference, WiredFlow
    from pflow.flow.written import Part
    from pflow.paths import Path
    from pflow.types import Type

_PLAIN = {"int": "an int", "float": "a float", "bool": "a bool", "bytes": "bytes"}
"""Types that nothing stands below."""


def check_paths(view: View) -> Iterator[Finding]:
    for part in [part for parts in [*view.parts.values(), view.output_parts] for part in parts]:
        if part.fault:
            yield Finding("PF14", part.place, part.fault, "a path is written fetch.issue.labels[0]")
        elif part.is_template:
            yield from _check_broken(part)
    yield from _check_verbatim(view)
    yield from _check_targets(view)
    for reference in view.wired.references:
        if reference.trouble:
            yield from _check_trouble(view, reference)
        elif fault := _shape_fault(view.wired, reference):
            yield _finding(reference, fault)


def _check_verbatim(view: View) -> Iterator[Finding]:
    """A template never fills what is taken as it is written: it would reach a shell."""
    for wired in view.steps.values():
        for part in view.parts.get(wired.id, []):
            item = wired.interface.reads.get(part.key)
            if part.role == MAPPING and part.is_template and item is not None and "verbatim" in item.marks:
                message = f"'{part.key}' is taken as it is, and no template fills it"
                yield Finding("PF14", part.place, message, "values go in as arguments, or on stdin")


def _check_broken(part: Part) -> Iterator[Finding]:
    for text in _texts(part.written):
        for broken in broken_references(text):
            message = f"'{shorten(broken)}' is no reference, so it stays as it is"
            yield Finding("PF14", part.place, message, "${name} is one; $$ is a dollar", is_warning=True)


def _texts(written: Any) -> Iterator[str]:
    if isinstance(written, str):
        yield written
    for item in written.values() if isinstance(written, dict) else written if isinstance(written, list) else ():
        yield from _texts(item)


def _check_targets(view: View) -> Iterator[Finding]:
    for wired in view.steps.values():
        for key, written in wired.step.output_mappings.items():
            place = ("mappings", wired.id, "output_mappings", key)
            try:
                path = parse_path(written)
            except ValueError as error:
                yield Finding("PF14", place, str(error), f"a place is written {wired.id}.{key}")
                continue
            if not all(isinstance(step, str) for step in path):
                yield Finding("PF14", place, f"nothing can be written to '{written}'", "a place is a path of names")


def _check_trouble(view: View, reference: Reference) -> Iterator[Finding]:
    """The trouble of a reference, unless it comes of something that another rule has found."""
    root = str(reference.path[0])
    if reference.step and reference.step not in view.reached and _is_written(view, reference.path):
        return
    if root in view.steps:
        is_bare_unknown = len(reference.path) == 1 and view.steps[root].kind is None
        if not is_bare_unknown:
            yield _finding(reference, reference.trouble)
        return
    before = view.before(reference.step)
    is_slip = _is_written(view, reference.path) or nearest(root, [*view.steps, *_roots(view), *view.flow.inputs])
    if is_slip or not any(step.kind is None for step in before):
        may_be = not is_slip and any(step.interface.open for step in before)
        yield _finding(reference, reference.trouble, is_warning=may_be)


def _roots(view: View) -> set[str]:
    """The first parts of all places that steps write."""
    return {str(write.target[0]) for writes in view.writes.values() for write in writes}


def _is_written(view: View, path: Path) -> bool:
    """Whether some step writes what a path leads to, be it too late."""
    writer = view.steps.get(str(path[0]))
    if writer is None:
        return path[0] in _roots(view)
    return len(path) > 1 and (path[1] in writer.interface.writes or path[1] in writer.targets)


def _finding(reference: Reference, trouble: str, *, is_warning: bool = False) -> Finding:
    """What there is instead, where the trouble says it, is the remedy."""
    message, _, instead = trouble.partition("; ")
    remedy = reference.remedy or instead or "a path that an earlier step writes"
    return Finding("PF14", reference.place, message, remedy, is_warning=is_warning)


def _shape_fault(wired: WiredFlow, reference: Reference) -> str:
    """What there is instead of a path's last steps, where the shape of what holds them is known."""
    faults = [_fault_below(type, reference.path, at) for type, at in _types_below(wired, reference)]
    return faults[0] if faults and all(faults) else ""


def _types_below(wired: WiredFlow, reference: Reference) -> Iterator[tuple[Type, int]]:
    """The type of each value that a path may lead into, and how many steps of the path lead to it."""
    length = len(reference.path)
    if reference.is_item:
        yield wired.steps[reference.step].item_type, 1
    elif reference.input is not None and reference.input in wired.inputs:
        yield wired.inputs[reference.input].type, 1
    for write in reference.writes:
        for place in reference.places:
            if place[: len(write.target)] == write.target:
                yield wired.write_type(write), length - (len(place) - len(write.target))


def _fault_below(type: Type, path: Path, at: int) -> str:
    for n in range(at, len(path)):
        step, place = path[n], write_path(path[:n])
        if type.fields:
            if str(step) not in type.fields:
                return missing(str(step), list(type.fields), place).message
            type = type.fields[str(step)]
        elif type.name == "list":
            if isinstance(step, str) and not step.isdecimal():
                return f"no '{step}' in {place}; it is a list"
            if type.items is None:
                return ""
            type = type.items
        elif type.name in _PLAIN:
            return f"no '{step}' in {place}; it is {_PLAIN[type.name]}"
        else:
            return ""
    return ""


RULES = (Rule("PF14", "every path can come from an earlier step or an input", check_paths),)
