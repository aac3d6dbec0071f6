"""The drawings on a page: the timeline, with a bar for each visit of a step, and the graph of the flow."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from pflow.errors import PflowError
from pflow.flow.flow import Edge
from pflow.flow.graph import Graph
from pflow.flow.ir import load_document
from pflow.record.log import Event
from pflow.record.runs import DONE, RUNNING
from pflow.record.trace import Trace, TracedVisit, facts_of
from pflow.text.printable import from_one
from pflow.values.jsontext import encode
from pflow.values.usage import amount

MOST_ITEMS = 500
"""The most items of one batch that are drawn; of a larger batch, a sample is drawn."""
PARTLY = "partly"
"""The state of a batch in which some items failed; the other states are those of a visit."""
_HIGHEST = 160
_MOST_VALUES = 50_000
"""The most characters that the values of all visits together take on a page."""
_LONGEST_VALUE = 4000

WHOLE = 100.0
_TICKS = 5
_LAST = 95.0
"""The last position on the time line at which a written time fits."""
_STEPS = (1, 2, 5)

BOX = (190, 40)
"""The width and height of a step's box, in pixels."""
_LANE = 16
"""The width of the gap for an edge that passes between the boxes of a row, in pixels."""
_GAP, _ROW, _BULGE = 24, 66, 70

Cell = tuple[str, int]
"""A place in a row of the drawing: a step's id with its row, or `\\0` and an edge's number with a row it passes."""


class Axis:
    """The time line of a run, with positions from 0 to 100; the pauses of a resumed run are left out.

    `parts` are the beginning and end of each part, in seconds; `cuts` are the positions where later parts begin.
    """

    def __init__(self, trace: Trace, now: float, moments: Sequence[float] = ()) -> None:
        """`moments` are times that the line must cover in addition to those of the events."""
        end: float = max([now if trace["status"] == RUNNING else trace["last"], *moments])
        resumed = [event["time"] for event in trace["events"] if event.get("event") == "resume"]
        timed = sorted([*(event["time"] for event in trace["events"] if "event" in event), *moments, end])
        self.parts: list[tuple[float, float]] = []
        for begin, limit in zip([trace["began"], *resumed], [*resumed, end + 1], strict=True):
            self.parts.append((begin, max([begin, *(moment for moment in timed if begin <= moment < limit)])))
        self.seconds = sum(end - begin for begin, end in self.parts) or 1e-3
        self.cuts = [self.at(begin) for begin, _ in self.parts[1:]]

    def at(self, moment: float) -> float:
        """Return the position of a moment. A moment in a pause has the position of the cut."""
        before = 0.0
        for begin, end in self.parts:
            if moment <= end:
                return (before + max(0.0, moment - begin)) / self.seconds * WHOLE
            before += end - begin
        return WHOLE

    def span(self, begin: float, end: float) -> tuple[float, float]:
        """Return the position of `begin`, and the width up to `end`."""
        left = self.at(begin)
        return left, max(self.at(end) - left, 0.0)

    def ticks(self) -> list[tuple[float, float]]:
        """Return the round times to write on the line: position and milliseconds of each."""
        power = 10.0 ** (len(f"{self.seconds * 1000 / _TICKS:.0f}") - 1)
        step = next((power * each for each in _STEPS if self.seconds * 1000 / (power * each) <= _TICKS), power * 10)
        places = [(step * n / 10 / self.seconds, step * n) for n in range(int(self.seconds * 1000 / step) + 1)]
        return [each for each in places if each[0] < _LAST]


@dataclass
class Access:
    """A read or write: its key, the path that its value came from or went to, and the `number` of the writing visit."""

    key: str
    path: str
    number: int | None = None
    value: str | None = None


@dataclass
class Mark:
    """A try on a bar, or an item: its position from 0 to 100, its width, its lane, its state, and words about it."""

    left: float
    width: float
    state: str
    words: str
    lane: int = 0


@dataclass
class Row:
    """A visit: its bar from 0 to 100, its depth in subflows, its reads and writes, and the items of a batch."""

    visit: TracedVisit
    depth: int
    left: float
    width: float
    facts: list[str]
    reads: list[Access]
    writes: list[Access]
    tries: list[Mark]
    items: list[Mark] = field(default_factory=list)
    lanes: int = 0
    left_out: int = 0

    @property
    def height(self) -> int:
        """The height of the items, in pixels."""
        return min(self.lanes * 8, _HIGHEST)

    @property
    def state(self) -> str:
        if _is_cached(self.visit):
            return "cached"
        has_failures = (self.visit.get("items") or {}).get("failed") and self.visit["state"] == DONE
        return PARTLY if has_failures else str(self.visit["state"])

    @property
    def message(self) -> str:
        return str(self.visit.get("message", ""))


