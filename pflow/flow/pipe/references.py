"""What the names in a step's flags mean: for each path, the places of the store that it leads to in the end."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import USAGE, PflowError
from pflow.flow.pipe.carry import STDIN, are_parallel, is_given
from pflow.flow.written import INPUT, PARAM, path_text
from pflow.paths import parse_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pflow.flow.pipe.carry import Carried
    from pflow.flow.wired import Reference, WiredFlow, WiredStep, Write
    from pflow.paths import Path

    Places = dict[Path, tuple[Path, ...]]


class References:
    """The references of a flow as it is written, each read as if the steps in `moved` had moved already."""

    def __init__(self, flow: WiredFlow, moved: set[str]) -> None:
        self.flow = flow
        self.moved = moved
        self.warnings: list[str] = []
        self.places: dict[str, Places] = {id: {} for id in flow.steps}
        """For each step the places of its paths that mean something else than they say."""
        self.of_step: dict[str, list[Reference]] = {id: [] for id in flow.steps}
        for reference in flow.references:
            self.of_step[reference.step].append(reference)
            self._find_places(reference)

    def _find_places(self, reference: Reference) -> None:
        """Find where the writes that a name means go. `ID.KEY` means the same wherever that is."""
        path = reference.path
        is_by_id = len(path) > 1 and path[0] in self.flow.steps
        if is_by_id or not any(write.step in self.moved for write in reference.writes):
            return
        places = {self._place_in(path, write): write.step for write in latest(reference.writes)}
        if len(places) > 1 and are_parallel(self.flow, set(places.values())):
            self.warnings.append(f"{_shown(reference)} may mean {either(places)}, which run at the same time: name one")
        elif tuple(places) != (path,):
            self.places[reference.step][path] = tuple(places)

    def _place_in(self, path: Path, write: Write) -> Path:
        """The place in the end of what a path leads to in a write; the path itself where it holds the write."""
        for name in (write.target, (write.key,)):
            if path[: len(name)] == name:
                return self.place_of(write) + path[len(name) :]
        return path

    def place_of(self, write: Write) -> Path:
        """Where a write, or a data flag, goes in the end."""
        step = self.flow.steps[write.step]
        if write.step not in self.moved or (write.is_data and not is_whole(step, self.moved)):
            return write.target
        return self._place_of_key(step, write.key)

    def _place_of_key(self, step: WiredStep, key: str) -> Path:
        written = step.step.output_mappings.get(key)
        if written is not None:
            return parse_path(written)
        return (step.id, key) if step.id in self.moved else (key,)

    def carried_place(self, writer: str) -> Path:
        """Where in the end the store holds what a step hands on through the pipe."""
        write = self.flow.steps[writer].interface.pipe_write if writer != STDIN else None
        return ("stdin",) if write is None else self._place_of_key(self.flow.steps[writer], write.name)

    def in_templates(self, id: str) -> list[Reference]:
        """The references in a step's flags, except those of --map-in."""
        return list(filter(_is_in_template, self.of_step[id]))

    def uses(self, id: str, writers: Iterable[str]) -> bool:
        """Whether a template of a step uses what one of the writers hands on, a part of it, or what holds it."""
        return any(self._leads_to(reference, writer) for reference in self.in_templates(id) for writer in writers)

    def _leads_to(self, reference: Reference, writer: str) -> bool:
        """Whether a reference is to what a step hands on through the pipe."""
        if writer == STDIN:
            return reference.path[0] == "stdin"
        handed_on = self.flow.steps[writer].interface.pipe_write
        if handed_on is None:
            return False
        is_holder = reference.path == (writer,) and writer in self.moved
        return is_holder or any(
            write.step == writer and write.key == handed_on.name and not write.is_data for write in reference.writes
        )

    def refuse_slips(self) -> None:
        """Raise PflowError (2) for a name in a template that nothing writes and that is near to one that there is."""
        for reference in filter(_is_in_template, self.flow.references):
            is_slip = bool(reference.trouble) and reference.remedy.startswith("did you mean")
            if is_slip and reference.path[0] not in self.flow.steps:
                what = f"cannot find {_shown(reference)}: nothing writes it"
                raise PflowError(what, hint=reference.remedy, exit=USAGE)

    def guess(self, carried: dict[str, Carried], fed: dict[str, tuple[str, ...]]) -> None:
        """Take the one unknown `$name` right after a step for what that hands on, where nothing else takes it."""
        taken = {writer for writers in fed.values() for writer in writers}
        for id in self.flow.steps:
            writer = self._writer_before(carried[id], id)
            reference = self._only_unknown(id)
            if writer is None or reference is None or writer in taken or self._is_taken(writer):
                continue
            place = self.carried_place(writer)
            self.places[id][reference.path] = (place,)
            taken.add(writer)
            name, flag = reference.path[0], reference.key.replace("_", "-")
            what = f"nothing writes '${name}' in --{flag} of '{id}'; it is taken for what '{writer}' hands on"
            self.warnings.append(f"{what}: ${{{path_text(place)}}}")

    def _writer_before(self, carried: Carried, id: str) -> str | None:
        """The step right before, if it is the only one whose write is carried here."""
        writers = carried.writers
        is_one = len(writers) == 1 and writers[0] != STDIN and writers[0] in self.flow.graph.before[id]
        return writers[0] if is_one and carried.is_sure else None

    def _only_unknown(self, id: str) -> Reference | None:
        """The one name in a step's templates that nothing writes and nothing else in the flow reads."""
        unknown = [each for each in self.in_templates(id) if each.input not in (None, "stdin")]
        if len({reference.path for reference in unknown}) != 1 or len(unknown[0].path) != 1:
            return None
        name, step = str(unknown[0].path[0]), self.flow.steps[id]
        by_name = name in step.interface.reads and not is_given(step, name)
        is_write = any(name in each.interface.writes for each in self.flow.steps.values())
        is_read_elsewhere = any(reader != id for reader, _ in self.flow.inputs[name].readers)
        return None if by_name or is_write or is_read_elsewhere else unknown[0]

    def _is_taken(self, writer: str) -> bool:
        """Whether a template, a mapping or a read by its name takes what a step hands on."""
        if any(self._leads_to(reference, writer) for reference in self.flow.references):
            return True
        write = self.flow.steps[writer].interface.pipe_write
        later = (self.flow.steps[id] for id in self.flow.graph.reach(writer))
        return write is not None and any(_reads_by_name(step, write.name) for step in later)


def _reads_by_name(step: WiredStep, key: str) -> bool:
    item = step.interface.reads.get(key)
    return item is not None and "explicit" not in item.marks and not is_given(step, key)


def _is_in_template(reference: Reference) -> bool:
    return reference.role in (INPUT, PARAM)


def latest(writes: Iterable[Write]) -> list[Write]:
    """The writes that a name means: a data flag is stored only where nothing is, so any other goes before it."""
    every = list(writes)
    return [write for write in every if not write.is_data] or every


def is_whole(step: WiredStep, moved: set[str]) -> bool:
    """Whether all writes of a step go under its id, and so its data flags too."""
    writes = step.interface.writes
    return step.id in moved and bool(writes) and not any(key in step.step.output_mappings for key in writes)


def _shown(reference: Reference) -> str:
    return f"'{path_text(reference.path)}' in --{reference.key.replace('_', '-')} of '{reference.step}'"


def either(places: Iterable[Path]) -> str:
    return " or ".join(map(path_text, places))
