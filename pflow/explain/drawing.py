"""A flow drawn in lines: its steps one below the other, edges between them as lines that can be followed.

Beside a step, a line that ends in ◀ arrives there; below it, one that begins with ├ or ╰ leaves it. Lines turn and meet
at ╮, ╯ and ┤, and only cross at ┼.
"""

from __future__ import annotations

from pflow.explain.lanes import Routes
from pflow.terminal.columns import cells, clean, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.explain.lanes import Lane, Port
    from pflow.flow.wired import WiredFlow, WiredStep

_APART = 3
"""Columns from one lane to the next."""


def draw(plan: WiredFlow, width: int) -> str:
    """The drawing, a step a line; lanes go past `width` where there are too many for it."""
    as_run = list(dict.fromkeys([*plan.graph.order(), *plan.steps]))
    routes = min((Routes(plan.graph, order) for order in (list(plan.steps), as_run)), key=lambda routes: routes.aside)
    return "".join(f"{line}\n" for line in _Drawing(plan, routes, width).lines())


class _Drawing:
    def __init__(self, plan: WiredFlow, routes: Routes, width: int) -> None:
        self.plan = plan
        self.routes = routes
        self.texts: list[str] = []
        self.joins: list[tuple[Lane, bool] | None] = []
        """For each row, the lane that joins it, and whether it arrives there."""
        self.row_of: dict[str, int] = {}
        self.digits = len(str(len(plan.steps)))
        self.longest = max(width // 2, 24)
        self.meeting = {fork.meet for fork in plan.graph.forks()}
        self.reached = plan.graph.reach(plan.graph.first)
        for id in routes.order:
            self._add_step(id)

    def _add_step(self, id: str) -> None:
        self.row_of[id] = len(self.texts)
        lane = self.routes.arriving.get(id)
        self._add(self._step_text(self.plan.steps[id]), (lane, True) if lane else None)
        action = self.routes.down.get(id)
        ports = self.routes.ports[id]
        for port in ports:
            port.row = len(self.texts)
            is_last = action is None and port is ports[-1]
            self._add(self._port_text(port, is_last=is_last), (port.lane, False))
        if id != self.routes.order[-1]:
            label = "" if action in (None, "default") else f" {self._shown(action or '')}"
            self._add(self._margin("" if action is None else f"│{label}"), None)

    def _add(self, text: str, join: tuple[Lane, bool] | None) -> None:
        self.texts.append(text)
        self.joins.append(join)

    def _margin(self, text: str) -> str:
        return (" " * (self.digits - 1) + text).rstrip()

    def _shown(self, text: str) -> str:
        return shorten(clean(text), self.longest - 8)

    def _step_text(self, wired: WiredStep) -> str:
        text = f"{wired.number:>{self.digits}} {clean(wired.id)}"
        if wired.step.type != wired.id:
            text += f" ({clean(wired.step.type)})"
        if wired.kind is None:
            text += " ?"
        if wired.step.batch is not None:
            text += f" × {clean(wired.step.batch.over)}"
        if wired.id in self.meeting:
            text += " · all meet"
        if wired.id not in self.reached:
            text += " · never runs"
        return shorten(text, self.longest)

    def _port_text(self, port: Port, *, is_last: bool) -> str:
        words = [] if port.action == "default" else [self._shown(port.action)]
        words += ["at once"] if port.count > 1 else []
        label = f" {', '.join(words)} " if words else ""
        return self._margin("╰─" if is_last else "├─") + label

    def lines(self) -> list[str]:
        count = self.routes.place(self.row_of)
        first = max(
            (cells(text) + (4 if join else 2) for text, join in zip(self.texts, self.joins, strict=True)), default=0
        )
        lanes: list[list[Lane]] = [[] for _ in range(count)]
        for lane in self.routes.lanes:
            lanes[lane.number].append(lane)
        return [self._line(row, first, lanes) for row in range(len(self.texts))]

    def _line(self, row: int, first: int, lanes: list[list[Lane]]) -> str:
        text, join = self.texts[row], self.joins[row]
        joined = join[0].number if join else -1
        if join is not None and join[1]:
            text += " ◀"
        filler = "─" if join else " "
        text += filler * (first - cells(text))
        for number, there in enumerate(lanes):
            lane = next((lane for lane in there if lane.rows[0] <= row <= lane.rows[-1]), None)
            on_the_way = number < joined
            if number == joined and lane is not None:
                text += _corner(lane, row)
            else:
                text += "┼" if lane and on_the_way else "│" if lane else "─" if on_the_way else " "
            text += ("─" if on_the_way else " ") * (_APART - 1)
        return text.rstrip()


def _corner(lane: Lane, row: int) -> str:
    if row == lane.rows[0]:
        return "╮"
    return "╯" if row == lane.rows[-1] else "┤"
