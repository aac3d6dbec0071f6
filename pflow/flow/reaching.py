"""Which writes can stand in the store when a step begins: those of the steps before it, the latest of each name."""

from __future__ import annotations

from pflow.flow.chained import Before, Chain
from pflow.flow.wired import Write
from pflow.templates import references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.flow import Step
    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.paths import Path

    Writes = dict[tuple[str, str], Write]
    Names = dict[Path, Writes] | Before
    """For each path that a place goes by, the writes that can stand there."""
    Merged = dict[Path, Writes]


class Reaching:
    """The writes that reach each step, and the end of the flow (`end`)."""

    def __init__(self, plan: WiredFlow) -> None:
        self.plan = plan
        self.at: dict[str, Names] = {id: {} for id in plan.steps}
        self.end: Names = {}
        self._made = {id: list(_writes_of(wired)) for id, wired in plan.steps.items()}
        order = plan.graph.order()
        self.order = {id: place for place, id in enumerate(order)}
        self.is_chain = self._is_chain(order)
        if self.is_chain:
            self._follow_chain(order)
        else:
            self._follow(order)

    def _is_chain(self, order: list[str]) -> bool:
        """Whether the steps stand in a row, each led to by the one before it alone."""
        graph = self.plan.graph
        led_to = all(graph.before[id] == ([order[place - 1]] if place else []) for place, id in enumerate(order))
        return led_to and all(len(graph.after(id)) < 2 for id in order)

    def _follow_chain(self, order: list[str]) -> None:
        """Steps in a row: to keep what reaches each would take memory that grows with their square."""
        chain = Chain()
        for place, id in enumerate(order):
            self.at[id] = Before(chain, place)
            for name, write in self._made[id]:
                chain.add(name, place, write)
        self.end = Before(chain, len(order))

    def _follow(self, order: list[str]) -> None:
        place, graph = self.order, self.plan.graph
        has_loops = any(place[each] >= place[id] for id in order for each in graph.before[id] if each in place)
        after: dict[str, Merged] = {}
        before: dict[str, Merged] = {}
        size = -1
        while True:
            for id in order:
                self.at[id] = before[id] = _merged([after[each] for each in graph.before[id] if each in after])
                after[id] = self._past(id, before[id])
            total = sum(len(writes) for names in after.values() for writes in names.values()) if has_loops else size
            if total == size:
                break
            size = total
        self.end = _merged([after[id] for id in order if has_loops or not graph.after(id)])

    def _past(self, id: str, before: Merged) -> Merged:
        """What stands when the step has ended: its own writes in place of older ones of their names."""
        names = dict(before)
        for name, write in self._made[id]:
            own = {(write.step, write.key): write}
            names[name] = {**names.get(name, {}), **own} if write.is_data else own
        return names

    def find(self, names: Names, path: Path) -> list[tuple[Path, Write]]:
        """Each write that a path may mean, with the place in the store that the path then stands for."""
        for length in range(len(path), 0, -1):
            writes = names.get(path[:length])
            if writes:
                return [(write.target + path[length:], write) for write in writes.values()]
        if isinstance(names, Before):
            below = list(names.below(path))
        else:
            below = [writes for name, writes in names.items() if len(name) > len(path) and name[: len(path)] == path]
        return [(path, write) for writes in below for write in writes.values()]


def _merged(several: list[Merged]) -> Merged:
    if len(several) == 1:
        return several[0]
    merged: Merged = {}
    for names in several:
        for name, writes in names.items():
            merged[name] = {**merged[name], **writes} if name in merged else writes
    return merged


def is_stored(wired: WiredStep, key: str) -> bool:
    """Whether a data flag of a step goes into the store."""
    item = wired.interface.reads.get(key)
    return (item is None or item.is_stored) and not _is_of_item(wired.step, key)


def data_of(wired: WiredStep) -> Iterator[Write]:
    """The data flags that a step puts into the store."""
    for key in wired.step.inputs:
        item = wired.interface.reads.get(key)
        if item is not None and is_stored(wired, key):
            yield Write(wired.id, key, wired.data_place(key), item, is_data=True)


def _is_of_item(step: Step, key: str) -> bool:
    """Whether a data flag is made of a batch's item: there are as many of it, and none is stored."""
    if step.batch is None:
        return False
    try:
        return any(path[0] == step.batch.item for path in references(step.inputs.get(key)))
    except ValueError:  # a finding of the rules
        return False


def _writes_of(wired: WiredStep) -> list[tuple[Path, Write]]:
    """What a step puts into the store, each by every name that it is found by."""
    made = [(write.target, write) for write in data_of(wired)]
    interface, step = wired.interface, wired.step
    keys = [*interface.writes, *(key for key in wired.targets if key not in interface.writes)]
    for key in keys:
        target = wired.place_of(key)
        write = Write(step.id, key, target, interface.writes.get(key))
        made.append((target, write))
        if key in wired.moved and target != (key,):
            made.append(((key,), write))
    return made
