"""What a person would write for a flow: in canonical form, without the mappings that compiling makes by itself."""

from __future__ import annotations

from copy import copy

from pflow import TYPE_CHECKING
from pflow.errors import BAD_DATA, PflowError
from pflow.flow.flow import REST
from pflow.flow.pipe.carry import carried_into, is_given
from pflow.flow.pipe.compile import compile_flow, find_moved, is_liftable, is_textual, one_or_several, whole_reference
from pflow.flow.pipe.references import References, latest
from pflow.flow.pipe.steps import interface_of_type
from pflow.flow.wiring import wire
from pflow.flow.written import path_text, rewritten
from pflow.paths import is_step_name, parse_path
from pflow.templates import TEMPLATE

if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow, Step
    from pflow.flow.wired import Reference, WiredFlow, WiredStep, Write
    from pflow.interface import Item
    from pflow.paths import Path


def canonical(flow: Flow) -> Flow:
    """The flow as compiling would make it. One that was compiled is so already.

    Keys that meet go under their steps' ids, and those that are there for a path's sake alone go by their names.
    """
    if flow.dialect == "pipe":
        return flow
    with_flags = copy(flow)
    wired = wire(flow)
    with_flags.steps = [_with_flags(wired, step) for step in wired.steps.values()]
    return _Canonical(wire(with_flags)).flow


def _with_flags(flow: WiredFlow, wired: WiredStep) -> Step:
    """The step with templated flags where compiling has mappings and mappings where it has flags.

    A template becomes a flag that is stored only where no step would read that by its name.
    """
    step = copy(wired.step)
    step.inputs, step.input_mappings = dict(step.inputs), dict(step.input_mappings)
    for key, value in wired.step.inputs.items():
        item = wired.interface.reads.get(key)
        if item is not None and not item.is_stored and is_liftable(item, value):
            del step.inputs[key]
            step.input_mappings[key] = TEMPLATE + value
    for key, source in wired.step.input_mappings.items():
        item, text = wired.interface.reads.get(key), template_of(source)
        if item is None or not text or key in wired.step.inputs:
            continue
        path = whole_reference(text)
        if path is not None and is_textual(item):
            step.input_mappings[key] = path_text(path)
        elif item.is_stored and is_liftable(item, text) and not _is_read_by_name(flow, key):
            del step.input_mappings[key]
            step.inputs[key] = text
    return step


def _is_read_by_name(flow: WiredFlow, key: str) -> bool:
    reads = [(step, step.interface.reads[key]) for step in flow.steps.values() if key in step.interface.reads]
    return any("explicit" not in item.marks and not is_given(step, key) for step, item in reads)