def rows_of(trace: Trace, axis: Axis, now: float, values: dict[int, dict[str, Any]]) -> list[Row]:
    """Return a row for each visit. `values` are the known values that the visits wrote, by number, then by path."""
    writers: dict[tuple[Any, Any], dict[str, int]] = {}  # by store: each visit or item of a subflow has its own
    depths = {0: -1}
    longest = min(_LONGEST_VALUE, _MOST_VALUES // max(sum(map(len, values.values())), 1))
    rows = []
    for visit in trace["execution_trace"]:
        number, kept = visit["number"], values.get(visit["number"], {})
        depths[number] = depths[visit.get("outer", 0)] + 1
        known = writers.setdefault((visit.get("outer"), visit.get("item")), {})
        left, width = axis.span(visit["began"], _end(visit, trace, now))
        row = Row(
            visit,
            depths[number],
            left,
            width,
            facts_of(visit, now),
            [Access(key, path, _writer(path, known)) for key, path in _places(visit["reads"], "given")],
            [Access(key, path, value=_text(kept, path, longest)) for key, path in _places(visit["writes"], "")],
            [_try(each, visit, axis) for each in visit.get("tried", ())],
        )
        shown_value = {place.path for place in row.writes}
        row.writes += [Access("", path, value=_text(kept, path, longest)) for path in kept if path not in shown_value]
        known |= dict.fromkeys(visit["write_keys"], number)
        _add_items(row, trace["batch_items"].get(number, []), axis)
        rows.append(row)
    return rows


def _is_cached(about: dict[str, Any]) -> bool:
    return bool(about.get("cache", {}).get("verdict") == "hit")


def _end(visit: TracedVisit, trace: Trace, now: float) -> float:
    if visit["ms"] is not None:
        return float(visit["began"] + visit["ms"] / 1000)
    return now if visit["state"] == RUNNING else float(trace["last"])


def _places(said: dict[str, list[str]], otherwise: str) -> list[tuple[str, str]]:
    return [(key, path) for key, paths in said.items() for path in paths or [otherwise]]


def _writer(path: str, writers: dict[str, int]) -> int | None:
    """Return the last visit that wrote the path, or a value around it."""
    while path and path not in writers:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return writers.get(path)


def _text(kept: dict[str, Any], path: str, longest: int) -> str | None:
    return shown_value(kept[path], longest) if path in kept else None


def shown_value(value: Any, longest: int = _LONGEST_VALUE) -> str:
    """Return a value for a person: a text unchanged, anything else as JSON, cut if it is long."""
    text = value if isinstance(value, str) else encode(value, escape=False).decode("utf-8", "backslashreplace")
    return text if len(text) <= longest else f"{text[:longest]}… +{len(text) - longest:,} characters"


def _try(said: dict[str, Any], visit: TracedVisit, axis: Axis) -> Mark:
    ms = amount(said.get("ms")) or 0
    words = f"a try failed {ms:,.0f} ms after the beginning, with {said.get('exit')}: {said.get('message', '')}"
    return Mark(axis.at(visit["began"] + ms / 1000), 0, "failed", words)


def sample(things: list[Event], most: int) -> list[Event]:
    """Return at most `most` of the things, evenly chosen."""
    return things[:: -(-len(things) // most) or 1]


def _add_items(row: Row, items: list[Event], axis: Axis) -> None:
    """Draw the items of a batch in as many lanes as items ran at once."""
    failed = [each for each in items if "exit" in each][:MOST_ITEMS]
    chosen = failed + sample([each for each in items if "exit" not in each], MOST_ITEMS)
    busy: list[tuple[float, int]] = []
    for event in sorted(chosen, key=lambda event: event["time"] - event.get("ms", 0) / 1000):
        begin = event["time"] - event.get("ms", 0) / 1000
        # A worker begins its next item when it ends one, but the times in events are rounded.
        lane = heapq.heappop(busy)[1] if busy and busy[0][0] <= begin + 1e-4 else len(busy)
        heapq.heappush(busy, (event["time"], lane))
        state = "failed" if "exit" in event else "cached" if _is_cached(event) else "done"
        words = [f"item {from_one(event.get('index', ''))}", f"{event.get('ms', 0):,.0f} ms"]
        words += [f"failed with {event['exit']}: {event.get('message', '')}"] if "exit" in event else []
        words += [f"tries {event['tries']}"] if "tries" in event else []
        row.items.append(Mark(*axis.span(begin, event["time"]), state, ", ".join(words), lane))
    row.lanes, row.left_out = len(busy), len(items) - len(chosen)


def shape_of(ir: Any) -> dict[str, Any]:
    """Return the steps and edges of a flow's IR; empty lists if the IR cannot be read."""
    try:
        flow = load_document(ir, "flow")
    except PflowError:
        return {"nodes": [], "edges": []}
    edges = [{"from": edge.source, "to": edge.target, "action": edge.action} for edge in flow.edges]
    return {"nodes": [{"id": step.id, "type": step.type} for step in flow.steps], "edges": edges}


@dataclass
class DrawnEdge:
    """An edge: its path in SVG, its action, and the position of the action's name."""

    path: str
    action: str
    label: tuple[float, float]
    is_back: bool


@dataclass
class Drawing:
    """The position of the upper left corner of each step's box, the edges, and the size of the drawing."""

    boxes: dict[str, tuple[float, float]] = field(default_factory=dict)
    lines: list[DrawnEdge] = field(default_factory=list)
    width: float = 0
    height: float = 0


def draw(shape: dict[str, Any]) -> Drawing:
    """Draw the steps and edges that `shape_of` returned."""
    ids = [node["id"] for node in shape["nodes"]]
    known = [Edge(edge["from"], edge["to"], edge["action"]) for edge in shape["edges"]]
    known = [edge for edge in known if {edge.source, edge.target} <= {*ids}]
    graph = Graph(ids, known)
    rows = _rows(graph)
    ways = [_route(number, edge, rows) for number, edge in enumerate(known)]
    table: list[list[Cell]] = [[] for _ in range(max(rows.values(), default=-1) + 1)]
    above: dict[Cell, list[Cell]] = {}
    for cell in [*rows.items(), *(cell for way in ways for cell in way[1:-1])]:
        table[cell[1]].append(cell)
    for way in ways:
        for upper, lower in pairwise(way):
            above.setdefault(lower, []).append(upper)
    middles = _middles(table, above)
    margin = _BULGE if any(not way for way in ways) else _GAP
    shift = margin - min((x - _width(cell) / 2 for cell, x in middles.items()), default=0)
    centres = {cell: (x + shift, cell[1] * _ROW + BOX[1] / 2 + 4) for cell, x in middles.items()}
    drawing = Drawing(
        {id: (centres[id, row][0] - BOX[0] / 2, centres[id, row][1] - BOX[1] / 2) for id, row in rows.items()}
    )
    for edge, way in zip(known, ways, strict=True):
        source, target = centres[edge.source, rows[edge.source]], centres[edge.target, rows[edge.target]]
        passed = [source, *(centres[cell] for cell in way[1:-1]), target]
        drawing.lines.append(_down(edge, passed) if way else _back(edge, source, target))
    right = max((x + _width(cell) / 2 for cell, (x, _) in centres.items()), default=0)
    drawing.width = right + margin
    drawing.height = len(table) * _ROW - (_ROW - BOX[1]) + 10
    return drawing


def _route(number: int, edge: Edge, rows: dict[str, int]) -> list[Cell]:
    """Return the cells that an edge passes on its way down, source and target included; none for an edge back."""
    first, last = rows[edge.source], rows[edge.target]
    # No step's id can begin with \0.
    passed = [(f"\0{number}", row) for row in range(first + 1, last)]
    return [(edge.source, first), *passed, (edge.target, last)] if first < last else []


def _rows(graph: Graph) -> dict[str, int]:
    """Return the row of each step: below all steps that lead to it; edges back do not count."""
    rows: dict[str, int] = {}
    for id in graph.positions:
        earlier = [rows[each] + 1 for each in graph.before[id] if graph.positions[each] < graph.positions[id]]
        is_loose = id not in graph.reached
        rows[id] = max(earlier, default=max(rows.values(), default=-1) + 1 if is_loose else 0)
    return rows


def _width(cell: Cell) -> int:
    return _LANE if cell[0].startswith("\0") else BOX[0]


def _middles(table: list[list[Cell]], above: dict[Cell, list[Cell]]) -> dict[Cell, float]:
    """Return the horizontal middle of each cell, around 0. A row has the order of the cells that lead to it."""
    middles: dict[Cell, float] = {}
    for row in table:
        wanted = {cell: [middles[each] for each in above.get(cell, ())] for cell in row}
        row.sort(key=lambda cell: sum(wanted[cell]) / len(wanted[cell]) if wanted[cell] else 0.0)
        x = -(sum(map(_width, row)) + _GAP * (len(row) - 1)) / 2
        if len(row) == 1 and wanted[row[0]]:
            x += sum(wanted[row[0]]) / len(wanted[row[0]])
        for cell in row:
            middles[cell] = x + _width(cell) / 2
            x += _width(cell) + _GAP
    return middles


def _down(edge: Edge, passed: list[tuple[float, float]]) -> DrawnEdge:
    points = [(x, y + BOX[1] / 2 * ((n == 0) - (n == len(passed) - 1))) for n, (x, y) in enumerate(passed)]
    path = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for (x, y), (to_x, to_y) in pairwise(points):
        middle = (y + to_y) / 2
        path += f"C{x:.0f} {middle:.0f} {to_x:.0f} {middle:.0f} {to_x:.0f} {to_y:.0f}"
    (x, y), (to_x, to_y) = points[:2]
    return DrawnEdge(path, edge.action, ((x + to_x) / 2, (y + to_y) / 2), is_back=False)


def _back(edge: Edge, source: tuple[float, float], target: tuple[float, float]) -> DrawnEdge:
    """Draw an edge back in a bulge beside the column of its source."""
    side = -1 if source[0] < target[0] else 1
    (x, y), (to_x, to_y) = ((x + side * BOX[0] / 2, y) for x, y in (source, target))
    apart = 10 * (edge.source == edge.target)
    out = (min if side < 0 else max)(x, to_x) + side * _BULGE
    y, to_y = y + apart, to_y - apart
    path = f"M{x:.0f} {y:.0f}C{out:.0f} {y:.0f} {out:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"
    return DrawnEdge(path, edge.action, (out - side * _BULGE / 4, (y + to_y) / 2), is_back=True)
