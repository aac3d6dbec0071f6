"""PF14: every path in a mapping or template can come from an earlier step or an input, as far as types tell."""

from __future__ import annotations

from itertools import pairwise

from pflow import Callable, Container, Iterator
from pflow.binding.flag_value import unfilled
from pflow.errors import shorten
from pflow.flow.expressions import INPUT, MAPPING, PARAM, Expression
from pflow.flow.findings import Finding, Rule
from pflow.flow.references import are_there_first, resolve
from pflow.flow.wired_flow import Reference, WiredFlow, WiredStep
from pflow.interface.interface import Interface
from pflow.text.naming import nearest
from pflow.values.jsontext import texts_in
from pflow.values.paths import Path, write_path
from pflow.values.templates import Bare, broken_references, double_braces, parse_place, parse_template
from pflow.values.types import type_below


def check_paths(flow: WiredFlow) -> Iterator[Finding]:
    for id, exprs in flow.expressions.items():
        for expr in exprs:
            yield from _check_expression(expr, flow.steps.get(id))
    yield from check_unfilled(flow)
    for wired in flow.steps.values():
        yield from _check_targets(wired)
    for reference in flow.references:
        if reference.trouble:
            yield from _check_trouble(flow, reference)
        else:
            faults = [type_below(type, reference.path, at)[1] for type, at in flow.types_at(reference)]
            if faults and all(faults):
                yield _finding(reference, faults[0])
            yield from _check_whole(flow, reference)
    yield from _check_first(flow)


def _check_whole(flow: WiredFlow, reference: Reference) -> Iterator[Finding]:
    """Find a template in a batch that names the whole list instead of the item: an error if the items have that key."""
    wired = flow.steps.get(reference.step)
    batch = wired.step.batch if wired else None
    if (
        batch is None
        or wired is None
        or wired.over is None
        or not reference.expression.is_template
        or reference.is_item
    ):
        return
    if reference.places == wired.over.paths and (reference.input or reference.writes):
        name, key = write_path(reference.path), reference.path[-1]
        keeps_item = key in wired.item_type.fields
        remedy = f"${{{batch.item}.{key}}} is that of the item" if keeps_item else f"${batch.item} is the item"
        message = f"'{name}' is all that the batch runs over, in each of its items"
        yield Finding("PF14", reference.location, message, remedy, is_warning=not keeps_item)


def _check_first(flow: WiredFlow) -> Iterator[Finding]:
    """Refuse a path to a write of a later turn of a loop only, unless it is in a list with an earlier path."""
    early = {each.location for each in flow.references if not (each.expression.is_template or _is_late(flow, each))}
    late = [each for each in flow.references if _is_late(flow, each) and each.location not in early]
    for reference in {each.location: each for each in late}.values():
        message = f"'{reference.writes[0].step}' does not run before the first '{reference.step}'"
        remedy = f'["…", "{write_path(reference.path)}"]: a list of paths takes the one that is there'
        yield Finding("PF14", reference.location, message, remedy)


def _is_late(flow: WiredFlow, reference: Reference) -> bool:
    writes = () if reference.input else reference.writes
    return bool(writes) and not are_there_first(flow, reference.step, writes)


def _check_expression(expr: Expression, wired: WiredStep | None) -> Iterator[Finding]:
    """Check the paths and templates of an expression. A template never fills a `[verbatim]` read."""
    field = wired.interface.reads.get(expr.key) if wired else None
    if expr.fault:
        is_shown = wired is None or not wired.is_secret(expr.key)
        fault = expr.fault if is_shown else f"'{expr.key}' holds no path"
        yield Finding("PF14", expr.location, fault, "a path is written fetch.issue.labels[0]")
    elif expr.is_template and expr.role == MAPPING and field is not None and "verbatim" in field.marks:
        message = f"'{expr.key}' is verbatim, so no template fills it"
        yield Finding("PF14", expr.location, message, "values go in as arguments, or on stdin")
    for text in texts_in(expr.written) if expr.is_template and not expr.fault else ():
        for broken in broken_references(text):
            is_all = field is not None and field.is_template
            what = "and would be handed on" if is_all else "so it is left as text"
            message, remedy = f"'{shorten(broken)}' is not a reference, {what}", "${name} is a reference, $$ a dollar"
            yield Finding("PF14", expr.location, message, remedy, is_warning=not is_all)
        for name, after in pairwise(parse_template(text)):
            if isinstance(name, Bare) and isinstance(after, str) and after[0].isalpha():
                message = f"'${name[0]}{after[0]}…' names '{name[0]}': a name has letters of ASCII only"
                yield Finding("PF14", expr.location, message, f"${{{name[0]}}} if that is meant", is_warning=True)
        for braces, remedy in double_braces(text):
            message = f"'{shorten(braces)}' is not a reference, so it is left as text"
            yield Finding("PF14", expr.location, message, f"{shorten(remedy)} is one", is_warning=True)


