"""PF18: no answer is dropped while a later step takes an older value or no value instead."""

from __future__ import annotations

from pflow import Collection, Iterator, Mapping
from pflow.binding.sources import PathSource
from pflow.flow.expressions import MAPPING, fits, source_of
from pflow.flow.findings import Finding, Rule
from pflow.flow.graph import distances
from pflow.flow.pipe.carry import are_parallel, is_certain
from pflow.flow.references import find_writes, uses, writes_by_name
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.interface import Field
from pflow.text.naming import joined
from pflow.values.jsontext import quote

ONLY_GIVES = {"network", "reads files"}
"""The effects of a step that is run only for its writes: if nothing uses these, it had no purpose."""


class Dropped:
    """An answer that nothing uses, and the nearest read that could take it: `field` of the step `reader`.

    `writers` are the steps that write it: on each path to the reader, the last one. `older` are the steps whose write
    the read takes instead, if any.
    """

    def __init__(self, reader: str, field: Field, older: list[str]) -> None:
        self.reader = reader
        self.field = field
        self.older = older
        self.writers: list[str] = []


def dropped_answers(flow: WiredFlow) -> list[Dropped]:
    """Find the steps whose writes nothing uses, and the nearest read that could take them: one finding for each read.

    The value that such a read takes now counts as unused, so one finding may lead to another.
    """
    found: dict[str, Dropped] = {}
    seen: set[str] = set()
    stops = _stops(flow)
    takers = [id for id, (stop, _) in stops.items() if stop == id and _takes(flow.steps[id])]
    before_takers = distances(takers, flow.graph.before.__getitem__)
    while more := [id for id in unused_steps(flow, found) if id in before_takers and id not in seen]:
        seen.update(more)
        for id in reversed(more):
            for dropped in _nearest(flow, flow.steps[id], found, stops):
                found.setdefault(dropped.reader, dropped).writers.insert(0, id)
    return list(found.values())


def unused_steps(flow: WiredFlow, found: Mapping[str, Dropped]) -> list[str]:
    """Return the steps whose answers nothing uses. Choosing an edge is a use, and an open step may use anything."""
    if flow.is_uncertain or any(flow.graph.open_edges(fork) for fork in flow.graph.forks()):
        return []  # PF12 reports the graph, which has no sure meaning
    used = _used(flow, {(reader, each.field.name) for reader, each in found.items()})
    unknown = [id for id, each in flow.steps.items() if not each.is_known]
    used |= distances(unknown, flow.graph.before.__getitem__).keys()
    return [id for id in flow.order if id not in used]


def _used(flow: WiredFlow, but: Collection[tuple[str, str]]) -> set[str]:
    """Return the steps with a write that a read other than those in `but` takes, or with an action that has an edge."""
    used = {write.step for _, id, key, writes in uses(flow) if (id, key) not in but for write in writes}
    awaited = {id: flow.graph.next[id].keys() & flow.steps[id].actions for id in flow.order}
    return used.union(id for id, actions in awaited.items() if actions - {"default"})


def _stops(flow: WiredFlow) -> dict[str, tuple[str, bool]]:
    """Return, for each step, where a search for readers stops: there, or at the next fork, branch or open read.

    The second value is True if there are `[pipe]` reads before the stop; these have values. A search from stop to stop
    stays short in chains of thousands of steps.
    """
    stops: dict[str, tuple[str, bool]] = {}
    for id in reversed(flow.order):
        after, field = flow.graph.after(id), flow.steps[id].interface.pipe_read
        if len(after) != 1 or _takes(flow.steps[id]):
            stops[id] = id, False
        else:
            stop, is_past = stops.get(after[0], (after[0], False))
            stops[id] = stop, is_past or field is not None
    return stops


def _nearest(
    flow: WiredFlow, writer: WiredStep, found: dict[str, Dropped], stops: dict[str, tuple[str, bool]]
) -> Iterator[Dropped]:
    """Yield, on each path, the nearest `[pipe]` read that could take the answer, but takes an older write or nothing.

    After a read to which the flow gives a value, or that is in `found` with a newer answer, a read that takes nothing
    is no longer a fault. A read that takes an older write still is.
    """
    answer = writer.interface.pipe_write
    if answer is None or answer.is_secret:
        return
    type = flow.write_type(next(write for write in flow.writes[writer.id] if write.key == answer.name))
    todo = [stops[id] for id in flow.graph.after(writer.id, past_errors=False)]
    seen: set[str] = set()
    is_first = True
    for id, is_past in todo:
        if id in seen:
            continue
        seen.add(id)
        is_first = is_first and not is_past
        field = flow.steps[id].interface.pipe_read
        newer = found[id].writers if id in found else ()
        is_taken = id == writer.id or any(flow.graph.may_precede(writer.id, each, past_loops=False) for each in newer)
        taken = type if flow.steps[id].step.batch is None else type.items or type
        if field is not None and not is_taken and _is_left_open(flow.steps[id], field) and fits(taken, field.type):
            dropped = _dropped(flow, writer, flow.steps[id], field)
            yield from [dropped] if dropped and (dropped.older or is_first) else []
        else:
            is_first = is_first and field is None
            todo += [stops[each] for each in flow.graph.after(id)]


def _takes(wired: WiredStep) -> bool:
    """Return True if the step has a `[pipe]` read to which the flow gives no value."""
    field = wired.interface.pipe_read
    return field is not None and _is_left_open(wired, field)


