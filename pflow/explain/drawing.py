"""A flow drawn in lines: its steps one below the other, edges between them as lines that can be followed.

An edge to the step below goes straight down. Any other edge runs in a lane beside the steps: a line that ends in ◀
arrives at a step, one that begins with ├ or ╰ leaves it. Lines turn and meet at ╮, ╯ and ┤, and only cross at ┼.
"""

from dataclasses import dataclass, field
from itertools import pairwise

from pflow.flow.graph import Graph
from pflow.flow.wired import WiredFlow, WiredStep
from pflow.terminal.columns import cells, clean, shorten

_APART = 3
"""Columns from one lane to the next."""


@dataclass
class _Lane:
    """A line beside the steps: the edges of one fork, which leave together, or those that arrive together at a step."""

    targets: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    """Every row where something joins it, sorted once all are known."""
    number: int = 0
    """Its column, counted from the steps."""


@dataclass
class _Port:
    """Where edges leave a step for a lane: their action, and how many leave together."""

    action: str
    count: int
    lane: _Lane


class _Routes:
    """How the edges of a graph run between steps in this order. `aside` counts those that need a lane."""

    def __init__(self, graph: Graph, order: list[str]) -> None:
        self.graph = graph
        self.order = order
        self.down: dict[str, str] = {}
        """The action of each edge that goes straight down, by the step that it leaves."""
        self.ports: dict[str, list[_Port]] = {id: [] for id in order}
        self.arriving: dict[str, _Lane] = {}
        self.lanes: list[_Lane] = []
        below = dict(pairwise(order))
        edges = [edge for id in order for edge in self._edges_aside(id, below.get(id))]
        self.aside = len(edges)
        targets = [target for _, _, target in edges]
        leaving: dict[tuple[str, str], _Lane] = {}
        for id, action, target in edges:
            if targets.count(target) > 1:
                lane = self._lane_to(target, self.arriving.get(target))
                self._add_port(id, action, lane)
            elif (id, action) in leaving:
                self._lane_to(target, leaving[id, action])
            else:
                leaving[id, action] = self._lane_to(target, None)
                self._add_port(id, action, leaving[id, action])

    def _edges_aside(self, id: str, below: str | None) -> list[tuple[str, str, str]]:
        """The edges of a step that need a lane: all but one to the step below, unless that is part of a fork."""
        aside = []
        for action, targets in self.graph.next[id].items():
            if targets == [below] and id not in self.down:
                self.down[id] = action
            else:
                aside += [(id, action, target) for target in targets]
        return aside

    def _lane_to(self, target: str, lane: _Lane | None) -> _Lane:
        """Let a lane, a new one where there is none, arrive at a step."""
        if lane is None:
            lane = _Lane()
            self.lanes.append(lane)
        if target not in lane.targets:
            lane.targets.append(target)
        self.arriving[target] = lane
        return lane

    def _add_port(self, id: str, action: str, lane: _Lane) -> None:
        self.ports[id].append(_Port(action, len(self.graph.next[id][action]), lane))

    def number_lanes(self) -> list[list[_Lane]]:
        """The lanes of each column, short ones inside. Lanes in one column are apart by a row at least."""
        columns: list[list[_Lane]] = []
        for lane in self.lanes:
            lane.rows.sort()
        for lane in sorted(self.lanes, key=lambda lane: (lane.rows[-1] - lane.rows[0], lane.rows[0])):
            lane.number = next((n for n, others in enumerate(columns) if _is_free(others, lane)), len(columns))
            if lane.number == len(columns):
                columns.append([])
            columns[lane.number].append(lane)
        return columns


def _is_free(others: list[_Lane], lane: _Lane) -> bool:
    return all(lane.rows[0] > other.rows[-1] + 1 or other.rows[0] > lane.rows[-1] + 1 for other in others)


def draw(flow: WiredFlow, width: int) -> str:
    """The drawing, a step a line; lanes go past `width` where there are too many for it."""
    as_run = list(dict.fromkeys([*flow.graph.order(), *flow.steps]))
    routes = min((_Routes(flow.graph, order) for order in (list(flow.steps), as_run)), key=lambda routes: routes.aside)
    return "".join(f"{line}\n" for line in _Drawing(flow, routes, width).lines())


class _Drawing:
    def __init__(self, flow: WiredFlow, routes: _Routes, width: int) -> None:
        self.flow = flow
        self.routes = routes
        self.rows: list[tuple[str, _Lane | None, bool]] = []
        """For each row its text, the lane that joins it, and whether that arrives there."""
        self.digits = len(str(len(flow.steps)))
        self.longest = max(width // 2, 24)
        self.meeting = {fork.meet for fork in flow.graph.forks()}
        self.reached = flow.graph.reach(flow.graph.first)
        for id in routes.order:
            self._add_step(id)

    def _add_step(self, id: str) -> None:
        self._add(self._step_text(self.flow.steps[id]), self.routes.arriving.get(id), arrives=True)
        action, ports = self.routes.down.get(id), self.routes.ports[id]
        for port in ports:
            is_last = action is None and port is ports[-1]
            self._add(self._port_text(port, is_last=is_last), port.lane)
        if id != self.routes.order[-1]:
            label = "" if action in (None, "default") else f" {self._shown(action or '')}"
            self._add(self._margin("" if action is None else f"│{label}"))

    def _add(self, text: str, lane: _Lane | None = None, *, arrives: bool = False) -> None:
        if lane is not None:
            lane.rows.append(len(self.rows))
        self.rows.append((text, lane, arrives))

    def _margin(self, text: str) -> str:
        return (" " * (self.digits - 1) + text).rstrip()

    def _shown(self, text: str) -> str:
        return shorten(clean(text), self.longest - 8)

    def _step_text(self, step: WiredStep) -> str:
        notes = [
            (step.step.type != step.id, f" ({clean(step.step.type)})"),
            (step.kind is None, " ?"),
            (step.step.batch is not None, f" × {clean(step.step.batch.over)}" if step.step.batch else ""),
            (step.id in self.meeting, " · all meet"),
            (step.id not in self.reached, " · never runs"),
        ]
        text = f"{step.number:>{self.digits}} {clean(step.id)}" + "".join(note for holds, note in notes if holds)
        return shorten(text, self.longest)

    def _port_text(self, port: _Port, *, is_last: bool) -> str:
        words = [] if port.action == "default" else [self._shown(port.action)]
        words += ["at once"] if port.count > 1 else []
        label = f" {', '.join(words)} " if words else ""
        return self._margin("╰─" if is_last else "├─") + label

    def lines(self) -> list[str]:
        columns = self.routes.number_lanes()
        start = max((cells(text) + (4 if lane else 2) for text, lane, _ in self.rows), default=0)
        return [self._line(row, start, columns) for row in range(len(self.rows))]

    def _line(self, row: int, start: int, columns: list[list[_Lane]]) -> str:
        text, joined, arrives = self.rows[row]
        text += " ◀" if arrives and joined else ""
        text += ("─" if joined else " ") * (start - cells(text))
        for number, lanes in enumerate(columns):
            lane = next((lane for lane in lanes if lane.rows[0] <= row <= lane.rows[-1]), None)
            passes = joined is not None and number < joined.number
            if lane is not None and lane is joined:
                text += _corner(lane, row)
            else:
                text += "┼" if lane and passes else "│" if lane else "─" if passes else " "
            text += ("─" if passes else " ") * (_APART - 1)
        return text.rstrip()


def _corner(lane: _Lane, row: int) -> str:
    if row == lane.rows[0]:
        return "╮"
    return "╯" if row == lane.rows[-1] else "┤"
