"""Which writes may be in the store when a step begins, the latest of each name, and so what each path means."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.resolve import is_stored as is_flag_stored
from pflow.flow.flow import REST
from pflow.flow.wired import END, Write
from pflow.values.paths import meet, missing, write_path
from pflow.values.templates import references
from pflow.words.naming import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pflow.flow.flow import Step
    from pflow.flow.wired import Names, Reference, WiredFlow, WiredStep
    from pflow.values.paths import Path


def reaching_writes(flow: WiredFlow) -> dict[str, Names]:
    """The writes that reach each step of a flow, and its end.

    The graph is walked until nothing more arrives anywhere: once where it has no loop.
    """
    graph, order = flow.graph, flow.order
    made = {id: _writes_by_name(flow, id) for id in order}
    has_loops = bool(graph.loops())
    names: dict[str, Names] = {id: {} for id in [*flow.steps, END]}
    after: dict[str, Names] = {}
    known = -1
    while True:
        for id in order:
            names[id] = _merged([after[each] for each in graph.before[id] if each in after])
            after[id] = _past(names[id], made[id])
        count = sum(len(writes) for each in after.values() for there in each.values() for writes in there.values())
        if not has_loops or count == known:
            break
        known = count
    names[END] = _merged([after[id] for id in order if has_loops or not graph.after(id)])
    return names


def _past(before: Names, made: list[tuple[Path, Write]]) -> Names:
    """The writes when a step has ended: its own in place of older ones of their names."""
    names = dict(before)
    for name, write in made:
        there = names[name[0]] = dict(names.get(name[0], {}))
        own = {(write.step, write.key): write}
        there[name] = {**there.get(name, {}), **own} if write.is_data else own
    return names


def _merged(several: list[Names]) -> Names:
    if len(several) == 1:
        return several[0]
    merged: Names = {}
    for names in several:
        for root, there in names.items():
            if merged.setdefault(root, there) is not there:
                known = merged[root]
                merged[root] = {name: {**known.get(name, {}), **there.get(name, {})} for name in {**known, **there}}
    return merged


def is_stored(wired: WiredStep, key: str) -> bool:
    """Whether a data flag of a step goes into the store."""
    return is_flag_stored(wired.interface, key, wired.step.params) and not _is_of_item(wired.step, key)


def data_of(wired: WiredStep) -> Iterator[Write]:
    """The data flags that a step stores."""
    for key in wired.step.inputs:
        item = wired.interface.reads.get(key)
        if item is not None and is_stored(wired, key):
            yield Write(wired.id, key, wired.data_place(key), item, is_data=True)


def _is_of_item(step: Step, key: str) -> bool:
    """Whether a data flag is made of a batch's item: its value differs with each item, so it is not stored."""
    if step.batch is None:
        return False
    try:
        names = {step.batch.item, *step.batch.parts}
        return any(path[0] in names for path in references(step.inputs.get(key)))
    except ValueError:  # a finding of the rules
        return False


def writes_of(wired: WiredStep) -> list[Write]:
    """What a step writes, wherever it goes; its data flags are not among it."""
    keys = dict.fromkeys([*wired.interface.writes, *wired.targets])
    if wired.is_known and wired.interface.writes:
        keys.pop(REST, None)  # it is each of them
    return [Write(wired.id, key, wired.place_of(key), wired.interface.writes.get(key)) for key in keys]


def _writes_by_name(flow: WiredFlow, id: str) -> list[tuple[Path, Write]]:
    """What a step stores, under every name by which it is found."""
    made = [(write.target, write) for write in data_of(flow.steps[id])]
    for write in flow.writes[id]:
        made.append((write.target, write))
        if write.key in flow.steps[id].moved and write.target != (write.key,):
            made.append(((write.key,), write))
    return made


_OF_A_STEP = ("error", "errors")
"""What the engine itself writes under a step's id: why it failed, and which items of its batch did."""


