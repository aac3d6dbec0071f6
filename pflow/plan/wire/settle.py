"""Settling gaps without a model: the mapping of each where names, the pipe and types leave one answer."""

from __future__ import annotations

from pflow.flow.flow import TEMPLATE
from pflow.flow.pipe.carry import STDIN, carried_into
from pflow.flow.rules.fits import YES
from pflow.plan.wire.candidates import INPUT, candidates, is_of_type, written
from pflow.plan.wire.gaps import IDLE
from pflow.plan.wire.gaps import INPUT as AS_INPUT
from pflow.plan.wire.mend import mended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pflow.flow.flow import Flow, Mapped
    from pflow.flow.pipe.carry import Carried
    from pflow.flow.rules.view import View
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


def settle(view: View, gaps: list[Gap]) -> tuple[list[Settled], list[Open]]:
    """What can be settled, and what is left. Of an optional read, or a flow's input, nothing is left."""
    settled: list[Settled] = []
    left: list[Open] = []
    claimed: dict[str, int] = {}
    carried = carried_into(view.plan) if gaps else {}
    for gap in gaps:
        found = _Choice(view, gap, carried[gap.step]).settled()
        if found is not None:
            settled.append(found)
            claimed[str(found.source)] = claimed.get(str(found.source), 0) + 1
        elif gap.kind != IDLE:
            left.append(Open(gap, candidates(view, gap)))
    doubtful = [
        each for each in settled if each.why == _ONLY and each.gap.is_explicit and claimed[str(each.source)] > 1
    ]
    left += [Open(each.gap, candidates(view, each.gap)) for each in doubtful]
    return [each for each in settled if each not in doubtful], [each for each in left if _is_question(each)]


def mapped(flow: Flow, settled: list[Settled]) -> Flow:
    """A copy of the flow with these mappings."""
    from copy import deepcopy

    wired = deepcopy(flow)
    for each in settled:
        wired.step(each.gap.step).input_mappings[each.gap.item.name] = each.source
    return wired


def _is_question(left: Open) -> bool:
    """Whether a gap that is left wants an answer: a read that only an input gives may stay one."""
    return left.gap.is_needed or any(is_of_type(each, left.gap) for each in left.candidates)


_NEAR = "it is what the wrong path most likely means"
_NAME = "it has the read's name"
_PART = "a part of it has the read's name"
_PIPE = "it is what the pipe carries there"
_ONLY = "it is the only one of the type"


class _Choice:
    """The choice of one gap's source: the first of the ways that finds one candidate; none where it finds more."""

    def __init__(self, view: View, gap: Gap, carried: Carried) -> None:
        self.view = view
        self.gap = gap
        self.carried = carried
        self.names = {gap.item.name, *gap.item.flags}
        self._there: list[Candidate] | None = None

    @property
    def there(self) -> list[Candidate]:
        if self._there is None:
            self._there = [each for each in candidates(self.view, self.gap) if each.fit == YES]
        return self._there

    def settled(self) -> Settled | None:
        source = mended(self.view, self.gap)
        if source is not None:
            return Settled(self.gap, source, _NEAR)
        if isinstance(self.gap.written, list) or str(self.gap.written).startswith(TEMPLATE):
            return None  # it says more than one path could
        for why, find in self._ways():
            found = find()
            if len(found) > 1 and why != _PIPE:
                return None
            if found:
                texts = [each.text for each in found]
                return Settled(self.gap, texts[0] if len(texts) == 1 else texts, why)
        return None

    def _ways(self) -> list[tuple[str, Callable[[], list[Candidate]]]]:
        if self.gap.kind == IDLE:
            return [(_PIPE, self._piped)]
        ways = [(_NAME, self._named), (_PART, self._parts), (_PIPE, self._piped)]
        return ways if self.gap.kind == AS_INPUT else [*ways, (_ONLY, self._only)]

    def _sure(self) -> list[Candidate]:
        return [each for each in self.there if each.is_sure]

    def _named(self) -> list[Candidate]:
        return [each for each in self._sure() if not each.is_part and each.name in self.names]

    def _parts(self) -> list[Candidate]:
        return [each for each in self._sure() if each.is_part and each.name in self.names]

    def _piped(self) -> list[Candidate]:
        """What a pipe would carry into the read: several writes where several ways lead there."""
        writers = self.carried.writers
        if "pipe" not in self.gap.item.marks or not self.carried.is_sure or STDIN in writers:
            return []
        found = [each for id in writers for each in written(self.view, self.view.steps[id], self.gap)]
        return found if len(found) == len(writers) else []

    def _only(self) -> list[Candidate]:
        found = [each for each in self.there if is_of_type(each, self.gap)]
        if not self.gap.is_explicit:
            return found if all(each.is_sure for each in found) else []
        return [each for each in found if each.is_sure and not self._is_used(each)] if len(found) == 1 else found

    def _is_used(self, candidate: Candidate) -> bool:
        """Whether an input is there for another read: then it is not this one's for being of its type."""
        if candidate.writer != INPUT:
            return False
        plan = self.view.plan
        given = plan.inputs.get(str(candidate.path[0]))
        return given is None or bool(given.readers) or any(each.input == given.name for each in plan.references)
