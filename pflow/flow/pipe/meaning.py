"""What the names in a step's flags mean: for each path, the places where what it leads to stands in the end."""

from __future__ import annotations

from pflow.errors import USAGE, PflowError
from pflow.flow.pipe.carry import STDIN, are_parallel
from pflow.flow.pipe.flags import path_text
from pflow.flow.pipe.moves import is_whole
from pflow.flow.written import INPUT, PARAM
from pflow.paths import parse_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pflow.flow.pipe.flags import Places
    from pflow.flow.wired import Reference, WiredFlow, Write
    from pflow.paths import Path


class Meanings:
    """The references of a flow that is not wired yet (`plan`), read as if the steps in `moved` had moved already.

    `lifted` are the texts of the templated flags of each step that became mappings.
    """

    def __init__(self, plan: WiredFlow, moved: set[str], lifted: dict[str, dict[str, str]]) -> None:
        self.plan = plan
        self.moved = moved
        self.lifted = lifted
        self.warnings: list[str] = []
        self.of: dict[str, Places] = {id: {} for id in plan.steps}
        """For each step, what its references mean where that is not what they say."""
        self.references: dict[str, list[Reference]] = {id: [] for id in plan.steps}
        for reference in plan.references:
            self.references[reference.step].append(reference)
            self._settle(reference)

    def _settle(self, reference: Reference) -> None:
        """Find where the writes that a name means go. `ID.KEY` means the same wherever that is."""
        path = reference.path
        if not any(write.step in self.moved for write in reference.writes) or self._begins_with_step(path):
            return
        places = {self._place_at(path, write): write.step for write in latest(reference.writes)}
        if len(places) > 1 and are_parallel(self.plan, set(places.values())):
            self.warnings.append(f"{_shown(reference)} may mean {either(places)}, which run at the same time: name one")
        elif tuple(places) != (path,):
            self.of[reference.step][path] = tuple(places)

    def _begins_with_step(self, path: Path) -> bool:
        return len(path) > 1 and path[0] in self.plan.steps

    def _place_at(self, path: Path, write: Write) -> Path:
        """Where in the end stands what a path leads to in a write; the path itself where it holds the write."""
        for name in (write.target, (write.key,)):
            if path[: len(name)] == name:
                return self.place(write) + path[len(name) :]
        return path

    def place(self, write: Write) -> Path:
        """Where a write, or a data flag, stands in the end."""
        wired = self.plan.steps[write.step]
        if write.step not in self.moved or (write.is_data and not is_whole(wired, self.moved)):
            return write.target
        return self.place_of(write.step, write.key)

    def place_of(self, id: str, key: str) -> Path:
        """Where a step's write of a key goes in the end."""
        written = self.plan.steps[id].step.output_mappings.get(key)
        if written is not None:
            return parse_path(written)
        return (id, key) if id in self.moved else (key,)

    def carried_place(self, writer: str) -> Path:
        """Where what a step hands on through the pipe stands in the end."""
        write = self.plan.steps[writer].interface.pipe_write if writer != STDIN else None
        return ("stdin",) if write is None else self.place_of(writer, write.name)

    def uses(self, id: str, writers: Iterable[str]) -> bool:
        """Whether a template of a step uses what one of the writers hands on, a part of it, or what holds it."""
        return any(self.leads_to(reference, writer) for reference in self.templates(id) for writer in writers)

    def templates(self, id: str) -> list[Reference]:
        """The references in a step's flags, those of --map-in not among them."""
        return [each for each in self.references[id] if self._is_template(each)]

    def _is_template(self, reference: Reference) -> bool:
        return reference.role in (INPUT, PARAM) or reference.key in self.lifted[reference.step]

    def leads_to(self, reference: Reference, writer: str) -> bool:
        """Whether a reference is to what a step hands on through the pipe."""
        if writer == STDIN:
            return reference.path[0] == "stdin"
        handed_on = self.plan.steps[writer].interface.pipe_write
        if handed_on is None:
            return False
        is_holder = reference.path == (writer,) and writer in self.moved
        return is_holder or any(
            write.step == writer and write.key == handed_on.name and not write.is_data for write in reference.writes
        )

    def refuse_slips(self) -> None:
        """Raise PflowError (2) for a name in a template that nothing writes and that is near to one that there is."""
        for reference in self.plan.references:
            is_slip = bool(reference.trouble) and reference.remedy.startswith("did you mean")
            if is_slip and self._is_template(reference) and reference.path[0] not in self.plan.steps:
                what = f"cannot find {_shown(reference)}: nothing writes it"
                raise PflowError(what, hint=reference.remedy, exit=USAGE)


def latest(writes: Iterable[Write]) -> list[Write]:
    """The writes that a name means: a data flag is stored only where nothing is, so any other goes before it."""
    every = list(writes)
    return [write for write in every if not write.is_data] or every


def _shown(reference: Reference) -> str:
    return f"'{path_text(reference.path)}' in --{reference.key.replace('_', '-')} of '{reference.step}'"


def either(places: Iterable[Path]) -> str:
    return " or ".join(map(path_text, places))
