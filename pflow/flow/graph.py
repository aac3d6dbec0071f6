"""Steps and edges as a graph: reachability, loops, forks, and which writes reach each step."""

from __future__ import annotations

from bisect import bisect_left

from pflow import Callable, Iterable
from pflow.flow.flow import Edge
from pflow.interface.interface import Field
from pflow.values.paths import Path

ERROR = "error"
"""The action of a step that failed."""


class Fork:
    """A fork: several edges of one action. `branches` has the steps after each, `meet` the step where they join.

    `exits` are the `error` edges out of the fork, as (step, target): a failure there ends the other branches, and the
    flow goes on at the target.
    """

    def __init__(self, source: str, action: str, starts: list[str], meet: str | None) -> None:
        self.source = source
        self.action = action
        self.starts = starts
        self.meet = meet
        self.branches: list[set[str]] = []
        self.exits: list[tuple[str, str]] = []


def distances(starts: Iterable[str], follow: Callable[[str], Iterable[str]]) -> dict[str, int]:
    """Return the steps that can be reached from `starts`, nearest first, each with its distance from the nearest start.

    `follow` returns the steps right after a step.
    """
    found = dict.fromkeys(starts, 0)
    todo = list(found)
    for id in todo:
        new = [each for each in dict.fromkeys(follow(id)) if each not in found]
        found |= dict.fromkeys(new, found[id] + 1)
        todo += new
    return found


class Graph:
    """The edges between known steps. `first` is the step that starts; `next` has the targets of each step by action."""

    def __init__(self, ids: list[str], edges: Iterable[Edge]) -> None:
        self.ids = ids
        self.first = ids[0] if ids else None
        self.next: dict[str, dict[str, list[str]]] = {id: {} for id in ids}
        self.before: dict[str, list[str]] = {id: [] for id in ids}
        for edge in edges:
            if edge.source in self.next and edge.target in self.next:
                targets = self.next[edge.source].setdefault(edge.action, [])
                if edge.target not in targets:
                    targets.append(edge.target)
                    self.before[edge.target].append(edge.source)
        self.order = self._find_order()
        """The steps that are reached, each after those that lead to it, as far as loops allow."""
        self.reached = set(self.order)
        self.positions = {id: n for n, id in enumerate(dict.fromkeys([*self.order, *ids]))}
        """The position of each step in that order; steps that are not reached come last."""
        self.heads = self._find_heads()
        """The first step of the chain of each step. No edge enters or leaves a chain midway."""
        # Reachability is kept by chain, not by step: a flow of thousands of steps has few chains.
        self._bits = {id: 1 << n for n, id in enumerate(dict.fromkeys(self.heads.values()))}
        self._leading: dict[bool, dict[str, int]] = {}
        self._before_first: dict[str, set[str]] = {}
        self._forks: list[Fork] | None = None

    def _find_heads(self) -> dict[str, str]:
        heads: dict[str, str] = {}
        for id in self.positions:
            before = self.before[id][0] if len(self.before[id]) == 1 else id
            heads[id] = heads.get(before, id) if self.after(before) == [id] else id
        return heads

    def after(self, id: str, *, past_errors: bool = True) -> list[str]:
        """Return every step that an edge leads to from this one."""
        actions = self.next[id].items()
        found = (target for action, targets in actions if past_errors or action != ERROR for target in targets)
        return list(dict.fromkeys(found))

    def reach(self, start: str | None, *stops: str | None, past_errors: bool = True) -> dict[str, int]:
        """Return the steps from `start` on, but not past `stops`, each with its distance in edges."""
        starts = [] if start is None else [start]
        return distances(starts, lambda id: [] if id in stops else self.after(id, past_errors=past_errors))

    def may_precede(self, one: str, other: str, *, past_loops: bool = True) -> bool:
        """Return True if one step may run before the other; without `past_loops`, edges that go back do not count."""
        if past_loops not in self._leading:
            self._leading[past_loops] = self._find_leading(past_loops=past_loops)
        head, goal = self.heads[one], self.heads[other]
        is_before = head == goal and self.positions[one] < self.positions[other]
        return is_before or bool(self._leading[past_loops][goal] & self._bits[head])

    def may_precede_first(self, one: str, other: str) -> bool:
        """Return True if one step may run before the first visit of the other, not only in a later turn of a loop."""
        if not self.may_precede(one, other) or not self.may_precede(other, other):
            return self.may_precede(one, other)
        head = self.heads[other]
        if self.heads[one] == head:
            return self.positions[one] < self.positions[other]
        if head not in self._before_first:
            self._before_first[head] = set(self.reach(self.first, head))
        return one in self._before_first[head]

    def _find_leading(self, *, past_loops: bool) -> dict[str, int]:
        """Return, for the head of each chain, the bits of the chains that lead to it."""
        positions, heads, bits = self.positions, self.heads, self._bits
        found = dict.fromkeys(bits, 0)
        while True:
            known = dict(found)
            for id in found:
                for each in self.before[id]:
                    if past_loops or positions[each] < positions[id]:
                        found[id] |= found[heads[each]] | bits[heads[each]]
            if found == known or not past_loops:
                return found

    def _find_order(self) -> list[str]:
        # Depth first, but without recursion: a flow may have thousands of steps in a row.
        seen = {self.first}
        done: list[str] = []
        stack = [] if self.first is None else [(self.first, iter(self.after(self.first)[::-1]))]
        while stack:
            id, rest = stack[-1]
            target = next((each for each in rest if each not in seen), None)
            if target is None:
                done.append(id)
                stack.pop()
            else:
                seen.add(target)
                stack.append((target, iter(self.after(target)[::-1])))
        return done[::-1]

    def loops(self) -> list[list[str]]:
        """Return the steps of each loop, which all lead to one another."""
        loops: dict[int, list[str]] = {}
        for id in self.order:
            if self.may_precede(id, id):
                loops.setdefault(self._leading[True][self.heads[id]], []).append(id)
        return list(loops.values())

    def forks(self) -> list[Fork]:
        """Return every fork, in the order of the steps, nested ones included."""
        if self._forks is None:
            actions = ((id, action, targets) for id in self.ids for action, targets in self.next[id].items())
            self._forks = [self._fork(id, action, targets) for id, action, targets in actions if len(targets) > 1]
        return self._forks

    def _fork(self, source: str, action: str, starts: list[str]) -> Fork:
        """Make a fork.

        Steps that only one branch's failures lead to, and that lead on to the meeting step, belong to that branch. Any
        other `error` edge is an exit.
        """
        reached = [self.reach(start, source, past_errors=False) for start in starts]
        common = set(reached[0]).intersection(*reached[1:]) - {source}
        # The nearest step that all branches lead to; of two equally near ones, the first in the flow.
        position = {id: at for at, id in enumerate(self.ids)}
        meet = min(common, key=lambda id: (max(each[id] for each in reached), position[id])) if common else None
        outside = {meet, source}
        every = [set(self.reach(start, meet, source)) - outside for start in starts]
        fork = Fork(source, action, starts, meet)
        shared: dict[str, int] = {}
        for id in [id for each in every for id in each]:
            shared[id] = shared.get(id, 0) + 1
        for start, steps in zip(starts, every, strict=True):
            branch = set(self.reach(start, meet, source, past_errors=False)) - outside
            own = {id for id in steps - branch if shared[id] == 1 and (meet is None or meet in self.reach(id))}
            fork.branches.append(branch | own)
        for branch in fork.branches:
            edges = [(id, target) for id in sorted(branch) for target in self.next[id].get(ERROR, [])]
            fork.exits += [edge for edge in edges if edge[1] not in branch and edge[1] != meet]
        return fork

    def open_edges(self, fork: Fork) -> list[tuple[str, str]]:
        """Return the edges that enter or leave a branch, but not at its start, at the meeting step or at an exit."""
        crossing = []
        for start, branch in zip(fork.starts, fork.branches, strict=True):
            for id in self.ids:
                for target in self.after(id):
                    enters = target in branch and id not in branch and (id, target) != (fork.source, start)
                    leaves = id in branch and target not in branch and target != fork.meet
                    if (enters or leaves) and (id, target) not in fork.exits:
                        crossing.append((id, target))
        return crossing


