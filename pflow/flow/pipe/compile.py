"""Compiling pipe syntax to an ordinary flow, in which mappings replace the pipe."""

from __future__ import annotations

from copy import copy

from pflow import Any, Iterable
from pflow.errors import USAGE, PflowError
from pflow.flow.expressions import (
    INPUT,
    OVER,
    PARAM,
    can_be_mapping,
    move_references,
    move_source,
    path_text,
    source_of,
)
from pflow.flow.flow import REST, FlowSpec, Step
from pflow.flow.graph import Write, latest
from pflow.flow.pipe.carry import STDIN, are_parallel, carried_into, doubts, find_moved, is_certain, is_whole
from pflow.flow.wired_flow import Reference, WiredFlow, WiredStep
from pflow.flow.wiring import lay_out
from pflow.interface.interface import Field, spell_flag
from pflow.text.naming import names_meant
from pflow.values.paths import Path, parse_path
from pflow.values.templates import TEMPLATE, is_reference, references


def compile_flow(flow: FlowSpec, apart: set[str]) -> FlowSpec:
    """Add the mappings that pipe syntax implies to a flow. Steps in `apart` (--id) write under their ids."""
    compiler = _Compiler(lay_out(flow), apart)
    compiler.refuse_slips()
    compiler.guess()
    compiled = copy(flow)
    compiled.steps = [compiler.step(step) for step in compiler.flow.steps.values()]
    compiled.warnings = list(dict.fromkeys([*flow.warnings, *compiler.warnings]))
    return compiled


