"""A wired flow as the rules look at it: what several of them ask for, found once."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.reaching import writes_of
from pflow.flow.written import parts_of_outputs, parts_of_step
from pflow.paths import meet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pflow.flow.flow import Edge
    from pflow.flow.graph import Fork
    from pflow.flow.wired import Reference, WiredFlow, WiredStep, Write
    from pflow.flow.written import Part
    from pflow.paths import Path
    from pflow.types import Type


class View:
    """A wired flow, and what follows from it.

    `order` are the steps that are reached, each after those that lead to it; `loop_of` gives the steps of the loop
    that one stands on. Its edges are as they were most likely meant, `written_edges` as they are written;
    `is_uncertain` says that ids are doubled or edges lead nowhere: then nobody knows what leads where.
    """

    def __init__(self, wired: WiredFlow, written_edges: Sequence[Edge]) -> None:
        self.wired = wired
        self.flow = wired.flow
        self.written_edges = written_edges
        self.graph = wired.graph
        self.steps = wired.steps
        ends = {end for edge in self.flow.edges for end in (edge.source, edge.target)}
        self.is_uncertain = len(self.steps) < len(self.flow.steps) or not ends <= self.steps.keys()
        self.order = wired.graph.order()
        self.reached = set(self.order)
        self.loops = wired.graph.loops()
        self.loop_of = {id: loop for loop in map(set, self.loops) for id in loop}
        self.forks = [(fork, self.graph.open_edges(fork)) for fork in self.graph.forks()]
        self.parts = {id: list(parts_of_step(step)) for id, step in self.steps.items()}
        self.output_parts = list(parts_of_outputs(self.flow))
        self._part_at = {part.place: part for parts in self.parts.values() for part in parts}
        self._reference_at = {(each.place, each.path): each for each in wired.references}
        self.writes = {id: writes_of(self.steps[id]) for id in dict.fromkeys([*self.order, *self.steps])}
        self._bits = {id: 1 << n for n, id in enumerate(self.order)}
        self._ahead = self._find_ahead()
        self._read: dict[str | int, list[Path]] | None = None

    def _find_ahead(self) -> dict[str, int]:
        """For each step those before it on a way that goes back in no loop, as bits."""
        ahead: dict[str, int] = {}
        for id in self.order:
            ahead[id] = 0
            for each in self.graph.before[id]:
                if each in ahead and each != id:
                    ahead[id] |= ahead[each] | self._bits[each]
        return ahead

    def leads_to(self, one: str, other: str) -> bool:
        """Whether one step runs before the other, on a way that goes back in no loop."""
        return bool(self._ahead.get(other, 0) & self._bits.get(one, 0))

    def before(self, id: str) -> list[WiredStep]:
        """The steps that may run before one; for the end of the flow (no id) all that are reached. Latest last."""
        return [self.steps[each] for each in self.order if not id or self.graph.may_precede(each, id)]

    def part_at(self, reference: Reference) -> Part:
        """What a reference stands in."""
        return self._part_at[reference.place]

    def type_at(self, place: Path, path: Path) -> Type | None:
        """The type of what a path at a place leads to; None where that is not known."""
        reference = self._reference_at.get((place, path))
        return None if reference is None or reference.trouble else self.wired.type_of(reference)

    def is_written_beside(self, key: str, id: str) -> bool:
        """Whether a step in another branch of a fork writes a key, or below it."""
        beside = (
            other
            for fork in self.closed_forks()
            if any(id in branch for branch in fork.branches)
            for branch in fork.branches
            if id not in branch
            for other in branch
        )
        return any(write.target[0] == key for other in beside for write in self.writes[other])

    def closed_forks(self) -> list[Fork]:
        """The forks whose branches are known for certain."""
        return [] if self.is_uncertain else [fork for fork, crossing in self.forks if not crossing]

    def is_read(self, place: Path) -> bool:
        """Whether a step or an output takes a value from a place, what holds it or a part of it."""
        if self._read is None:
            self._read = {}
            paths = [path for step in self.steps.values() for path in read_places(step)]
            for path in [*paths, *(path for source in self.wired.outputs.values() for path in source.paths)]:
                self._read.setdefault(path[0], []).append(path)
        return any(meet(path, place) for path in self._read.get(place[0], []))


def place_of_write(step: WiredStep, write: Write) -> Path:
    """Where a finding about a write stands."""
    is_mapped = write.key in step.step.output_mappings
    return ("mappings", step.id, "output_mappings", write.key) if is_mapped else step.step.place


def read_places(step: WiredStep) -> Iterator[Path]:
    """The places of the store that a step takes its values from."""
    over = [step.over] if step.over is not None else []
    for source in [*step.sources.values(), *step.params.values(), *over]:
        yield from source.paths
    for key, item in step.interface.reads.items():
        if key not in step.sources and "explicit" not in item.marks and key not in step.step.params:
            yield (key,)


def is_known(step: WiredStep) -> bool:
    """Whether it is known which keys and params a step has."""
    return step.kind is not None and not step.interface.open
