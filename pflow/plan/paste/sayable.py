"""A flow in the form that pipe syntax can say: what a pipe would do by itself is written down, nothing meets."""

from __future__ import annotations

from pflow.flow.pipe.carry import are_parallel, is_certain
from pflow.flow.pipe.flags import is_liftable, lift_templates, path_text, renamed, whole_reference
from pflow.flow.pipe.meaning import Meanings, latest
from pflow.flow.pipe.moves import find_moved
from pflow.flow.reaching import Reaching
from pflow.flow.wiring import wire
from pflow.paths import parse_path
from pflow.templates import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow
    from pflow.flow.pipe.flags import Places
    from pflow.flow.wired import WiredFlow, WiredStep


def make_sayable(flow: Flow) -> Flow:
    """The same flow without its outputs, changed in place.

    A template is a flag's where the flag is stored, else a mapping; what an output alone puts under its step's
    id is mapped there; steps whose writes meet move whole under their ids, as compiling pipe syntax moves them.
    """
    _settle_templates(flow)
    _keep_places_of_outputs(flow)
    _keep_apart(flow)
    return flow


def _settle_templates(flow: Flow) -> None:
    for wired in wire(flow).steps.values():
        step = wired.step
        lift_templates(step, wired.interface)
        for key, source in list(step.input_mappings.items()):
            item = wired.interface.reads.get(key)
            if item is None or not isinstance(source, str) or not source.startswith(TEMPLATE):
                continue
            text = source.removeprefix(TEMPLATE)
            is_text = whole_reference(text) is None and (item.is_stored or not is_liftable(item, text))
            if is_text and "verbatim" not in item.marks and key not in step.inputs:
                del step.input_mappings[key]
                step.inputs[key] = text


def _keep_places_of_outputs(flow: Flow) -> None:
    before = {id: set(wired.moved) for id, wired in wire(flow).steps.items()}
    flow.outputs = {}
    for id, wired in wire(flow).steps.items():
        for key in sorted(before[id] - wired.moved):
            wired.step.output_mappings.setdefault(key, path_text((id, key)))


def _keep_apart(flow: Flow) -> None:
    plan = wire(flow)
    moved = find_moved(plan, set())
    meanings = Meanings(plan, moved, {id: {} for id in plan.steps})
    names = Reaching(plan).at
    new: dict[tuple[str, str], Any] = {}
    for wired in plan.steps.values():
        _rename(wired, meanings.of[wired.id])
        for key, item in wired.interface.reads.items():
            if "explicit" not in item.marks:
                _map_by_name(plan, wired, key, latest(_writes(names[wired.id], key)), meanings, new)
    for (id, key), source in new.items():
        plan.steps[id].step.input_mappings[key] = source
    for wired in plan.steps.values():
        for key in wired.interface.writes if wired.id in moved else ():
            wired.step.output_mappings.setdefault(key, path_text((wired.id, key)))


def _rename(wired: WiredStep, places: Places) -> None:
    step, items = wired.step, {**wired.interface.params, **wired.interface.reads}
    for values in (step.inputs, step.params):
        for key, value in values.items():
            if key not in items or "verbatim" not in items[key].marks:
                values[key] = renamed(value, places)
    for key, source in step.input_mappings.items():
        if isinstance(source, str) and source.startswith(TEMPLATE):
            step.input_mappings[key] = TEMPLATE + str(renamed(source.removeprefix(TEMPLATE), places))
        else:
            paths = source if isinstance(source, list) else [source]
            several = [text for path in paths for text in _places_of(path, places)]
            step.input_mappings[key] = several[0] if len(several) == 1 else several


def _places_of(path: str, places: Places) -> list[str]:
    there = places.get(parse_path(path))
    return [path_text(place) for place in there] if there else [path]


def _writes(names: Any, key: str) -> list[Any]:
    return list((names.get((key,)) or {}).values())


def _map_by_name(
    plan: WiredFlow, wired: WiredStep, key: str, writes: list[Any], meanings: Meanings, new: dict[tuple[str, str], Any]
) -> None:
    """Write down where a read comes from that takes an earlier write by its name."""
    step, writers = wired.step, {write.step for write in writes}
    if any(write.is_data and write.step not in meanings.moved for write in writes):
        return
    is_given = key in step.inputs or key in step.input_mappings or key in step.params
    is_needed = "pipe" in wired.interface.reads[key].marks or writers & meanings.moved
    if is_given or not writers or not is_needed:
        return
    if is_certain(plan, writers, wired.id) and not are_parallel(plan, writers):
        places = list(dict.fromkeys(path_text(_place(meanings, write)) for write in writes))
        new[wired.id, key] = places[0] if len(places) == 1 else places


def _place(meanings: Meanings, write: Any) -> Any:
    """Where a write stands in the end; one that a path has put under its step's id is said by that."""
    return write.target if write.step not in meanings.moved else meanings.place(write)