class _Compiler:
    """A flow of pipe syntax with its names resolved. The writes of the steps in `moved` move under the step's id.

    `places` has the new places to which each step's paths then lead. `fed` has the steps that take what the pipe
    carries, with its writers.
    """

    def __init__(self, flow: WiredFlow, apart: set[str]) -> None:
        self.flow = flow
        self.apart = apart
        self.moved = find_moved(flow, apart)
        self.warnings: list[str] = []
        self.places: dict[str, dict[Path, tuple[Path, ...]]] = {id: {} for id in flow.steps}
        self.overs: dict[str, tuple[Path, ...]] = {}
        """The new places of the list that a step's batch runs over."""
        self.templates: dict[str, list[Reference]] = {id: [] for id in flow.steps}
        """The references in the flags of each step, but not those of --map-in."""
        for reference in flow.references:
            self._find_places(reference)
            if reference.role in (INPUT, PARAM):
                self.templates[reference.step].append(reference)
        self.carriers, self.surely_fed = carried_into(flow)
        fed = {id: self._feeders(step) for id, step in flow.steps.items()}
        self.fed = {id: writers for id, writers in fed.items() if writers}
        self.warnings += [text for id in flow.steps if not self.templates[id] for text in doubts(flow, id, fed[id])]

    def _find_places(self, reference: Reference) -> None:
        """Find the new places of a name whose writes have moved. `ID.KEY` needs none: it finds its write anyway."""
        path = reference.path
        is_by_id = len(path) > 1 and path[0] in self.flow.steps
        if is_by_id or not any(write.step in self.moved for write in reference.writes):
            return
        places = {self._place_in(path, write): write.step for write in latest(reference.writes)}
        if len(places) > 1 and are_parallel(self.flow, set(places.values())):
            what = f"{_shown(reference)} may mean {_either(places)}, which run at the same time: name one"
            self.warnings.append(what)
        elif reference.role == OVER:
            self.overs[reference.step] = tuple(places)
        elif tuple(places) != (path,):
            self.places[reference.step][path] = tuple(places)

    def _place_in(self, path: Path, write: Write) -> Path:
        """Return the new place of a path that leads into a write. A path to an object around the write stays."""
        for name in (write.target, (write.key,)):
            if path[: len(name)] == name:
                return self._place_of(write) + path[len(name) :]
        return path

    def _place_of(self, write: Write) -> Path:
        step = self.flow.steps[write.step]
        if write.step not in self.moved or (write.is_data and not is_whole(step, self.moved)):
            return write.target
        return self._place_of_key(step, write.key)

    def _place_of_key(self, step: WiredStep, key: str) -> Path:
        written = step.step.output_mappings.get(key)
        if written is not None:
            return parse_path(written)
        return (step.id, key) if step.id in self.moved else (key,)

    def _carried_key(self, writer: str) -> str:
        write = self.flow.steps[writer].interface.pipe_write if writer != STDIN else None
        return "stdin" if write is None else write.name

    def _carried_place(self, writer: str) -> Path:
        key = self._carried_key(writer)
        return (key,) if writer == STDIN else self._place_of_key(self.flow.steps[writer], key)

    def _feeders(self, step: WiredStep) -> list[str]:
        """Return the writers of the value that a step takes from the pipe; an empty list if it takes none.

        An optional read takes none if the pipe carries nothing on some path to the step.
        """
        read, carriers = step.interface.pipe_read, self.carriers[step.id]
        if read is None or step.step.takes_pipe_apart or step.step.is_unfed or step.step.fills(read.name):
            return []
        if not (step.id in self.surely_fed or read.required):
            return []
        is_start = step.id == self.flow.graph.first and carriers == [STDIN]
        named = [each for each in self.flow.references_of.get(step.id, ()) if each.role in (INPUT, PARAM, OVER)]
        is_used = any(self._leads_to(each, writer) for each in named for writer in carriers)
        return [] if is_start or is_used else self._fitting_carriers(step)

    def _fitting_carriers(self, step: WiredStep) -> list[str]:
        """Return the writers that feed a step's `[pipe]` read. A write named like another read feeds that one."""
        fed = {id: step.interface.read_fed(self._carried_key(id)) for id in self.carriers[step.id]}
        return [id for id, read in fed.items() if read is step.interface.pipe_read]

    def _leads_to(self, reference: Reference, writer: str) -> bool:
        """Return True if a reference leads to a step's `[pipe]` write, a part of it, or all writes of the step."""
        if writer == STDIN:
            return reference.path[0] == "stdin"
        keys = {write.key for write in reference.writes if write.step == writer and not write.is_data}
        return self._carried_key(writer) in keys or (reference.path == (writer,) and writer in self.moved)

    def refuse_slips(self) -> None:
        """Raise PflowError (2) for a name in a template that nothing writes and that is near to a known one."""
        for reference in [each for templates in self.templates.values() for each in templates]:
            is_slip = bool(reference.trouble) and bool(names_meant(reference.remedy))
            if is_slip and reference.path[0] not in self.flow.steps:
                what = f"cannot find {_shown(reference)}: nothing writes it"
                raise PflowError(what, hint=reference.remedy, exit=USAGE)

    def guess(self) -> None:
        """Read an unknown `$name` as the `[pipe]` write of the step right before, if nothing else takes that write.

        If the name ends with the key, as `$code_report` for `report`, the template takes the write even from the step's
        own `[pipe]` read.
        """
        if self.flow.flow.item_names is not None:  # inside a step, the name is an input, which the flow around it fills
            return
        batches = [id for id, step in self.flow.steps.items() if step.step.takes_pipe_apart]
        taken = {writer for id in batches for writer in self.carriers[id]}
        for id in self.flow.steps:
            carriers, reference = self.carriers[id], self._only_unknown(id)
            writer = carriers[0] if len(carriers) == 1 and id in self.surely_fed else STDIN
            is_right_before = writer != STDIN and writer in self.flow.graph.before[id]
            if reference is None or not is_right_before or writer in taken or self._is_taken(writer):
                continue
            place, name = self._carried_place(writer), str(reference.path[0])
            takers = {each for each, writers in self.fed.items() if writer in writers}
            if takers - ({id} if name.endswith(f"_{place[-1]}") else set()):
                continue
            self.fed.pop(id, None)
            self.places[id][reference.path] = (place,)
            taken.add(writer)
            what = f"nothing writes '${name}' in {spell_flag(reference.key)} of '{id}'"
            self.warnings.append(f"{what}; it is read as the output of '{writer}': ${{{path_text(place)}}}")

    def _only_unknown(self, id: str) -> Reference | None:
        """Return the reference to the only name in a step's templates that nothing writes and nothing else reads.

        Return None for a template node: a wrong name in its text is an error in a stage, so it is one here.
        """
        known = (None, "stdin", *self.flow.flow.inputs)
        unknown = [each for each in self.templates[id] if each.input not in known]
        if len({reference.path for reference in unknown}) != 1 or len(unknown[0].path) != 1:
            return None
        name = str(unknown[0].path[0])
        is_write = any(name in each.interface.writes for each in self.flow.steps.values())
        is_read_elsewhere = any(reader != id for reader, _ in self.flow.inputs[name].readers)
        read = self.flow.steps[id].interface.reads.get(unknown[0].key)
        is_other = is_write or is_read_elsewhere or any(_reads_by_name(step, name) for step in self.flow.steps.values())
        is_other = is_other or (read is not None and read.is_template)
        return None if is_other else unknown[0]

    def _is_taken(self, writer: str) -> bool:
        """Return True if a template, a mapping or a read of its name takes a step's `[pipe]` write."""
        if any(self._leads_to(reference, writer) for reference in self.flow.references):
            return True
        later = (self.flow.steps[id] for id in self.flow.graph.reach(writer))
        return any(_reads_by_name(step, self._carried_key(writer)) for step in later)

    def step(self, wired: WiredStep) -> Step:
        """Return a step with the mappings that pipe syntax implies."""
        step, places = copy(wired.step), self.places[wired.id]
        if step.is_unfed and wired.id == self.flow.graph.first:
            what = f"cannot take --map-in of '{step.id}' without a path: the first step takes what the flow is given"
            raise PflowError(what, hint="pflow run -n keeps stdin from it", exit=USAGE)
        step.input_mappings = {key: move_source(source, places) for key, source in wired.step.input_mappings.items()}
        step.params = {key: self._rewritten(wired, key, value) for key, value in wired.step.params.items()}
        step.inputs = {}
        for key, value in wired.step.inputs.items():
            source = self._as_mapping(wired, wired.interface.reads.get(key), value)
            if source is not None:
                step.input_mappings[key] = source
            else:
                step.inputs[key] = self._rewritten(wired, key, value)
        read = wired.interface.pipe_read
        if read is not None and wired.id in self.fed:
            step.input_mappings[read.name] = source_of(map(self._carried_place, self.fed[wired.id]))
            carried = {self._carried_key(writer) for writer in self.fed[wired.id]}
            # An inferred [pipe] read is a guess, so the store's key of its name comes first.
            if _is_inferred(wired) and carried != {read.name}:
                step.soft = [read.name]
        if step.batch is not None:
            step.batch = copy(step.batch)
            step.batch.over = self._over(wired, step.batch.over)
        if self.moved:
            self._map_by_name(wired, step)
        if wired.id in self.moved:
            writes = wired.interface.writes
            own = {key: path_text((wired.id, key)) for key in writes}
            # Only REST can map writes whose names are unknown.
            if wired.id in self.apart and (wired.interface.open or not writes):
                own = {REST: path_text((wired.id,))}
            step.output_mappings = own | wired.step.output_mappings
        named = {each.path[:2] for each in self.flow.references}
        step.output_mappings = {
            key: path
            for key, path in step.output_mappings.items()
            if path != key or step.flow or (wired.id, key) in named
        }
        return step

    def _over(self, wired: WiredStep, written: str) -> str:
        """Return the path that a batch runs over: the only place that it may mean, else the path as written."""
        if written:
            places = self.overs.get(wired.id, ())
        else:
            places = tuple(dict.fromkeys(map(self._carried_place, self.carriers[wired.id])))
        return path_text(places[0]) if len(places) == 1 else written

    def _as_mapping(self, step: WiredStep, field: Field | None, value: Any) -> str | list[str] | None:
        """Return the mapping that replaces a flag with a reference; None if the flag stays.

        A flag that a stage would store stays, unless its reference means several writes.
        """
        if field is None or not can_be_mapping(field, value):
            return None
        if not (field.is_textual and is_reference(value)):
            return None if field.is_stored else TEMPLATE + self._rewritten(step, field.name, value)
        path = next(iter(references(value)))
        source = source_of(self.places[step.id].get(path, (path,)))
        return None if field.is_stored and isinstance(source, str) else source

    def _rewritten(self, step: WiredStep, key: str, value: Any) -> Any:
        """Replace each name in the value of a flag by its new place. If it has several places, warn and leave it."""
        if step.interface.is_verbatim(key):
            return value
        places = self.places[step.id]
        for path in references(value):
            if len(places.get(path, ())) > 1:
                what = f"'{path_text(path)}' in {spell_flag(key)} of '{step.id}'"
                self.warnings.append(f"{what} may mean {_either(places[path])}: name one")
        return move_references(value, {path: there[0] for path, there in places.items() if len(there) == 1})

    def _map_by_name(self, wired: WiredStep, step: Step) -> None:
        """Map reads that take the store's key of their name to the place to which the latest write has moved."""
        for key, field in wired.interface.reads.items():
            writes = latest(self.flow.reaching.at(wired.id, (key,)).values())
            steps = {write.step for write in writes if not write.is_data}
            is_fed = "pipe" in field.marks and not wired.step.is_unfed and bool(self._fitting_carriers(wired))
            if is_fed or not _reads_by_name(wired, key) or not steps & self.moved:
                continue
            if is_certain(self.flow, steps, wired.id) and not are_parallel(self.flow, steps):
                step.input_mappings[key] = source_of(map(self._place_of, writes))


def _is_inferred(step: WiredStep) -> bool:
    """Return True if a step's interface is inferred from code; for a flow, that of the step that takes the pipe."""
    flow = step.subflow
    return _is_inferred(flow.steps[flow.first_read[0]]) if flow and flow.first_read else step.interface.inferred


def _reads_by_name(step: WiredStep, key: str) -> bool:
    field = step.interface.reads.get(key)
    return field is not None and "explicit" not in field.marks and not step.step.fills(key)


def _shown(reference: Reference) -> str:
    return f"'{path_text(reference.path)}' in {spell_flag(reference.key)} of '{reference.step}'"


def _either(places: Iterable[Path]) -> str:
    return " or ".join(map(path_text, places))
