"""What each reference in a flow means: the writes of each step, which of them a path leads to, and who uses them."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Iterable, Iterator
from pflow.binding.resolve import is_stored as is_flag_stored
from pflow.errors import result_of
from pflow.flow.flow import REST, Step
from pflow.flow.graph import END, Write
from pflow.text.naming import did_you_mean, nearest
from pflow.values.paths import Path, are_nested, missing, write_path
from pflow.values.templates import references

if TYPE_CHECKING:
    from pflow.flow.wired_flow import Reference, WiredFlow, WiredStep


def is_stored(wired: WiredStep, key: str) -> bool:
    """Return True if the value of a data flag is also kept in the store."""
    return is_flag_stored(wired.interface, key, wired.step.params) and not _is_of_item(wired.step, key)


def data_of(wired: WiredStep) -> Iterator[Write]:
    """Yield a write for each data flag that a step keeps in the store."""
    for key in wired.step.inputs:
        field = wired.interface.reads.get(key)
        if field is not None and is_stored(wired, key):
            yield Write(wired.id, key, wired.data_place(key), field, is_data=True)


def _is_of_item(step: Step, key: str) -> bool:
    """Return True if a data flag uses the item of a batch: then it has no single value that could be stored."""
    names = {step.batch.item, *step.batch.parts} if step.batch is not None else ()
    named = result_of(references, step.inputs.get(key), of=ValueError, otherwise=[]) if names else []
    return any(path[0] in names for path in named)


def writes_of(wired: WiredStep) -> list[Write]:
    """Return the writes of a step, moved ones included, without its data flags."""
    keys = dict.fromkeys([*wired.interface.writes, *wired.targets])
    if wired.is_known and wired.interface.writes:
        keys.pop(REST, None)  # it stands for unknown keys, and all keys of this node are known
    return [Write(wired.id, key, wired.place_of(key), wired.interface.writes.get(key)) for key in keys]


def stored_writes(flow: WiredFlow) -> Iterator[tuple[Path, Write]]:
    """Yield all writes in the order of the flow, under each name by which a step may find them."""
    for wired in [flow.steps[id] for id in flow.order]:
        for write in [*data_of(wired), *flow.writes[wired.id]]:
            yield write.target, write
            if write.key in wired.moved and write.target != (write.key,) and not write.is_data:
                yield (write.key,), write


_OF_A_STEP = ("error", "errors")
"""The keys that the engine writes under a step's id: its failure, and the failures in its batch."""


def resolve(flow: WiredFlow, reference: Reference, step: WiredStep | None) -> None:
    """Find what a reference means at a step; at the end of the flow if `step` is None."""
    path = reference.path
    batch = step.step.batch if step and reference.key != "" else None
    names = batch.parts if batch and step and step.item_type.name in ("path", "url", "str", "any") else {}
    if batch is not None and path[0] == batch.item:
        reference.is_item = True
    elif _resolve_by_step(flow, reference, step):
        return
    elif found := find_writes(flow, reference.step, path):
        reference.places = tuple(dict.fromkeys(place for place, _ in found))
        reference.writes = tuple(write for _, write in found)
        is_alone = reference.expression.is_template or len(reference.expression.paths) == 1
        is_input = path[0] in flow.flow.inputs or not (flow.flow.inputs or path[0] in flow.steps)
        if is_alone and is_input and not are_there_first(flow, reference.step, reference.writes):
            reference.input = str(path[0])
    elif path[0] == "stdin" or path[0] in flow.flow.inputs or path[0] in flow.flow.item_parts:
        reference.input = str(path[0])
    elif batch is not None and len(path) == 1 and str(path[0]) in names:
        reference.is_item, reference.item_part = True, names[str(path[0])]
        reference.places = ((batch.item,),)
    else:
        _resolve_unknown(flow, reference, names)


def find_writes(flow: WiredFlow, id: str, path: Path) -> list[tuple[Path, Write]]:
    """Return the writes that a path may mean. An input that is always there comes before a data flag of its name."""
    found = flow.writes_at(id, path)
    declared = flow.flow.inputs.get(str(path[0]))
    is_there = declared is not None and (declared.required or declared.has_default)
    return [] if is_there and all(write.is_data and write.target == path[:1] for _, write in found) else found


