"""A plan as the rules look at it: what several of them ask for, found once."""

from __future__ import annotations

from pflow.flow.reaching import data_of
from pflow.flow.rules.mend import edge_slips
from pflow.flow.rules.names import meant
from pflow.flow.rules.puts import Put
from pflow.flow.rules.shelf import Shelf
from pflow.flow.rules.ways import Ways
from pflow.flow.written import parts_of_outputs, parts_of_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.graph import Fork
    from pflow.flow.wired import Reference, WiredFlow, WiredStep
    from pflow.flow.written import Part
    from pflow.paths import Path
    from pflow.types import Type


class View:
    """A plan, and what follows from it.

    `doubled` are the ids that several steps have: what leads where is not certain of them. `slips` are the unknown ids
    in edges, with the steps that they were meant for; `mismapped` are those whose mappings seem to stand under a
    misspelt id. `puts` are the writes of each step, in the order that the steps run in; `roots` are the keys that hold
    them, each with its writers as bits.
    """

    def __init__(self, plan: WiredFlow, doubled: set[str]) -> None:
        self.plan = plan
        self.flow = plan.flow
        self.graph = plan.graph
        self.steps = plan.steps
        self.doubled = doubled
        self.slips = edge_slips(plan.flow)
        self.mismapped = {meant(id, plan.steps) for id in plan.flow.stray_mappings}
        self.ways = Ways(plan.graph)
        self.parts = {id: list(parts_of_step(wired)) for id, wired in plan.steps.items()}
        self.output_parts = list(parts_of_outputs(plan.flow))
        self._part_at = {part.place: part for parts in self.parts.values() for part in parts}
        self._reference_at = {(each.place, each.path): each for each in plan.references}
        self.puts = {id: _puts_of(plan.steps[id]) for id in dict.fromkeys([*self.ways.order, *plan.steps])}
        self.roots: dict[str, int] = {}
        for wired in plan.steps.values():
            self._note_names(wired)
        self._beside: dict[str, int] | None = None
        self._read: Shelf | None = None

    def part_at(self, reference: Reference) -> Part:
        """What a reference stands in."""
        return self._part_at[reference.place]

    def type_at(self, place: Path, path: Path) -> Type | None:
        """The type of what a path at a place leads to; None where that is not known."""
        reference = self._reference_at.get((place, path))
        return None if reference is None or reference.trouble else self.plan.type_of(reference)

    def _note_names(self, wired: WiredStep) -> None:
        """Note the first steps of all names that a step's writes and stored data flags are found by."""
        roots = {str(put.target[0]) for put in self.puts[wired.id]} | wired.moved
        roots |= {str(write.target[0]) for write in data_of(wired)}
        for root in roots:
            self.roots[root] = self.roots.get(root, 0) | self.ways.bits[wired.id]

    def before(self, id: str) -> list[WiredStep]:
        """The steps that may run before one; for the end of the flow (no id) all that are reached. Latest last."""
        return [self.steps[each] for each in self.ways.order if not id or self.ways.may_precede(each, id)]

    def is_written_before(self, key: str, id: str) -> bool:
        """Whether a step that may run before this one puts something at a key, or below it."""
        return bool(self.roots.get(key, 0) & self.ways.before[id])

    def writers(self, key: str, id: str) -> list[WiredStep]:
        """The steps that may run before this one and put something at a key, or below it."""
        mask = self.roots.get(key, 0) & self.ways.before[id]
        return [wired for each, wired in self.steps.items() if mask & self.ways.bits[each]] if mask else []

    def is_written_beside(self, key: str, id: str) -> bool:
        """Whether a step in another branch of a fork puts something at a key, or below it."""
        if self._beside is None:
            self._beside = self._masks_of_branches()
        return bool(self.roots.get(key, 0) & self._beside.get(id, 0))

    def _masks_of_branches(self) -> dict[str, int]:
        """For each step in a branch of a fork, the steps of its other branches, as bits."""
        beside: dict[str, int] = {}
        for fork in self.closed_forks():
            masks = [sum(self.ways.bits[id] for id in branch) for branch in fork.branches]
            for branch, own in zip(fork.branches, masks, strict=True):
                for id in branch:
                    beside[id] = beside.get(id, 0) | (sum(masks) & ~own)
        return beside

    def closed_forks(self) -> list[Fork]:
        """The forks whose branches are known for certain."""
        closed = [fork for fork, crossing in self.ways.forks if not crossing]
        return [fork for fork in closed if self.doubled.isdisjoint({fork.source}.union(*fork.branches))]

    def is_read(self, place: Path) -> bool:
        """Whether a step or an output takes a value from a place, what holds it or a part of it."""
        if self._read is None:
            self._read = Shelf()
            paths = {path for wired in self.steps.values() for path in read_places(wired)}
            for path in paths.union(*(source.paths for source in self.plan.outputs.values())):
                self._read.add(path, True)
        return any(self._read.meeting(place))


def _puts_of(wired: WiredStep) -> list[Put]:
    return [Put(wired, key) for key in dict.fromkeys([*wired.interface.writes, *wired.targets])]


def read_places(wired: WiredStep) -> Iterator[Path]:
    """The places of the store that a step takes its values from."""
    over = [wired.over] if wired.over is not None else []
    for source in [*wired.sources.values(), *wired.params.values(), *over]:
        yield from source.paths
    for key, item in wired.interface.reads.items():
        if key not in wired.sources and "explicit" not in item.marks and key not in wired.step.params:
            yield (key,)


def is_known(wired: WiredStep) -> bool:
    """Whether it is known which keys and params a step has."""
    return wired.kind is not None and not wired.interface.open
