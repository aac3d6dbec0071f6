"""Which writes may be in the store when a step begins: those of the steps before it, the latest of each name."""

from __future__ import annotations

from pflow.flow.wired import Write
from pflow.templates import references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.flow import Step
    from pflow.flow.graph import Graph
    from pflow.flow.wired import WiredStep
    from pflow.paths import Path

    Writes = dict[tuple[str, str], Write]
    Names = dict[str | int, dict[Path, Writes]]
    """For each root the paths that a place is found by, and for each path the writes that may be there."""

END = ""
"""Stands among the steps for the end of the flow."""


class Reaching:
    """The writes that reach each step of a graph, and the end of the flow."""

    def __init__(self, steps: dict[str, WiredStep], graph: Graph) -> None:
        self._names: dict[str, Names] = {id: {} for id in [*steps, END]}
        self._made = {id: _writes_of(step) for id, step in steps.items()}
        self._follow(graph)

    def _follow(self, graph: Graph) -> None:
        """Walk the graph until nothing more arrives anywhere: once where it has no loop."""
        order = graph.order()
        number = {id: n for n, id in enumerate(order)}
        has_loops = any(number[each] >= number[id] for id in order for each in graph.before[id] if each in number)
        after: dict[str, Names] = {}
        before_this_round = -1
        while True:
            for id in order:
                self._names[id] = _merged([after[each] for each in graph.before[id] if each in after])
                after[id] = self._past(id)
            count = sum(
                len(writes) for names in after.values() for there in names.values() for writes in there.values()
            )
            if not has_loops or count == before_this_round:
                break
            before_this_round = count
        self._names[END] = _merged([after[id] for id in order if has_loops or not graph.after(id)])

    def _past(self, id: str) -> Names:
        """The writes when the step has ended: its own in place of older ones of their names."""
        names = dict(self._names[id])
        for name, write in self._made[id]:
            there = names[name[0]] = dict(names.get(name[0], {}))
            own = {(write.step, write.key): write}
            there[name] = {**there.get(name, {}), **own} if write.is_data else own
        return names

    def roots(self, id: str) -> list[str]:
        """The first parts of all names at a step."""
        return list(map(str, self._names[id]))

    def named(self, id: str, name: Path) -> list[Write]:
        """The writes that may be found by this very name when a step begins."""
        return list(self._names[id].get(name[0], {}).get(name, {}).values())

    def find(self, id: str, path: Path) -> list[tuple[Path, Write]]:
        """Each write that a path may mean at a step, with the place in the store that the path then leads to."""
        there = self._names[id].get(path[0], {})
        for length in range(len(path), 0, -1):
            if writes := there.get(path[:length]):
                return [(write.target + path[length:], write) for write in writes.values()]
        below = [writes for name, writes in there.items() if len(name) > len(path) and name[: len(path)] == path]
        return [(path, write) for writes in below for write in writes.values()]


def _merged(several: list[Names]) -> Names:
    if len(several) == 1:
        return several[0]
    merged: Names = {}
    for names in several:
        for root, there in names.items():
            if merged.setdefault(root, there) is not there:
                known = merged[root]
                merged[root] = {name: {**known.get(name, {}), **there.get(name, {})} for name in {**known, **there}}
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
    """Whether a data flag is made of a batch's item: its value differs with each item, so it is not stored."""
    if step.batch is None:
        return False
    try:
        return any(path[0] == step.batch.item for path in references(step.inputs.get(key)))
    except ValueError:  # a finding of the rules
        return False


def writes_of(wired: WiredStep) -> list[Write]:
    """What a step writes, wherever it goes; its data flags are not among it."""
    keys = dict.fromkeys([*wired.interface.writes, *wired.targets])
    return [Write(wired.id, key, wired.place_of(key), wired.interface.writes.get(key)) for key in keys]


def _writes_of(wired: WiredStep) -> list[tuple[Path, Write]]:
    """What a step puts into the store, each by every name that it is found by."""
    made = [(write.target, write) for write in data_of(wired)]
    for write in writes_of(wired):
        made.append((write.target, write))
        if write.key in wired.moved and write.target != (write.key,):
            made.append(((write.key,), write))
    return made