class _Canonical:
    """The `flow` whose steps in `moved` have their keys under their ids."""

    def __init__(self, flow: WiredFlow) -> None:
        self.wired = flow
        whole = {id for id, step in flow.steps.items() if _is_whole(step) and is_step_name(id)}
        together = {write.step for each in flow.references for write in each.writes if each.path == (write.step,)}
        self.moved = find_moved(flow, whole | together)
        self.references = References(flow, self.moved)
        self.carried = carried_into(flow)
        self.flow = copy(flow.flow)
        self.flow.steps = [self._step(step) for step in flow.steps.values()]

    def _step(self, wired: WiredStep) -> Step:
        step = copy(wired.step)
        places = {each.path: self._places(each) for each in self.references.of_step[step.id]}
        single = {path: there[0] for path, there in places.items() if len(there) == 1 and there[0] != path}
        items = {**wired.interface.params, **wired.interface.reads}
        step.inputs = {key: _rewritten(items.get(key), value, single) for key, value in step.inputs.items()}
        step.params = {key: _rewritten(items.get(key), value, single) for key, value in step.params.items()}
        step.input_mappings = {
            key: _source(source, places, single) for key, source in wired.step.input_mappings.items()
        }  # fmt: skip
        for key, item in wired.interface.reads.items():
            if "explicit" not in item.marks and not is_given(wired, key):
                self._map_by_name(wired, step, key)
        if step.id in self.moved:
            own = {key: path_text((step.id, key)) for key in wired.interface.writes}
            step.output_mappings = own | wired.step.output_mappings
        return step

    def _places(self, reference: Reference) -> list[Path]:
        """The places in the end of what a reference leads to."""
        places = [
            self._place_of(write) + place[len(write.target) :]
            for write in latest(reference.writes)
            for place in reference.places
            if place[: len(write.target)] == write.target
        ]
        return list(dict.fromkeys(places)) or [reference.path]

    def _place_of(self, write: Write) -> Path:
        is_by_path = write.step not in self.moved and write.key in self.wired.steps[write.step].moved
        is_free = is_by_path and not write.is_data and write.key not in self.wired.inputs
        return (write.key,) if is_free else self.references.place_of(write)

    def _map_by_name(self, wired: WiredStep, step: Step, key: str) -> None:
        """Map a read by its name that the pipe carries, or whose writes move."""
        writes = latest(self.wired.writes_named(wired.id, (key,)))
        read, carried = wired.interface.pipe_read, self.carried[wired.id]
        is_fed = read is not None and read.name == key and (carried.is_sure or read.required)
        is_carried = is_fed and {write.step for write in writes} == set(carried.writers)
        is_moved = any(write.step in self.moved for write in writes)
        if is_moved and len(writes) > 1 and any(write.is_data for write in writes):
            raise PflowError(f"several flags give '{wired.id}' its {key}, of which the first one counts")
        if writes and (is_carried or is_moved):
            step.input_mappings[key] = one_or_several(path_text(self._place_of(write)) for write in writes)


def _source(source: Any, places: dict[Path, list[Path]], single: dict[Path, Path]) -> Any:
    """A mapping's source, its paths as the places in the end."""
    if text := template_of(source):
        return TEMPLATE + rewritten(text, single)
    paths = [parse_path(each) for each in (source if isinstance(source, list) else [source])]
    found = [place for path in paths for place in places.get(path, [path])]
    return source if found == paths else one_or_several(map(path_text, found))


def template_of(source: str | list[str]) -> str:
    """The text of a mapping that is a template; "" for any other."""
    return source.removeprefix(TEMPLATE) if isinstance(source, str) and source.startswith(TEMPLATE) else ""


def _rewritten(item: Item | None, value: Any, places: dict[Path, Path]) -> Any:
    return value if item is not None and "verbatim" in item.marks else rewritten(value, places)


def is_own(step: Step, key: str) -> bool:
    """Whether a write is mapped to its name under the step's id."""
    own = (step.id,) if key == REST else (step.id, key)
    return step.output_mappings.get(key) == path_text(own)


def _is_whole(step: WiredStep) -> bool:
    """Whether all writes of a step are mapped to their names under its id."""
    writes = step.interface.writes
    return is_own(step.step, REST) or (bool(writes) and all(is_own(step.step, key) for key in writes))


