"""From a wired flow back to what a person would write: the mappings that compiling makes by itself are left out."""

from __future__ import annotations

from copy import copy

from pflow.errors import BAD_DATA, PflowError
from pflow.flow.flow import TEMPLATE
from pflow.flow.pipe.compile import compile_flow, find_moved, is_liftable, is_textual, whole_reference
from pflow.flow.pipe.steps import interface_of_type
from pflow.flow.rewrite import path_text
from pflow.flow.wiring import wire
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
        self.interfaces = {step.id: interface_of_type(step.type, flow.directory)[0] for step in flow.steps}
        self.wanted = copy(flow)
        self.wanted.steps = [self._without_references(step) for step in flow.steps]
        self.written = copy(flow)
        self.written.steps = [self._with_flags(step) for step in self.wanted.steps]
        self.steps = self.written.steps
        self.apart = self._write_outputs()
        self._write_inputs()

    def _without_references(self, step: Step) -> Step:
        """The step with `template:${path}` as the path, where the two are the same and only --map-in can say it."""
        step = copy(step)
        step.input_mappings = dict(step.input_mappings)
        for key, source in step.input_mappings.items():
            item = self.interfaces[step.id].reads.get(key)
            path = whole_reference(_template(source)) if _template(source) else None
            if path is not None and item is not None and item.is_stored and is_textual(item):
                step.input_mappings[key] = path_text(path)
        return step

    def _with_flags(self, step: Step) -> Step:
        """The step with templates as flags, its other mappings left out."""
        step = copy(step)
        step.inputs = dict(step.inputs)
        for key, source in step.input_mappings.items():
            if _template(source):
                item = self.interfaces[step.id].reads.get(key)
                if item is not None and "verbatim" in item.marks:
                    raise unsayable(step.id, key, "its flag takes no template")
                if item is not None and item.is_stored:
                    raise unsayable(step.id, key, "a flag with a template is stored too, which a mapping is not")
                step.inputs[key] = _template(source)
        step.input_mappings = {}
        step.output_mappings = {key: path for key, path in step.output_mappings.items() if not _is_own(step, key)}
        return step

    def _write_outputs(self) -> set[str]:
        """Write the output mappings that are not made by moving a step. Returns the steps to move with --id."""
        moved = find_moved(wire(self.written), set())
        wanted = {step.id: [key for key in step.output_mappings if _is_own(step, key)] for step in self.wanted.steps}
        is_too_much = any(not wanted[id] for id in moved)
        apart = set()
        for step, whole in zip(self.steps, self.wanted.steps, strict=True):
            if not wanted[step.id] or (step.id in moved and not is_too_much):
                continue
            if self.interfaces[step.id].writes.keys() <= set(wanted[step.id]) and is_step_name(step.id):
                apart.add(step.id)
            else:
                step.output_mappings = dict(whole.output_mappings)
        return apart

    def _write_inputs(self) -> None:
        """Write the input mappings that compiling does not make: those of paths by --map-in, or by a flag."""
        names = {str(root) for step in self.wanted.steps for root in [step.id, *self._written_roots(step)]}
        for step in self.steps:
            wanted = self.wanted.step(step.id).input_mappings
            for key, source in wanted.items():
                if self._is_flag(step, wanted, key, source, names):
                    step.inputs[key] = f"${source}" if str(source).isidentifier() else f"${{{source}}}"
        for steps in (self.steps[:1], self.steps[1:]):  # what the first step takes decides what else is carried
            self._write_paths([step for step in steps if self.wanted.step(step.id).input_mappings])

    def _write_paths(self, steps: list[Step]) -> None:
        made = compile_flow(self.written, self.apart) if steps else self.written
        for step in steps:
            for key, source in self.wanted.step(step.id).input_mappings.items():
                if key not in step.inputs and made.step(step.id).input_mappings.get(key) != source:
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
        is_free = pipe_read is None or pipe_read.name == key or pipe_read.name not in wanted
        return is_free and str(parse_path(source)[0]) in names and _is_flag_for_paths(item)


def _is_flag_for_paths(item: Item) -> bool:
    is_plain = not item.is_stored and is_textual(item) and is_liftable(item, "$name")
    return is_plain and "secret" not in item.marks and "pipe" not in item.marks


def _template(source: str | list[str]) -> str:
    """The text of a mapping that is a template; "" for any other."""
    return source.removeprefix(TEMPLATE) if isinstance(source, str) and source.startswith(TEMPLATE) else ""


def _is_own(step: Step, key: str) -> bool:
    """Whether a write is mapped to its name under the step's id."""
    return step.output_mappings.get(key) == path_text((step.id, key))


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
