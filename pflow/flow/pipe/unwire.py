"""What a person would write for a flow: the mappings that compiling makes by itself are left out."""

from __future__ import annotations

from copy import copy

from pflow.errors import BAD_DATA, PflowError
from pflow.flow.flow import REST
from pflow.flow.pipe.canonical import canonical, is_own, template_of
from pflow.flow.pipe.compile import compile_flow, find_moved, is_liftable, is_textual
from pflow.flow.pipe.steps import interface_of_type
from pflow.flow.wiring import wire
from pflow.flow.written import path_text
from pflow.paths import is_step_name, parse_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow, Step
    from pflow.interface import Item


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