def resolve(flow: WiredFlow, reference: Reference, step: WiredStep | None) -> None:
    """Find what a reference means, at a step or (without one) at the end of the flow."""
    path = reference.path
    batch = step.step.batch if step and reference.key != "" else None
    names = batch.parts if batch and step and step.item_type.name in ("path", "str", "any") else {}
    if batch is not None and path[0] == batch.item:
        reference.is_item = True
    elif _resolve_by_step(flow, reference, step):
        return
    elif found := find_writes(flow, reference.step, path):
        reference.places = tuple(dict.fromkeys(place for place, _ in found))
        reference.writes = tuple(write for _, write in found)
        is_alone = reference.part.is_template or len(reference.part.paths) == 1
        is_input = path[0] in flow.flow.inputs or not (flow.flow.inputs or path[0] in flow.steps)
        if is_alone and is_input and not are_there_first(flow, reference.step, reference.writes):
            reference.input = str(path[0])
    elif path[0] == "stdin" or path[0] in flow.flow.inputs:
        reference.input = str(path[0])
    elif batch is not None and len(path) == 1 and str(path[0]) in names:
        reference.is_item, reference.is_stem = True, names[str(path[0])]
        reference.places = ((batch.item,),)
    else:
        _resolve_unknown(flow, reference, names)


def find_writes(flow: WiredFlow, id: str, path: Path) -> list[tuple[Path, Write]]:
    """The writes that a path may mean; none where an input is there first: a data flag never replaces it."""
    found = flow.writes_at(id, path)
    declared = flow.flow.inputs.get(str(path[0]))
    is_there = declared is not None and (declared.required or declared.has_default)
    return [] if is_there and all(write.is_data and write.target == path[:1] for _, write in found) else found


def are_there_first(flow: WiredFlow, id: str, writes: Iterable[Write]) -> bool:
    """Whether one of the writes may be there the first time that a step runs: not what comes only round a loop."""
    is_late = id != END and id in flow.order and not flow.is_uncertain
    return not is_late or any(flow.graph.may_precede_first(write.step, id) for write in writes)


def _resolve_by_step(flow: WiredFlow, reference: Reference, reader: WiredStep | None) -> bool:
    """Take `ID.KEY…` for that step's write; False where the path does not begin with a step's id."""
    path = reference.path
    writer = flow.steps.get(str(path[0]))
    if writer is None or len(path) < 2:
        return False
    key = str(path[1])
    is_data = _is_data(writer, key)
    is_write = key in writer.interface.writes or key in writer.targets or key in _OF_A_STEP or writer.interface.open
    if not is_data and not is_write:
        if _is_mapped_to(flow, path):
            return False
        there = list(dict.fromkeys([*writer.interface.writes, *writer.targets]))
        reference.trouble = missing(key, there, writer.id).message
    elif reader is not None and not flow.graph.may_precede(writer.id, reader.id):
        reference.trouble = f"'{writer.id}' does not run before '{reader.id}'"
        reference.remedy = f"an edge that leads from '{writer.id}' to '{reader.id}'"
    else:
        is_under_id = is_data or (key in _OF_A_STEP and key not in writer.targets)
        target = (writer.id, key) if is_under_id else writer.place_of(key)
        items = writer.interface.reads if is_data else writer.interface.writes
        reference.places = (target + path[2:],)
        reference.writes = (Write(writer.id, key, target, items.get(key), is_data=is_data),)
    return True


def _is_data(writer: WiredStep, key: str) -> bool:
    """Whether `ID.KEY` is a data flag of that step, which is stored under its id."""
    is_there = key in writer.step.inputs and key not in writer.targets and is_stored(writer, key)
    return is_there and writer.data_place(key) == (writer.id, key)


def _is_mapped_to(flow: WiredFlow, path: Path) -> bool:
    """Whether a step writes at this very path, or above or below it."""
    return any(meet(path, target) for step in flow.steps.values() for target in step.targets.values())


def _resolve_unknown(flow: WiredFlow, reference: Reference, names: Iterable[str]) -> None:
    """Take a path that nothing writes for an input of the flow, unless it looks like a slip (of these names too)."""
    root, id = str(reference.path[0]), reference.step
    there = dict.fromkeys([*flow.steps, *map(str, flow.names[id]), *flow.flow.inputs, *names])
    others = (write for writer, writes in flow.writes.items() if writer != id for write in writes)
    later = next((write.step for write in others if write.target[0] == root), "")
    reference.trouble = f"nothing writes '{write_path(reference.path)}'"
    if later:
        reference.trouble = f"'{later}' writes '{root}', and does not run before"
    elif root in flow.steps:
        writes = ", ".join(f"{root}.{key}" for key in flow.steps[root].interface.writes) or "nothing"
        reference.trouble, reference.remedy = f"'{root}' is a step", f"it writes {writes}"
    elif near := nearest(root, there):
        reference.remedy = did_you_mean(near)
    elif flow.flow.inputs or id == END:
        reference.remedy = f"there is {', '.join(there) or 'nothing'}"
    else:
        reference.trouble, reference.input = "", root