def are_there_first(flow: WiredFlow, id: str, writes: Iterable[Write]) -> bool:
    """Return True if one of the writes may be there at the first visit of a step, not only after a turn of a loop."""
    is_late = id != END and id in flow.graph.reached and not flow.is_uncertain
    return not is_late or any(flow.graph.may_precede_first(write.step, id) for write in writes)


def _resolve_by_step(flow: WiredFlow, reference: Reference, reader: WiredStep | None) -> bool:
    """Resolve `ID.KEY…` as a write of that step; return False if the path has no step's id at its beginning."""
    path = reference.path
    writer = flow.steps.get(str(path[0]))
    if writer is None or len(path) < 2:
        return False
    key = str(path[1])
    is_data = _is_data(writer, key)
    is_write = key in writer.interface.writes or key in writer.targets or key in _OF_A_STEP or writer.interface.open
    if not is_data and not is_write:
        if any(are_nested(path, target) for step in flow.steps.values() for target in step.targets.values()):
            return False
        there = list(dict.fromkeys([*writer.interface.writes, *writer.targets]))
        reference.trouble = missing(key, there, writer.id).message
    elif reader is not None and not flow.graph.may_precede(writer.id, reader.id):
        reference.trouble = f"'{writer.id}' does not run before '{reader.id}'"
        reference.remedy = f"add an edge that leads from '{writer.id}' to '{reader.id}'"
    else:
        is_under_id = is_data or (key in _OF_A_STEP and key not in writer.targets)
        target = (writer.id, key) if is_under_id else writer.place_of(key)
        fields = writer.interface.reads if is_data else writer.interface.writes
        reference.places = (target + path[2:],)
        reference.writes = (Write(writer.id, key, target, fields.get(key), is_data=is_data),)
    return True


def _is_data(writer: WiredStep, key: str) -> bool:
    """Return True if `ID.KEY` is a data flag that the step stores under its id."""
    is_there = key in writer.step.inputs and key not in writer.targets and is_stored(writer, key)
    return is_there and writer.data_place(key) == (writer.id, key)


def _resolve_unknown(flow: WiredFlow, reference: Reference, names: Iterable[str]) -> None:
    """Make an input of a path that nothing writes, or say why it looks like a mistake. `names` are known names too."""
    root, id = str(reference.path[0]), reference.step
    there = dict.fromkeys([*flow.steps, *flow.roots_at(id), *flow.flow.inputs, *names])
    others = (write for writer, writes in flow.writes.items() if writer != id for write in writes)
    later = next((write.step for write in others if write.target[0] == root), "")
    reference.trouble = f"nothing writes '{write_path(reference.path)}'"
    if later:
        reference.trouble = f"'{later}' writes '{root}', but does not run before"
    elif root in flow.steps:
        writes = ", ".join(f"{root}.{key}" for key in flow.steps[root].interface.writes) or "nothing"
        reference.trouble, reference.remedy = f"'{root}' is a step", f"it writes {writes}"
    elif near := nearest(root, there):
        reference.remedy = did_you_mean(near)
    elif flow.flow.inputs or id == END:
        reference.remedy = f"there is {', '.join(there) or 'nothing'}"
    else:
        reference.trouble, reference.input = "", root


def uses(flow: WiredFlow) -> Iterator[tuple[Path, str, str, list[Write]]]:
    """Yield all uses of the store: the place, the step (END for an output) and key that read it, possible writes."""
    for reference in flow.references:
        if not reference.trouble and not reference.is_item:
            for place in reference.places:
                yield place, reference.step, reference.key, writes_behind(flow, reference)
    for step in flow.steps.values():
        mapped = step.step.input_mappings.keys() - {*(step.step.soft or ())}
        for key in step.interface.reads.keys() - step.step.inputs.keys() - mapped:
            for place, write in writes_by_name(flow, step, key):
                yield place, step.id, key, [write]


def writes_behind(flow: WiredFlow, reference: Reference) -> list[Write]:
    """Return the writes that a reference may find: those that it names, and others to the same place."""
    found = [write for place in reference.places for _, write in flow.writes_at(reference.step, place)]
    known = {(write.step, write.key): write for write in [*reference.writes, *found]}
    return list(known.values()) if reference.writes else []


def writes_by_name(flow: WiredFlow, step: WiredStep, key: str) -> list[tuple[Path, Write]]:
    """Return the writes that a read may find under its own name, each with the place."""
    field = step.interface.reads.get(key)
    return flow.writes_at(step.id, (key,)) if field is not None and "explicit" not in field.marks else []
