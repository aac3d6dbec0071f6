"""Steps and edges as a graph: what leads where, loops, and forks with the step where their branches meet."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pflow.flow.flow import Edge


class Fork:
    """Several edges of one action: `branches` holds the steps of each, `meet` where they go on as one, if anywhere."""

    __slots__ = ("action", "branches", "meet", "source", "starts")

    def __init__(self, source: str, action: str, starts: list[str], branches: list[set[str]], meet: str | None) -> None:
        self.source = source
        self.action = action
        self.starts = starts
        self.branches = branches
        self.meet = meet


class Graph:
    """The edges between known steps. `first` starts; `next` gives the targets of each action of a step."""

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

    def after(self, id: str) -> list[str]:
        """Every step that an edge leads to from this one."""
        return list(dict.fromkeys(target for targets in self.next[id].values() for target in targets))

    def reach(self, start: str | None, stop: str | None = None) -> dict[str, int]:
        """How many edges away from `start` each step is that it leads to, itself included, never past `stop`."""
        distance: dict[str, int] = {} if start is None else {start: 0}
        todo = list(distance)
        for id in todo:
            if id == stop:
                continue
            for target in self.after(id):
                if target not in distance:
                    distance[target] = distance[id] + 1
                    todo.append(target)
        return distance

    def order(self) -> list[str]:
        """The steps that are reached, each after those that lead to it, as far as loops allow."""
        seen: set[str] = set()
        done: list[str] = []
        stack: list[tuple[str, list[str]]] = []
        if self.first is not None:
            seen.add(self.first)
            stack.append((self.first, self.after(self.first)[::-1]))
        while stack:
            id, rest = stack[-1]
            if not rest:
                done.append(id)
                stack.pop()
                continue
            target = rest.pop(0)
            if target not in seen:
                seen.add(target)
                stack.append((target, self.after(target)[::-1]))
        return done[::-1]

    def loops(self) -> list[list[str]]:
        """The steps of each loop: those that lead to one another."""
        order = self.order()
        seen: set[str] = set()
        loops = []
        for id in order:
            if id in seen:
                continue
            group = self._leading_to(id, seen)
            seen.update(group)
            if len(group) > 1 or id in self.after(id):
                loops.append([each for each in order if each in group])
        return loops

    def _leading_to(self, id: str, without: set[str]) -> set[str]:
        """The steps that lead to this one and are not in `without`: its loop, when taken in the order of `order`."""
        group = {id}
        todo = [id]
        for each in todo:
            for source in self.before[each]:
                if source not in group and source not in without and source in self.next:
                    group.add(source)
                    todo.append(source)
        return group

    def forks(self) -> list[Fork]:
        """Every fork, in the order of the steps, nested ones included."""
        found = []
        for id in self.ids:
            for action, targets in self.next[id].items():
                if len(targets) > 1:
                    found.append(self._fork(id, action, targets))
        return found

    def _fork(self, source: str, action: str, starts: list[str]) -> Fork:
        reached = [self.reach(start) for start in starts]
        common = set(reached[0]).intersection(*reached[1:])
        place = {id: at for at, id in enumerate(self.ids)}
        far = {id: max(each[id] for each in reached) for id in common}
        meet = min(common, key=lambda id: (far[id], place[id])) if common else None
        branches = [set(self.reach(start, meet)) - {meet} for start in starts]
        return Fork(source, action, starts, [{id for id in branch if id is not None} for branch in branches], meet)

    def open_edges(self, fork: Fork) -> list[tuple[str, str]]:
        """The edges that enter or leave a branch elsewhere than at its start and the meeting step."""
        crossing = []
        for start, branch in zip(fork.starts, fork.branches, strict=True):
            for id in self.ids:
                for target in self.after(id):
                    enters = target in branch and id not in branch and (id, target) != (fork.source, start)
                    leaves = id in branch and target not in branch and target != fork.meet
                    if enters or leaves:
                        crossing.append((id, target))
        return crossing
