"""The writes of steps to the store, and which of them reach each step under which name."""

from __future__ import annotations

from bisect import bisect_left

from pflow import Iterable
from pflow.flow.graph import Graph
from pflow.interface.interface import Item
from pflow.values.paths import Path

Writes = dict[tuple[str, str], "Write"]
Made = tuple[int, "Write"]

END = ""
"""The id that means the end of the flow, among those of steps."""


class Write:
    """A write of a step to the store: its key, the place it goes to, its declaration if there is one.

    `is_data` for a data flag (`inputs`), which is stored only if nothing is there yet.
    """

    def __init__(self, step: str, key: str, target: Path, item: Item | None, *, is_data: bool = False) -> None:
        self.step = step
        self.key = key
        self.target = target
        self.item = item
        self.is_data = is_data


def latest(writes: Iterable[Write]) -> list[Write]:
    """Return the writes that a name means: those of data flags only if no step writes it."""
    every = list(writes)
    return [write for write in every if not write.is_data] or every


class ReachingWrites:
    """The writes that reach each step of a flow, and its end (END), under each name by which they are found.

    They change only where a step writes the name, and where chains of steps meet; so each name is followed by itself,
    when it is first asked for. `stored` are the writes in the order of the graph, each with its name.
    """

    def __init__(self, graph: Graph, stored: Iterable[tuple[Path, Write]]) -> None:
        self._graph = graph
        self._chains = [id for id in graph.order if graph.heads[id] == id]
        self._has_loops = bool(graph.loops())
        self.made: dict[str | int, dict[Path, dict[str, list[Made]]]] = {}
        """For each name, by its root, the writes of each chain (by its head), with their steps' places in the graph."""
        self._entering: dict[Path, dict[str, Writes]] = {}
        """For each name that several chains write, the writes that reach each chain."""
        for name, write in stored:
            there = self.made.setdefault(name[0], {}).setdefault(name, {})
            made = there.setdefault(graph.heads[write.step], [])
            if not (write.is_data and made):  # a data flag is stored only if nothing is there
                made.append((graph.places[write.step], write))

    def at(self, id: str, name: Path) -> Writes:
        """Return the writes that may be found by exactly this name when a step begins."""
        if name not in self.made.get(name[0], {}):
            return {}
        if id == END:
            return self._at_end(name)
        return self._around(name, id) if id in self._graph.reached else {}

    def _at_end(self, name: Path) -> Writes:
        """Return the writes after every last step; all writes of a flow with loops, which may end anywhere."""
        if self._has_loops:
            made = self.made[name[0]][name].values()
            return {(write.step, write.key): write for each in made for _, write in each}
        return _merged(self._around(name, id, is_past=True) for id in self._graph.order if not self._graph.after(id))

    def _around(self, name: Path, id: str, *, is_past: bool = False) -> Writes:
        """Return the writes before or past a step: the last in its chain replaces the others, unless it is data."""
        head = self._graph.heads[id]
        made = self.made[name[0]][name].get(head, [])
        count = bisect_left(made, (self._graph.places[id] + is_past,))
        if not count:
            return self._into(name, head)
        write = made[count - 1][1]
        own = {(write.step, write.key): write}
        return {**self._into(name, head), **own} if write.is_data else own

    def _into(self, name: Path, head: str) -> Writes:
        """Return the writes that reach a chain, following them through the graph until nothing more arrives."""
        if name in self._entering:
            return self._entering[name][head]
        into = self._entering[name] = {each: {} for each in self._chains}
        is_new = True
        while is_new:
            is_new = False
            for each in self._chains:
                before = [id for id in self._graph.before[each] if id in self._graph.reached]
                found = _merged(self._around(name, id, is_past=True) for id in before)
                is_new = is_new or (self._has_loops and len(found) > len(into[each]))
                into[each] = found
        return into[head]


def _merged(several: Iterable[Writes]) -> Writes:
    merged: Writes = {}
    for writes in several:
        merged |= writes
    return merged