def check_unfilled(
    flow: WiredFlow, incoming: Container[str] | None = None, *, is_warning: bool = True
) -> Iterator[Finding]:
    """Find names that nothing fills in `[verbatim]` values: of inputs and writes, or of keys in `incoming` if given."""
    for wired in flow.steps.values():
        for location, interface, expr in _values(flow, wired, ()):
            field = interface.field(expr.key)
            is_there = _is_there(flow, wired, expr, incoming)
            for message, remedy in unfilled(field, interface, expr.written, is_there) if field else ():
                yield Finding("PF14", location, message, remedy, is_warning=is_warning)


def _values(flow: WiredFlow, wired: WiredStep, before: Path) -> Iterator[tuple[Path, Interface, Expression]]:
    """Yield the values of a step and of the flow inside it, each with its location, except with --verbatim."""
    if wired.inline is not None:
        for step in wired.inline.steps.values():
            yield from _values(wired.inline, step, (*before, *wired.step.location))
    for expr in flow.expressions[wired.id] if not wired.step.is_verbatim else ():
        if expr.role in (INPUT, PARAM):
            yield (*before, *expr.location), wired.interface, expr


def _is_there(
    flow: WiredFlow, wired: WiredStep, expr: Expression, incoming: Container[str] | None
) -> Callable[[Path], bool]:
    def is_there(path: Path) -> bool:
        reference = Reference(wired.id, expr, path)
        resolve(flow, reference, wired)
        is_written = reference.writes or any(path[0] in each.interface.writes for each in flow.before(wired.id))
        known = {*flow.inputs, *flow.flow.item_parts, "stdin"}
        is_known = bool(is_written) or reference.is_item or reference.input in known
        return is_known if incoming is None else not is_known and path[0] in incoming

    return is_there


def _check_targets(wired: WiredStep) -> Iterator[Finding]:
    for key, written in wired.step.output_mappings.items():
        try:
            if not all(isinstance(step, str) for step in parse_place(written)):
                raise ValueError(f"nothing can be written to '{written}'")
        except ValueError as error:
            place = ("mappings", wired.id, "output_mappings", key)
            yield Finding("PF14", place, str(error), f"a place is a path of names, {wired.id}.{key}")


def _check_trouble(flow: WiredFlow, reference: Reference) -> Iterator[Finding]:
    """Yield a finding for the trouble of a reference, unless another rule reports its cause."""
    root, reader = str(reference.path[0]), reference.step
    roots = {str(write.target[0]) for writes in flow.writes.values() for write in writes}
    writer = flow.steps.get(root)
    is_written = root in roots if writer is None else _writes(writer, reference)
    if is_written and (flow.is_uncertain or (reader and reader not in flow.graph.reached)):
        return
    if writer is not None:
        if len(reference.path) > 1 or writer.node_type is not None:
            yield _finding(reference, reference.trouble)
        return
    before = flow.before(reader)
    is_slip = is_written or nearest(root, [*flow.steps, *roots, *flow.flow.inputs]) is not None
    if is_slip or all(step.node_type is not None for step in before):
        may_be = not is_slip and any(step.interface.open for step in before)
        yield _finding(reference, reference.trouble, is_warning=may_be)


def _writes(writer: WiredStep, reference: Reference) -> bool:
    """Return True if the step that a reference `ID.KEY` names has that write."""
    return any(key in writer.interface.writes or key in writer.targets for key in map(str, reference.path[1:2]))


def _finding(reference: Reference, trouble: str, *, is_warning: bool = False) -> Finding:
    """Make a finding. If the trouble has a part after `; `, that is the remedy."""
    message, _, instead = trouble.partition("; ")
    remedy = reference.remedy or instead or "a path that an earlier step writes"
    return Finding("PF14", reference.location, message, remedy, is_warning=is_warning)


RULES = (Rule("PF14", "every path can come from an earlier step or an input", check_paths),)