def _is_left_open(wired: WiredStep, field: Field) -> bool:
    """Return True if the flow gives a read no value, or only the item of a batch."""
    batch = wired.step.batch
    if batch is not None:
        source = wired.sources.get(field.name)
        return field.name not in wired.step.inputs and isinstance(source, PathSource) and source.path == (batch.item,)
    return not wired.step.fills(field.name) and "explicit" not in field.marks


def _dropped(flow: WiredFlow, writer: WiredStep, reader: WiredStep, field: Field) -> Dropped | None:
    paths = [(field.name,)] if reader.over is None else reader.over.paths
    found = [each for path in paths for each in find_writes(flow, reader.id, path)]
    older = [write.step for _, write in found if flow.graph.may_precede(write.step, writer.id, past_loops=False)]
    if reader.over is not None:  # a step that runs once for its effects may well come before a batch over older items
        gives = writer.step.batch is not None or set(writer.interface.effects) <= ONLY_GIVES
        return Dropped(reader.id, field, list(dict.fromkeys(older))) if older and gives else None
    is_declared = field.name in flow.flow.inputs or flow.first_read == (reader.id, field.name)
    is_templated = any(expr.paths for expr in flow.expressions[reader.id])
    # A required read without a value is an input or stops the run, so it does not go unnoticed.
    is_left = field.required or is_declared or is_templated
    if older or not (found or is_left or set(writer.interface.effects) - ONLY_GIVES):
        return Dropped(reader.id, field, list(dict.fromkeys(older)))
    return None


def newer_source(flow: WiredFlow, dropped: Dropped) -> str | list[str] | None:
    """Return the source for a mapping that takes the answer; None if no path leads to it in every run."""
    writers, is_batch = set(dropped.writers), flow.steps[dropped.reader].over is not None
    if is_batch or are_parallel(flow, writers) or not is_certain(flow, writers, dropped.reader):
        return None
    answers = [(id, flow.steps[id].interface.pipe_write) for id in dropped.writers]
    return source_of((id, answer.name) for id, answer in answers if answer is not None)


def finding_of(flow: WiredFlow, dropped: Dropped, *, is_warning: bool = True) -> Finding:
    """Make the finding of a dropped answer, at the last step that writes it."""
    reader, key, batch = dropped.reader, dropped.field.name, flow.steps[dropped.reader].step.batch
    instead = f"'{key}' from {joined(dropped.older)}" if dropped.older else f"no '{key}'"
    if batch is not None:
        instead = f"the items of '{batch.over}'"
        remedy = f"run it over that; with --with-item there, ${{{batch.item}.item}} is the item of each result"
    else:
        remedy = mapping_of(flow, reader, key, newer_source(flow, dropped) or "…")
    verb = "writes" if len(dropped.writers) == 1 else "write"
    message = f"nothing uses what {joined(dropped.writers)} {verb}, while '{reader}' takes {instead}"
    return Finding("PF18", flow.steps[dropped.writers[-1]].step.location, message, remedy, is_warning=is_warning)


def mapping_of(flow: WiredFlow, id: str, key: str, source: str | list[str]) -> str:
    """Write the mapping of a read in the form of its flow: flags of pipe syntax, or JSON. A source may be "…"."""
    if flow.flow.dialect == "pipe":
        return " ".join([id, *(f"--map-in={key}={path}" for path in ([source] if isinstance(source, str) else source))])
    shown = (
        source if source == "…" else quote(source) if isinstance(source, str) else f"[{', '.join(map(quote, source))}]"
    )
    return f'"mappings": {{"{id}": {{"input_mappings": {{"{key}": {shown}}}}}}}'


def passed_over(flow: WiredFlow, given: Collection[str] | None = None) -> Iterator[Finding]:
    """Yield a finding for each answer that only a soft mapping takes, if the store has a key of the read's own name.

    Without `given`, before a run, the known keys are those of earlier steps and of declared inputs that always have a
    value. At a run, `given` has the keys of its store and inputs, and only the findings that these add are yielded.
    """
    soft = {(id, key): set[str]() for id, wired in flow.steps.items() for key in wired.step.soft or ()}
    """The steps whose answers each soft mapping takes."""
    if not soft or flow.is_uncertain:
        return
    own = {at: {write.step for _, write in writes_by_name(flow, flow.steps[at[0]], at[1])} for at in soft}
    for each in flow.references:
        if each.role == MAPPING and (each.step, each.key) in soft:
            soft[each.step, each.key].update(write.step for write in each.writes)
    used = _used(flow, soft).union(*own.values())
    needed = {name for name, each in flow.inputs.items() if each.declared and (each.required or each.has_default)}
    for (id, key), answers in soft.items():
        if not answers or answers & used:
            continue
        wired, writers = flow.steps[id], own[id, key]
        is_sure = key in needed or (bool(writers) and is_certain(flow, writers, id))
        if is_sure if given is None else key in given and not is_sure:
            source = wired.step.input_mappings[key]
            flags = " ".join(f"--map-in {key}={path}" for path in (source if isinstance(source, list) else [source]))
            message, remedy = f"'{wired.id}' takes '{key}' from the store", f"{flags} takes what is carried"
            yield Finding("PF18", wired.step.location, message, remedy, is_warning=True)


def check_answers(flow: WiredFlow) -> Iterator[Finding]:
    yield from (finding_of(flow, dropped) for dropped in dropped_answers(flow))
    yield from passed_over(flow)


RULES = (Rule("PF18", "no answer is dropped for an older one, or for nothing", check_answers, otherwise="warning"),)
