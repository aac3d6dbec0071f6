"""Candidates for a read: what earlier steps write, parts of it, and declared inputs, as far as their types fit."""

from __future__ import annotations

from pflow.flow.fits import NO, YES, fits
from pflow.flow.pipe.carry import is_certain
from pflow.flow.wired import Write
from pflow.paths import write_path
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.rules.view import View
    from pflow.flow.wired import WiredStep
    from pflow.paths import Path
    from pflow.plan.wire.gaps import Gap

_DEPTH = 3
"""How far into shapes parts are looked for."""
MOST = 500
"""How many candidates of one read are looked for, latest steps first: where there are as many, none is the only one."""

INPUT = ""
"""Stands for the writer of a declared input."""


class Candidate:
    """A source that a mapping may name: its path, its type, and the step that writes it (INPUT for none).

    `is_part` for a member of a shape; `fit` is MAYBE or YES.
    """

    __slots__ = ("fit", "is_part", "path", "type", "writer")

    def __init__(self, path: Path, type: Type, writer: str, fit: int, *, is_part: bool) -> None:
        self.path = path
        self.type = type
        self.writer = writer
        self.fit = fit
        self.is_part = is_part

    @property
    def text(self) -> str:
        return write_path(self.path)

    @property
    def name(self) -> str:
        return str(self.path[-1])


def candidates(view: View, gap: Gap, wanted: Type | None = None) -> list[Candidate]:
    """Everything that a gap may take (of its own type, or of the one `wanted`): inputs, then writes, latest first.

    Where a file is written, and what a command is, no write is to decide: such a read takes an input.
    """
    found = []
    for path, type, writer in _sources(view, gap):
        for below, part in _parts(type):
            fit = fits(part, wanted or gap.item.type)
            if fit != NO and (gap.written is None or write_path(path + below) != gap.written):
                found.append(Candidate(path + below, part, writer, fit, is_part=bool(below)))
        if len(found) >= MOST:
            break
    return found


def written(view: View, writer: WiredStep, gap: Gap) -> Iterator[Candidate]:
    """A step's `[pipe]` write, where the gap can take it."""
    item = writer.interface.pipe_write
    if item is not None and "secret" not in item.marks:
        type = view.plan.write_type(Write(writer.id, item.name, writer.place_of(item.name), item))
        if fits(type, gap.item.type) == YES:
            yield Candidate((writer.id, item.name), type, writer.id, YES, is_part=False)


def is_of_type(candidate: Candidate, gap: Gap) -> bool:
    """Whether a candidate is just what the read declares, and not only something that it can take."""
    there, wanted = candidate.type, gap.item.type
    if candidate.fit != YES:
        return False
    if "any" in (there.name, wanted.name):
        return not candidate.is_part
    return there.name == wanted.name or {there.name, wanted.name} == {"int", "float"}


def is_of(view: View, path: Path, candidate: Candidate) -> bool:
    """Whether a candidate is of the step or the input that a wrong path names, if it names one."""
    root = path[0]
    return root == candidate.path[0] or (root not in view.steps and root not in view.flow.inputs)


def is_sure(view: View, gap: Gap, candidate: Candidate) -> bool:
    """Whether a candidate is there on every way to the gap's step."""
    if candidate.writer != INPUT:
        return is_certain(view.plan, {candidate.writer}, gap.step)
    batch = view.steps[gap.step].step.batch
    if batch is not None and candidate.path == (batch.item,):
        return True
    given = view.plan.inputs[str(candidate.path[0])]
    return given.required or given.has_default


def _sources(view: View, gap: Gap) -> Iterator[tuple[Path, Type, str]]:
    """Each whole thing that there is: its path, its type, and who writes it."""
    plan, wired = view.plan, view.steps[gap.step]
    if wired.step.batch is not None:
        yield (wired.step.batch.item,), wired.item_type, INPUT
    for name in plan.flow.inputs:
        given = plan.inputs[name]
        if not given.secret:
            yield (name,), given.type, INPUT
    if gap.is_explicit:
        return
    for writer in reversed([each for each in view.before(gap.step) if view.ways.leads_to(each.id, gap.step)]):
        for path, type in _writes(view, writer):
            yield path, type, writer.id


def _writes(view: View, writer: WiredStep) -> Iterator[tuple[Path, Type]]:
    for key, item in writer.interface.writes.items():
        if "secret" not in item.marks:
            write = Write(writer.id, key, writer.place_of(key), item)
            yield (writer.id, key), view.plan.write_type(write)


def _parts(type: Type, path: Path = ()) -> Iterator[tuple[Path, Type]]:
    """A type and the parts that its shape says it has, each with the way to it."""
    yield path, type
    if len(path) < _DEPTH:
        for name, part in type.fields.items():
            yield from _parts(part, (*path, name))
