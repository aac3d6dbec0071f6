"""Settling gaps without a model: the mapping of each where names, the pipe and types leave one answer."""

from __future__ import annotations

from pflow.flow.fits import YES
from pflow.flow.pipe.carry import STDIN, carried_into
from pflow.paths import parse_path
from pflow.plan.wire.candidates import INPUT, MOST, candidates, is_of, is_of_type, is_sure, written
from pflow.plan.wire.gaps import IDLE
from pflow.plan.wire.gaps import INPUT as AS_INPUT
from pflow.plan.wire.mend import mended
from pflow.templates import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from pflow.flow.flow import Flow, Mapped
    from pflow.flow.pipe.carry import Carried
    from pflow.flow.rules.view import View
    from pflow.paths import Path
    from pflow.plan.wire.candidates import Candidate
    from pflow.plan.wire.gaps import Gap


class Settled:
    """A gap with the `source` that it gets, and `why` that one."""

    __slots__ = ("gap", "source", "why")

    def __init__(self, gap: Gap, source: Mapped, why: str) -> None:
        self.gap = gap
        self.source = source
        self.why = why


class Open:
    """A gap that is not settled, with the candidates that there are."""

    __slots__ = ("candidates", "gap")

    def __init__(self, gap: Gap, candidates: list[Candidate]) -> None:
        self.gap = gap
        self.candidates = candidates


def settle(view: View, gaps: list[Gap], refused: Collection[Path] = ()) -> tuple[list[Settled], list[Open]]:
    """What can be settled, apart from the places `refused`, and what is left: no optional read, no flow's input."""
    settled: list[Settled] = []
    left: list[Open] = []
    claimed: dict[str, int] = {}
    carried = carried_into(view.plan) if gaps else {}
    for gap in gaps:
        choice = _Choice(view, gap, carried[gap.step])
        found = choice.settled() if gap.place not in refused else None
        if found is not None:
            settled.append(found)
            claimed[str(found.source)] = claimed.get(str(found.source), 0) + 1
        elif gap.kind != IDLE:
            left.append(Open(gap, choice.there))
    doubtful = [
        each for each in settled if each.why == _ONLY and each.gap.is_explicit and claimed[str(each.source)] > 1
    ]
    left += [Open(each.gap, candidates(view, each.gap)) for each in doubtful]
    return [each for each in settled if each not in doubtful], [each for each in left if _is_question(each)]


def mapped(flow: Flow, settled: list[Settled]) -> Flow:
    """A copy of the flow with these mappings."""
    from copy import deepcopy

    wired = deepcopy(flow)
    steps = {step.id: step for step in wired.steps}
    for each in settled:
        steps[each.gap.step].input_mappings[each.gap.item.name] = each.source
    return wired


def _is_question(left: Open) -> bool:
    """Whether a gap that is left wants an answer: a read that only an input gives may stay one."""
    return left.gap.is_needed or any(is_of_type(each, left.gap) for each in left.candidates)


_NEAR = "it is what the wrong path most likely means"
_NAME = "it has the read's name"
_PART = "a part of it has the read's name"
_PIPE = "it is what the pipe carries there"
_ONLY = "it is the only one of the type"


def _path(written: Any) -> Path:
    """A source that is a path; empty for any other."""
    if not isinstance(written, str) or written.startswith(TEMPLATE):
        return ()
    try:
        return parse_path(written)
    except ValueError:
        return ()


class _Choice:
    """The choice of one gap's source: the first of the ways that finds one candidate; none where it finds more."""

    def __init__(self, view: View, gap: Gap, carried: Carried) -> None:
        self.view = view
        self.gap = gap
        self.carried = carried
        self.names = {gap.item.name, *gap.item.flags}
        self.wrong = _path(gap.written)
        self.there = [] if gap.kind == IDLE else candidates(view, gap)

    def settled(self) -> Settled | None:
        source = mended(self.view, self.gap)
        if source is not None:
            return Settled(self.gap, source, _NEAR)
        if self.gap.written is not None and not self.wrong:
            return None  # it says more than one path could, or what no path says
        if len(self.there) >= MOST or self._is_of_another():
            return None
        for why, find in self._ways():
            found = find()
            if len(found) > 1 and why != _PIPE:
                return None
            if found:
                texts = [each.text for each in found]
                return Settled(self.gap, texts[0] if len(texts) == 1 else texts, why)
        return None

    def _is_of_another(self) -> bool:
        """Whether a wrong path names one step, or input, and ends as what another has: either may be the slip."""
        ends = [each for each in self.there if self.wrong and each.name == str(self.wrong[-1])]
        return not all(map(self._is_meant, ends))

    def _ways(self) -> list[tuple[str, Callable[[], list[Candidate]]]]:
        if self.gap.kind == IDLE:
            return [(_PIPE, self._piped)]
        ways = [(_NAME, self._named), (_PART, self._parts), (_PIPE, self._piped)]
        return ways if self.gap.kind == AS_INPUT else [*ways, (_ONLY, self._only)]

    def _named(self) -> list[Candidate]:
        return self._of(lambda each: not each.is_part and each.name in self.names)

    def _parts(self) -> list[Candidate]:
        return self._of(lambda each: each.is_part and each.name in self.names)

    def _piped(self) -> list[Candidate]:
        """What a pipe would carry into the read: several writes where several ways lead there."""
        writers = self.carried.writers
        if "pipe" not in self.gap.item.marks or not self.carried.is_sure or STDIN in writers:
            return []
        found = [each for id in writers for each in written(self.view, self.view.steps[id], self.gap)]
        return found if len(found) == len(writers) and all(map(self._is_meant, found)) else []

    def _only(self) -> list[Candidate]:
        found = self._of(lambda each: is_of_type(each, self.gap))
        return [] if self.gap.is_explicit and len(found) == 1 and self._is_used(found[0]) else found

    def _of(self, is_one: Callable[[Candidate], bool]) -> list[Candidate]:
        """The candidates that are such ones: one only where it is sure to be there."""
        found = [each for each in self.there if each.fit == YES and is_one(each) and self._is_meant(each)]
        return [] if len(found) == 1 and not is_sure(self.view, self.gap, found[0]) else found

    def _is_meant(self, candidate: Candidate) -> bool:
        """Whether a candidate is not of another step than the one that a wrong path names."""
        return not self.wrong or is_of(self.view, self.wrong, candidate)

    def _is_used(self, candidate: Candidate) -> bool:
        """Whether an input is there for another read: then it is not this one's for being of its type."""
        if candidate.writer != INPUT:
            return False
        plan = self.view.plan
        given = plan.inputs.get(str(candidate.path[0]))
        return given is None or bool(given.readers) or any(each.input == given.name for each in plan.references)