Writes = dict[tuple[str, str], "Write"]
Made = tuple[int, "Write"]

END = ""
"""Stands for the end of the flow where a step's id is expected."""


class Write:
    """A write of a step to the store: its key, its place there (`target`), and its `field` if it is declared.

    `is_data` is True for a data flag (`inputs`), which is stored only if nothing is at its place yet.
    """

    def __init__(self, step: str, key: str, target: Path, field: Field | None, *, is_data: bool = False) -> None:
        self.step = step
        self.key = key
        self.target = target
        self.field = field
        self.is_data = is_data


def latest(writes: Iterable[Write]) -> list[Write]:
    """Return the writes that a name means: the writes of steps, or if there are none, those of data flags."""
    every = list(writes)
    return [write for write in every if not write.is_data] or every


class ReachingWrites:
    """The writes that reach each step of a flow and its end (END), by name: what compilers call reaching definitions.

    A name is followed through the graph only when somebody asks for it, and by chains: its writes change only where a
    step writes it and where chains meet. `stored` are the writes in the order of the graph, each with its name.
    """

    def __init__(self, graph: Graph, stored: Iterable[tuple[Path, Write]]) -> None:
        self._graph = graph
        self._chains = [id for id in graph.order if graph.heads[id] == id]
        self._has_loops = bool(graph.loops())
        self.made: dict[str | int, dict[Path, dict[str, list[Made]]]] = {}
        """For each name, by its root, the writes of each chain (by its head), with the positions of their steps."""
        self._entering: dict[Path, dict[str, Writes]] = {}
        """For each name that was followed, the writes that reach each chain."""
        for name, write in stored:
            there = self.made.setdefault(name[0], {}).setdefault(name, {})
            made = there.setdefault(graph.heads[write.step], [])
            if not (write.is_data and made):  # the chain has written the name, so the flag is never stored
                made.append((graph.positions[write.step], write))

    def at(self, id: str, name: Path) -> Writes:
        """Return the writes that a step may find under exactly this name when it begins."""
        if name not in self.made.get(name[0], {}):
            return {}
        if id == END:
            return self._at_end(name)
        return self._around(name, id) if id in self._graph.reached else {}

    def _at_end(self, name: Path) -> Writes:
        """Return the writes that are there at the end: after the last steps, or anywhere in a flow with loops."""
        if self._has_loops:
            made = self.made[name[0]][name].values()
            return {(write.step, write.key): write for each in made for _, write in each}
        return _merged(self._around(name, id, is_past=True) for id in self._graph.order if not self._graph.after(id))

    def _around(self, name: Path, id: str, *, is_past: bool = False) -> Writes:
        """Return the writes before a step, or past it: the last in its chain; if that is data, earlier ones too."""
        head = self._graph.heads[id]
        made = self.made[name[0]][name].get(head, [])
        count = bisect_left(made, (self._graph.positions[id] + is_past,))
        if not count:
            return self._into(name, head)
        write = made[count - 1][1]
        own = {(write.step, write.key): write}
        return {**self._into(name, head), **own} if write.is_data else own

    def _into(self, name: Path, head: str) -> Writes:
        """Return the writes that enter a chain: follow the name through the graph until nothing changes."""
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
