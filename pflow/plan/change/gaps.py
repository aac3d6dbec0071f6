"""Reads that want a mapping: those without a source, with a wrong one, or beside a result that nothing takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pflow.explain.origins import Origins
from pflow.flow.findings import Finding
from pflow.flow.fits import NO, YES, fits
from pflow.flow.graph import ERROR
from pflow.flow.pipe.carry import STDIN, carried_into, is_certain
from pflow.flow.wired import WiredFlow, WiredStep, Write
from pflow.interface import Item
from pflow.paths import write_path
from pflow.types import Type

Path = tuple[str | int, ...]
Source = str | list[str]

_DEPTH = 3
"""How far into shapes parts are looked for."""
_MOST = 500
"""Candidates of one read, latest steps first: with as many, none is the only one."""
_ONLY_GIVES = {"network", "reads files"}
"""The effects of steps that run for nothing but what they write."""


@dataclass(frozen=True)
class Candidate:
    """A source that a mapping may name; `writer` is the step that writes it, "" for an input of the flow."""

    path: Path
    type: Type
    writer: str
    is_part: bool
    is_fitting: bool
    """Whether its type fits for certain; else it may fit."""

    @property
    def text(self) -> str:
        return write_path(self.path)


@dataclass
class Gap:
    """A read that wants a mapping. `written` is the wrong source that it has; `is_needed`: the flow is wrong without.

    `is_idle` says that the read does without the result of the step before it.
    """

    step: str
    item: Item
    written: Source | None = None
    is_needed: bool = False
    is_idle: bool = False
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def is_explicit(self) -> bool:
        return "explicit" in self.item.marks

    @property
    def place(self) -> Path:
        return "mappings", self.step, "input_mappings", self.item.name

    @property
    def is_question(self) -> bool:
        """Whether it wants an answer: a read that only an input gives may stay an input."""
        return self.is_needed or (not self.is_idle and any(_is_of_type(each, self.item) for each in self.candidates))

    def __str__(self) -> str:
        return f"{self.step}.{self.item.name}"


@dataclass(frozen=True)
class Wired:
    """A gap with the `source` that it gets, and `why` that one."""

    gap: Gap
    source: Source
    why: str


class Gaps:
    """The gaps of one wired flow, and the sources that leave no doubt."""

    def __init__(self, flow: WiredFlow, errors: Sequence[Finding]) -> None:
        self.flow = flow
        self.wrong = {each.place for each in errors if each.rule in ("PF14", "PF15")}
        self.order = flow.graph.order()
        later = {id: {far for near in flow.graph.after(id) for far in flow.graph.reach(near)} for id in self.order}
        self.before = {id: [each for each in self.order if id in later[each]] for id in self.order}
        self.carried = carried_into(flow)
        self.origins = Origins(flow)

    def find(self) -> list[Gap]:
        """Every gap, in the order that the steps run in."""
        found = []
        for id in self.order:
            step = self.flow.steps[id]
            for item in step.interface.reads.values() if step.kind is not None else ():
                gap = self._gap(step, item)
                if gap is not None:
                    gap.candidates = [] if gap.is_idle else list(self._candidates(gap))[:_MOST]
                    found.append(gap)
        return found

    def _gap(self, wired: WiredStep, item: Item) -> Gap | None:
        step, key = wired.step, item.name
        if key in step.input_mappings:
            gap = Gap(wired.id, item, step.input_mappings[key], is_needed=True)
            return gap if gap.place in self.wrong and key not in step.inputs else None
        is_item = step.batch is not None and key == step.batch.item
        if is_item or key in step.inputs or key in step.params or self.flow.first_read == (wired.id, key):
            return None
        if "explicit" in item.marks:
            return Gap(wired.id, item, is_needed=True) if item.required and self.flow.flow.inputs else None
        writers = [self.flow.steps[id] for id in self.before[wired.id]]
        if any(each.kind is None or each.interface.open for each in writers):
            return None
        if key in self.flow.flow.inputs or not item.required or any(_puts(each, key) for each in writers):
            return Gap(wired.id, item, is_idle=True) if self._passes_by(wired.id, item) else None
        return Gap(wired.id, item, is_needed=bool(self.flow.flow.inputs))

    def _passes_by(self, id: str, item: Item) -> bool:
        """Whether a `[pipe]` read does without the only thing that the step before it runs for."""
        carried = self.carried[id]
        if "pipe" not in item.marks or not carried.is_sure or len(carried.writers) != 1 or STDIN in carried.writers:
            return False
        writer = self.flow.steps[carried.writers[0]]
        interface = writer.interface
        decides = len(set(interface.actions) - {ERROR}) > 1
        if decides or interface.open or writer.step.output_mappings or not set(interface.effects) <= _ONLY_GIVES:
            return False
        return not any(self.origins.readers_of(writer.place_of(key), {writer.id}) for key in interface.writes)

    def _candidates(self, gap: Gap) -> Iterator[Candidate]:
        """What a gap may take: inputs, then writes, latest first.

        No write decides where a file is written, and what a command is: such a read takes an input.
        """
        for path, type, writer in self._sources(gap):
            for below, part in _parts(type):
                fit = fits(part, gap.item.type)
                if fit != NO and write_path(path + below) != gap.written:
                    yield Candidate(path + below, part, writer, bool(below), fit == YES)

    def _sources(self, gap: Gap) -> Iterator[tuple[Path, Type, str]]:
        """Each whole value that there is: its path, its type, and who writes it."""
        wired = self.flow.steps[gap.step]
        if wired.step.batch is not None:
            yield (wired.step.batch.item,), wired.item_type, ""
        for name in self.flow.flow.inputs:
            if not self.flow.inputs[name].secret:
                yield (name,), self.flow.inputs[name].type, ""
        for writer in [] if gap.is_explicit else [self.flow.steps[id] for id in reversed(self.before[gap.step])]:
            for key, item in writer.interface.writes.items():
                if "secret" not in item.marks:
                    yield (writer.id, key), self._type(writer, item), writer.id

    def _type(self, writer: WiredStep, item: Item) -> Type:
        return self.flow.write_type(Write(writer.id, item.name, writer.place_of(item.name), item))

    def choose(self, gap: Gap) -> Wired | None:
        """The source of a gap where names, the pipe and types leave one answer."""
        if gap.written is not None or len(gap.candidates) >= _MOST:
            return None  # what somebody wrote meant something
        named = [each for each in gap.candidates if each.path[-1] in {gap.item.name, *gap.item.flags}]
        for found in ([each for each in named if not each.is_part], named):
            if any(each.is_fitting for each in found):
                return self._only(gap, found, "it has the read's name")
        if piped := self._piped(gap):
            return Wired(gap, piped[0] if len(piped) == 1 else piped, "it is what the pipe carries there")
        if gap.is_explicit or not gap.is_needed:
            return None  # no file is written over because of a type
        return self._only(
            gap, [each for each in gap.candidates if _is_of_type(each, gap.item)], "it is the only one of the type"
        )

    def _only(self, gap: Gap, found: list[Candidate], why: str) -> Wired | None:
        """The gap with the only candidate that fits, if it is there on every way to the step."""
        found = [each for each in found if each.is_fitting]
        is_sure = len(found) == 1 and self._is_sure(gap, found[0])
        return Wired(gap, found[0].text, why) if is_sure else None

    def _is_sure(self, gap: Gap, candidate: Candidate) -> bool:
        if candidate.writer:
            return is_certain(self.flow, {candidate.writer}, gap.step)
        wanted = self.flow.inputs.get(str(candidate.path[0]))
        return wanted is None or wanted.required or wanted.has_default  # None for the item of a batch

    def _piped(self, gap: Gap) -> list[str]:
        """What a pipe would carry into the read: several paths where several branches lead there."""
        carried = self.carried[gap.step]
        if "pipe" not in gap.item.marks or not carried.is_sure or STDIN in carried.writers:
            return []
        writers = [self.flow.steps[id] for id in carried.writers]
        found = [
            f"{each.id}.{item.name}"
            for each in writers
            if (item := each.interface.pipe_write)
            and "secret" not in item.marks
            and fits(self._type(each, item), gap.item.type) == YES
        ]
        return found if len(found) == len(writers) else []


def _puts(step: WiredStep, key: str) -> bool:
    """Whether a step puts something at a key, or below it."""
    is_data = key in step.step.inputs and not step.is_moved
    return is_data or any(step.place_of(each)[0] == key for each in [*step.interface.writes, *step.targets])


def _is_of_type(candidate: Candidate, item: Item) -> bool:
    """Whether a candidate is just what the read declares, and not only something that it can take."""
    there, wanted = candidate.type.name, item.type.name
    if "any" in (there, wanted):
        return candidate.is_fitting and not candidate.is_part
    return candidate.is_fitting and (there == wanted or {there, wanted} == {"int", "float"})


def _parts(type: Type, path: Path = ()) -> Iterator[tuple[Path, Type]]:
    """A type and the parts that its shape says it has, each with the path to it."""
    yield path, type
    for name, part in type.fields.items() if len(path) < _DEPTH else ():
        yield from _parts(part, (*path, name))
