"""Wiring: which place of the store each read of each step comes from, and each write goes to."""

from __future__ import annotations

from pflow.binding.sources import AlternativeSource, Constant, PathSource, Source, TemplateSource
from pflow.errors import PflowError
from pflow.flow.graph import Graph
from pflow.flow.input_flags import name_flags
from pflow.flow.reaching import Reaching
from pflow.flow.resolve import Resolver
from pflow.flow.wired import FlowInput, Reference, WiredFlow, WiredStep
from pflow.flow.written import INPUT, MAPPING, OVER, PARAM, parts_of_outputs, parts_of_step
from pflow.interface import Interface
from pflow.paths import parse_path, write_path
from pflow.templates import expand, is_reference
from pflow.types import Type, parse_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.catalog.kinds import Catalog
    from pflow.flow.flow import Flow, Step
    from pflow.flow.written import Part
    from pflow.interface import Item
    from pflow.paths import Path


def wire(flow: Flow) -> WiredFlow:
    """The plan of a flow. What does not fit is left to the rules: as trouble of a reference, or to be looked at."""
    return _Wiring(flow).plan


class _Wiring:
    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.plan = WiredFlow(flow, Graph([step.id for step in flow.steps], flow.edges))
        for number, step in enumerate(flow.steps, 1):
            self.plan.steps[step.id] = _wired(step, number, flow.catalog)
        self.parts = {id: list(parts_of_step(wired)) for id, wired in self.plan.steps.items()}
        self._set_targets()
        self.reaching = Reaching(self.plan)
        self.resolver = Resolver(self.plan, self.reaching)
        self.open_steps = [id for id, each in self.plan.steps.items() if each.interface.open and not each.targets]
        self._declare_inputs()
        for wired in self.plan.steps.values():
            self._set_sources(wired)
        self._take_pipe()
        for part in parts_of_outputs(flow):
            self.plan.outputs[part.key] = self._source(part, None)
        name_flags(self.plan)

    def _set_targets(self) -> None:
        """Send writes where their step maps them, and under their step's id where a path somewhere says `ID.KEY`."""
        for wired in self.plan.steps.values():
            for key, written in wired.step.output_mappings.items():
                try:
                    wired.targets[key] = parse_path(written)
                except ValueError:
                    pass  # a finding of the rules
        outputs = list(parts_of_outputs(self.flow))
        for part in [part for parts in [*self.parts.values(), outputs] for part in parts]:
            for path in part.paths:
                self._move(path)

    def _move(self, path: Path) -> None:
        writer = self.plan.steps.get(str(path[0]))
        if writer is None or len(path) < 2:
            return
        key = str(path[1])
        if key in writer.interface.writes and key not in writer.targets:
            writer.targets[key] = (writer.id, key)
            writer.moved.add(key)

    def _declare_inputs(self) -> None:
        for name, given in self.flow.inputs.items():
            try:
                type, _ = parse_type(given.type)
            except ValueError:
                type = Type("any")  # a finding of the rules
            declared = FlowInput(name, (name,), type)
            declared.doc, declared.required, declared.pipe = given.description, given.required, given.pipe
            declared.default, declared.has_default = given.default, given.has_default
            declared.declared = True
            self.plan.inputs[name] = declared

    def _set_sources(self, wired: WiredStep) -> None:
        """Settle every part of a step, then the reads that nothing is written for."""
        for part in sorted(self.parts[wired.id], key=lambda part: part.role != OVER):
            source = self._source(part, wired)
            if part.role == MAPPING and part.key in wired.step.inputs:
                continue  # its own inputs win
            if part.role in (INPUT, MAPPING):
                wired.sources[part.key] = source
            elif part.role == PARAM:
                wired.params[part.key] = source
            else:
                wired.over = source
                wired.over_type = self.plan.type_of(self.plan.references[-1]) if part.paths else Type("any")
                wired.item_type = wired.over_type.items or Type("any")
                self._take_list(part)
        for key, item in wired.interface.reads.items():
            if key not in wired.sources:
                self._set_by_name(wired, key, item)

    def _take_list(self, part: Part) -> None:
        """An input that a batch runs over has the flag of a list, where nothing else says what it is."""
        needed = self.plan.inputs.get(str(part.paths[0][0])) if part.paths and len(part.paths[0]) == 1 else None
        if needed is not None and not needed.declared and needed.type.name == "any":
            needed.type = Type("list")

    def _source(self, part: Part, wired: WiredStep | None) -> Source:
        """The source that a part stands for, its references settled."""
        names = self.reaching.end if wired is None else self.reaching.at[wired.id]
        places: dict[Path, Source] = {}
        for path in part.paths:
            reference = Reference(wired.id if wired else "", part.place, part.key, path)
            reference.role = part.role
            if not part.fault:
                self.resolver.settle(reference, names, wired)
            self.plan.references.append(reference)
            self._note_reader(reference, wired, part)
            places[path] = _place_source(reference.places)
        if part.is_template and places and not part.fault:
            return TemplateSource(part.written, places)
        if part.is_template or part.fault or part.role in (INPUT, PARAM):
            value = None if part.fault else _unescaped(part.written) if part.is_template else part.written
            return Constant(value, write_path(part.place))
        chosen = [place for path in part.paths for place in places[path].paths]
        return _place_source(tuple(dict.fromkeys(chosen)))

    def _note_reader(self, reference: Reference, wired: WiredStep | None, part: Part) -> None:
        """Make an input of the flow of a path that no step writes; note who reads it."""
        name = reference.input
        if name is None or name == "stdin":
            return
        is_whole = len(reference.path) == 1 and _is_one_path(part)
        item = wired.interface.reads.get(part.key) if wired and is_whole else None
        needed = self._input(name, item)
        if wired is None:
            return
        needed.secret = needed.secret or _is_secret(wired, part.key)
        if not self._has_open_before(wired):  # what a mapping leads to must be there, though the read be optional
            needed.required = needed.required or not needed.declared
        needed.readers.append((wired.id, part.key))
        if is_whole:
            needed.flags += [flag for flag in [part.key, *(item.flags if item else [])] if flag not in needed.flags]

    def _has_open_before(self, wired: WiredStep) -> bool:
        before = self.resolver.before(wired.id)
        return any(id in before for id in self.open_steps)

    def _input(self, name: str, item: Item | None) -> FlowInput:
        if name not in self.plan.inputs:
            self.plan.inputs[name] = FlowInput(name, (name,), item.type if item else Type("any"))
        needed = self.plan.inputs[name]
        if item is not None:
            needed.doc = needed.doc or item.doc
            needed.secret = needed.secret or "secret" in item.marks
            if not needed.declared and needed.type.name == "any":
                needed.type = item.type
        return needed

    def _set_by_name(self, wired: WiredStep, key: str, item: Item) -> None:
        """Take a read from the store by its name: where the latest write of it went, else from an input."""
        if wired.step.batch is not None and key == wired.step.batch.item:
            wired.sources[key] = PathSource((key,))
            return
        if "explicit" in item.marks:
            self._need_of_its_own(wired, key, item)
            return
        found = self.resolver.found(self.reaching.at[wired.id], (key,))
        places = tuple(dict.fromkeys(place for place, write in found if place[: len(write.target)] == write.target))
        if places and places != ((key,),):
            wired.sources[key] = _place_source(places)
            wired.soft.add(key)
        if found or (self.flow.inputs and key not in self.flow.inputs):
            return
        needed = self._input(key, item)
        needed.readers.append((wired.id, key))
        needed.flags += [flag for flag in item.flags if flag not in needed.flags]
        if not needed.declared and item.required and not self._has_open_before(wired) and key not in wired.step.params:
            needed.required = True

    def _need_of_its_own(self, wired: WiredStep, key: str, item: Item) -> None:
        """An `[explicit]` read that nothing gives takes a flag of its own, for this step alone."""
        if key in wired.step.params:
            return
        name = key if key not in self.plan.inputs else f"{wired.id}.{key}"
        needed = FlowInput(name, wired.data_place(key), item.type)
        needed.doc, needed.required, needed.step = item.doc, item.required, wired.id
        needed.secret = "secret" in item.marks
        needed.readers = [(wired.id, key)]
        needed.flags = list(item.flags)
        self.plan.inputs[name] = needed

    def _take_pipe(self) -> None:
        """The first step's unfilled `[pipe]` read takes what comes through the pipe."""
        first = self.plan.steps.get(self.plan.graph.first or "")
        read = first.interface.pipe_read if first else None
        if first is None or read is None or any(given.pipe for given in self.plan.inputs.values()):
            return
        if read.name in first.sources and read.name not in first.soft:
            return
        self.plan.first_read = (first.id, read.name)
        if read.name in self.plan.inputs:
            self.plan.inputs[read.name].pipe = True


def _wired(step: Step, number: int, catalog: Catalog) -> WiredStep:
    try:
        kind = catalog.find(step.type)
        return WiredStep(step, number, kind, kind.interface if kind else Interface())
    except PflowError as error:
        wired = WiredStep(step, number, None, Interface())
        wired.fault = error.message
        return wired


def _is_one_path(part: Part) -> bool:
    """Whether a path is all that a part is: then what it leads to is of the type that the part is for."""
    if part.role == MAPPING:
        return not part.is_template
    return part.role == INPUT and isinstance(part.written, str) and is_reference(part.written)


def _is_secret(wired: WiredStep, key: str) -> bool:
    """Whether a step takes a secret under this name: then what it is made of is one too."""
    items = (wired.interface.reads.get(key), wired.interface.params.get(key))
    return any(item is not None and "secret" in item.marks for item in items)


def _place_source(places: tuple[Path, ...]) -> Source:
    return PathSource(places[0]) if len(places) == 1 else AlternativeSource(places)


def _unescaped(written: Any) -> Any:
    """A value without references, its `$$` taken for dollars."""

    def nothing(path: Path) -> Any:
        raise AssertionError(path)

    return expand(written, nothing)
