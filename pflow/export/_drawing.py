"""What a drawing of a flow shows: a label for each step and each edge, whatever language draws it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pflow.catalog.kinds import FLOW
from pflow.flow.flow import Edge
from pflow.flow.wired import WiredFlow, WiredStep


@dataclass
class Box:
    """A step: a name that any language takes, since an id may hold anything, and the lines of its label."""

    name: str
    label: list[str]
    is_flow: bool


@dataclass
class Arrow:
    """An edge; the action of the default edge is empty."""

    source: str
    target: str
    action: str


def drawn(wired: WiredFlow) -> tuple[list[Box], list[Arrow]]:
    """The steps and the edges between them."""
    boxes = {id: _box(number, step) for number, (id, step) in enumerate(wired.steps.items(), 1)}
    edges = [edge for edge in wired.flow.edges if edge.source in boxes and edge.target in boxes]
    return list(boxes.values()), [_arrow(boxes, edge) for edge in edges]


def _box(number: int, wired: WiredStep) -> Box:
    node, batch = wired.kind.name if wired.kind else wired.step.type, wired.step.batch
    label = [wired.id, *([node] if node != wired.id else [])]
    if batch is not None:
        label.append(f"once for each {batch.item} of {batch.over}")
    return Box(f"n{number}", label, wired.kind is not None and wired.kind.origin == FLOW)


def _arrow(boxes: Mapping[str, Box], edge: Edge) -> Arrow:
    action = "" if edge.action == "default" else edge.action
    return Arrow(boxes[edge.source].name, boxes[edge.target].name, action)


def escaped(text: str, escapes: Mapping[str, str]) -> str:
    """A text on one line of a label, each character that means something there replaced by its escape."""
    return "".join([escapes.get(each, each if each.isprintable() else " ") for each in text])