class Unwired:
    """What to write for a `wanted` flow: `steps` whose mappings are all to be written, those `apart` with --id.

    Raises PflowError (65) for a mapping that no flag makes.
    """

    def __init__(self, flow: Flow) -> None:
        self.interfaces = {step.id: interface_of_type(step.type, flow.catalog)[0] for step in flow.steps}
        self.wanted = canonical(flow)
        self.written = copy(flow)
        self.written.steps = [self._with_flags(step) for step in self.wanted.steps]
        self.steps = self.written.steps
        self.apart = self._write_outputs()
        self._write_inputs()

    def _with_flags(self, step: Step) -> Step:
        """The step with templates as flags, its other mappings left out."""
        step = copy(step)
        step.inputs = dict(step.inputs)
        for key, source in step.input_mappings.items():
            if text := template_of(source):
                item = self.interfaces[step.id].reads.get(key)
                if item is not None and "verbatim" in item.marks:
                    raise unsayable(step.id, key, "its flag takes no template")
                if item is not None and item.is_stored:
                    raise unsayable(step.id, key, "a flag with a template is stored too, which a mapping is not")
                step.inputs[key] = text
        step.input_mappings = {}
        step.output_mappings = {key: path for key, path in step.output_mappings.items() if not is_own(step, key)}
        return step

    def _write_outputs(self) -> set[str]:
        """Write the output mappings that are not made by moving a step. Returns the steps to move with --id."""
        moved = find_moved(wire(self.written), set())
        own = {step.id: {key for key in step.output_mappings if is_own(step, key)} for step in self.wanted.steps}
        is_too_much = any(not own[id] for id in moved)
        apart = set()
        for step, wanted in zip(self.steps, self.wanted.steps, strict=True):
            if not own[step.id] or (step.id in moved and not is_too_much):
                continue
            is_whole = REST in own[step.id] or self.interfaces[step.id].writes.keys() <= own[step.id]
            if is_whole and is_step_name(step.id):
                apart.add(step.id)
            else:
                step.output_mappings = dict(wanted.output_mappings)
        return apart

    def _write_inputs(self) -> None:
        """Write the input mappings that compiling does not make: a flag where that says it, else --map-in."""
        names = {str(root) for step in self.wanted.steps for root in [step.id, *self._written_roots(step)]}
        wanted = {step.id: step.input_mappings for step in self.wanted.steps}
        for step in self.steps:
            for key, source in wanted[step.id].items():
                if not template_of(source) and self._is_flag(step, wanted[step.id], key, source, names):
                    step.inputs[key] = f"${source}" if str(source).isidentifier() else f"${{{source}}}"
        for steps in (self.steps[:1], self.steps[1:]):  # what the first step takes decides what else is carried
            made = compile_flow(self.written, self.apart) if any(wanted[step.id] for step in steps) else self.written
            for step, compiled in [(step, made.step(step.id)) for step in steps if wanted[step.id]]:
                for key, source in wanted[step.id].items():
                    if key not in step.inputs and compiled.input_mappings.get(key) != source:
                        step.input_mappings[key] = source

    def _written_roots(self, step: Step) -> list[str | int]:
        mapped = [parse_path(path)[0] for path in step.output_mappings.values()]
        return [*self.interfaces[step.id].writes, *mapped]

    def _is_flag(self, step: Step, wanted: dict[str, Any], key: str, source: Any, names: set[str]) -> bool:
        """Whether a flag says a mapping: a step's write, for a read that takes a text and that a flag does not store.

        A flag that uses what is carried keeps the `[pipe]` read from it, so that must not be mapped.
        """
        item = self.interfaces[step.id].reads.get(key)
        if item is None or isinstance(source, list) or path_text(parse_path(source)) != source:
            return False
        pipe_read = self.interfaces[step.id].pipe_read
        is_free = pipe_read is None or pipe_read.name not in wanted
        return is_free and str(parse_path(source)[0]) in names and _has_flag_for_path(item)


def _has_flag_for_path(item: Item) -> bool:
    return not item.is_stored and is_textual(item) and is_liftable(item, "$name") and "secret" not in item.marks


def unsayable(id: str, key: str, why: str) -> PflowError:
    return PflowError(f"no flag gives '{id}' its '{key}': {why}", exit=BAD_DATA)


def difference(wanted: Flow, found: Flow) -> PflowError | None:
    """The first thing in which a flow differs from what was wanted, as an error that says why there is no pipe."""
    if [(step.id, step.type) for step in wanted.steps] != [(step.id, step.type) for step in found.steps]:
        return PflowError("its steps would become others")
    here, there = _facts(wanted), _facts(found)
    for place in {**here, **there}:
        if place in here and here[place] != there.get(place):
            return PflowError(f"no flag gives {place} as it is")
        if place not in here:
            return PflowError(f"it would have {place} = {there[place]}", hint="map that explicitly")
    return None


def _facts(flow: Flow) -> dict[str, Any]:
    """Everything that pipe syntax says of a flow, by its place."""
    facts: dict[str, Any] = {f"the edge {edge.source} ={edge.action}=> {edge.target}": True for edge in flow.edges}
    for step in flow.steps:
        facts |= {f"{step.id}.{name}": getattr(step, name) for name in ("retries", "wait", "timeout")}
        for name in ("output_mappings", "inputs", "params", "input_mappings"):
            facts |= {f"{step.id}.{name}.{key}": value for key, value in getattr(step, name).items()}
    return facts
