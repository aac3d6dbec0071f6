"""Which step may run before which: the ways through a flow's graph, its loops and the branches of its forks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.graph import Graph


class Ways:
    """The ways through a graph. `order` are the steps that are `reached`, each after those that lead to it.

    `loop_of` gives the steps of the loop that one stands on. Each of `forks` comes with the edges that enter or leave
    its branches where they must not; the steps of such branches are `tangled`.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.order = graph.order()
        self.place = {id: n for n, id in enumerate(self.order)}
        self.reached = self.place.keys()
        self.loops = graph.loops()
        self.loop_of = {id: loop for loop in map(set, self.loops) for id in loop}
        self.forks = [(fork, graph.open_edges(fork)) for fork in graph.forks()]
        self.tangled = {id for fork, crossing in self.forks if crossing for branch in fork.branches for id in branch}
        self.bits = {id: 1 << n for n, id in enumerate(dict.fromkeys(graph.ids))}
        self.before = self._masks(with_ways_back=True)
        """For each step those that may run before it, as bits."""
        self._ahead = self._masks(with_ways_back=False) if self.loops else self.before
        self._rounds: dict[tuple[str, str], bool] = {}

    def _masks(self, *, with_ways_back: bool) -> dict[str, int]:
        """The steps that lead to each. A way back is an edge to a step that stands earlier in order."""
        before = {
            id: [each for each in self.graph.before[id] if self.place.get(each, n) < n or with_ways_back]
            for id, n in self.place.items()
        }
        masks = dict.fromkeys(self.bits, 0)
        changed = True
        while changed:
            changed = False
            for id in self.order:
                mask = masks[id]
                for each in before[id]:
                    mask |= masks[each] | self.bits[each]
                changed = changed or (with_ways_back and bool(self.loops) and mask != masks[id])
                masks[id] = mask
        return masks

    def may_precede(self, one: str, other: str) -> bool:
        """Whether one step may run before the other, ways back of loops included."""
        return bool(self.before[other] & self.bits[one])

    def leads_to(self, one: str, other: str) -> bool:
        """Whether one step runs before the other on a path that takes no way back."""
        return bool(self._ahead[other] & self.bits[one])

    def comes_round(self, id: str, without: str) -> bool:
        """Whether a step stands on a loop that does not pass the other: what it writes is for the next time round."""
        loop = self.loop_of.get(id)
        if loop is None or without not in loop:
            return loop is not None
        if (id, without) not in self._rounds:
            self._rounds[id, without] = self._leads_back(id, without, loop)
        return self._rounds[id, without]

    def _leads_back(self, id: str, without: str, loop: set[str]) -> bool:
        seen = {without}
        todo = self.graph.after(id)
        for each in todo:
            if each == id:
                return True
            if each not in seen and each in loop:
                seen.add(each)
                todo += self.graph.after(each)
        return False
