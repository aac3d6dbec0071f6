"""Where the lines of a drawing run: the edges that go straight down, and a lane for each of the others.

Steps stand one below the other. An edge to the next of them goes straight down; any other runs in a lane beside them. A
lane holds either the edges of one fork, which go out together, or the edges that arrive at one step together.
"""

from __future__ import annotations

from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.graph import Graph

    Edge = tuple[str, str, str]
    """From a step, by an action, to a step."""


class Port:
    """Where a step's edges leave it for a lane: their action, how many leave at once, and the lane."""

    __slots__ = ("action", "count", "lane", "row")

    def __init__(self, action: str, count: int, lane: Lane) -> None:
        self.action = action
        self.count = count
        self.lane = lane
        self.row = 0
        lane.ports.append(self)


class Lane:
    """A line beside the steps, from the rows of its ports to the rows of its targets. `number` is its place."""

    def __init__(self) -> None:
        self.ports: list[Port] = []
        self.targets: list[str] = []
        self.number = 0
        self.rows: list[int] = []
        """Every row where something joins it, from the first to the last."""


class Routes:
    """How the edges of a graph run between steps in this order.

    `down` gives the action of an edge straight down, `aside` counts the others.
    """

    def __init__(self, graph: Graph, order: list[str]) -> None:
        self.order = order
        self.down: dict[str, str] = {}
        self.ports: dict[str, list[Port]] = {id: [] for id in order}
        self.arriving: dict[str, Lane] = {}
        self.lanes: list[Lane] = []
        below = dict(pairwise(order))
        aside = [edge for id in order for edge in self._aside(graph, id, below.get(id))]
        self.aside = len(aside)
        self._route(aside, graph)

    def _aside(self, graph: Graph, id: str, below: str | None) -> list[Edge]:
        """The edges of a step that need a lane: all but the one to the step below, unless that is part of a fork."""
        aside = []
        for action, targets in graph.next[id].items():
            if targets == [below] and id not in self.down:
                self.down[id] = action
            else:
                aside += [(id, action, target) for target in targets]
        return aside

    def _route(self, aside: list[Edge], graph: Graph) -> None:
        arriving: dict[str, list[Edge]] = {}
        for edge in aside:
            arriving.setdefault(edge[2], []).append(edge)
        out: dict[tuple[str, str], list[str]] = {}
        for id, action, target in aside:
            count = len(graph.next[id][action])
            if len(arriving[target]) > 1:
                self._add(id, action, count, self._lane_to(target))
            else:
                out.setdefault((id, action), []).append(target)
        for (id, action), targets in out.items():
            lane = Lane()
            self.lanes.append(lane)
            lane.targets = targets
            self.arriving.update(dict.fromkeys(targets, lane))
            self._add(id, action, len(graph.next[id][action]), lane)

    def _lane_to(self, target: str) -> Lane:
        if target not in self.arriving:
            lane = self.arriving[target] = Lane()
            lane.targets = [target]
            self.lanes.append(lane)
        return self.arriving[target]

    def _add(self, id: str, action: str, count: int, lane: Lane) -> None:
        self.ports[id].append(Port(action, count, lane))

    def place(self, row_of: dict[str, int]) -> int:
        """Give each lane its place, the short ones inside, once the rows are known. Returns how many places there are.

        Lanes that share a place are apart by a row at least.
        """
        for lane in self.lanes:
            lane.rows = sorted([*(port.row for port in lane.ports), *(row_of[target] for target in lane.targets)])
        taken: list[list[Lane]] = []
        for lane in sorted(self.lanes, key=lambda lane: (lane.rows[-1] - lane.rows[0], lane.rows[0])):
            lane.number = next((n for n, others in enumerate(taken) if _is_free(others, lane)), len(taken))
            if lane.number == len(taken):
                taken.append([])
            taken[lane.number].append(lane)
        return len(taken)


def _is_free(others: list[Lane], lane: Lane) -> bool:
    return all(lane.rows[0] > other.rows[-1] + 1 or other.rows[0] > lane.rows[-1] + 1 for other in others)
