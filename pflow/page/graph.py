"""The graph of a flow as a drawing: steps in rows, each below those that lead to it, and edges that pass no box."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from pflow.errors import PflowError
from pflow.flow.flow import Edge
from pflow.flow.graph import Graph
from pflow.flow.load import load_document

BOX = (190, 40)
"""The width and height of a step's box, in pixels."""
_LANE = 16
"""The width that an edge takes where it passes a row."""
_GAP, _ROW, _BULGE = 24, 66, 70

Cell = tuple[str, int]
"""A step and its row; for an edge that passes a row, its number and that row."""


def shape_of(ir: Any) -> dict[str, Any]:
    """Return the IR of a flow with its steps and edges alone; without steps if it cannot be read."""
    try:
        flow = load_document(ir, "flow")
    except PflowError:
        return {"nodes": [], "edges": []}
    edges = [{"from": edge.source, "to": edge.target, "action": edge.action} for edge in flow.edges]
    return {"nodes": [{"id": step.id, "type": step.type} for step in flow.steps], "edges": edges}


@dataclass
class DrawnEdge:
    """An edge: its path in SVG, its action, and the place of that word."""

    path: str
    action: str
    label: tuple[float, float]
    is_back: bool


@dataclass
class Drawing:
    """The place of the upper left corner of each step's box, the edges, and the size of the whole."""

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
    ways = [_way(number, edge, rows) for number, edge in enumerate(known)]
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


def _way(number: int, edge: Edge, rows: dict[str, int]) -> list[Cell]:
    """Return the cells that an edge goes down through, from its source to its target; none for an edge back."""
    first, last = rows[edge.source], rows[edge.target]
    passed = [(f"\0{number}", row) for row in range(first + 1, last)]
    return [(edge.source, first), *passed, (edge.target, last)] if first < last else []


def _rows(graph: Graph) -> dict[str, int]:
    """Return the row of each step: below all that lead to it, as far as loops allow."""
    rows: dict[str, int] = {}
    for id in graph.places:
        earlier = [rows[each] + 1 for each in graph.before[id] if graph.places[each] < graph.places[id]]
        is_loose = id not in graph.reached
        rows[id] = max(earlier, default=max(rows.values(), default=-1) + 1 if is_loose else 0)
    return rows


def _width(cell: Cell) -> int:
    return _LANE if cell[0].startswith("\0") else BOX[0]


def _middles(table: list[list[Cell]], above: dict[Cell, list[Cell]]) -> dict[Cell, float]:
    """Return the horizontal middle of each cell: in a row in the order of what leads to them, around 0."""
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
    """Draw an edge back, outside of the column that its source is in."""
    side = -1 if source[0] < target[0] else 1
    (x, y), (to_x, to_y) = ((x + side * BOX[0] / 2, y) for x, y in (source, target))
    apart = 10 * (edge.source == edge.target)
    out = (min if side < 0 else max)(x, to_x) + side * _BULGE
    y, to_y = y + apart, to_y - apart
    path = f"M{x:.0f} {y:.0f}C{out:.0f} {y:.0f} {out:.0f} {to_y:.0f} {to_x:.0f} {to_y:.0f}"
    return DrawnEdge(path, edge.action, (out - side * _BULGE / 4, (y + to_y) / 2), is_back=True)
