"""A graph for Graphviz: `pflow export --to=dot FLOW | dot -Tsvg`."""

from collections.abc import Mapping
from typing import NamedTuple

from pflow.catalog.find import FLOW
from pflow.flow.wired_flow import WiredFlow, WiredStep

# In a label a backslash begins an escape, and an ampersand an entity of HTML.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "&": "&amp;"}


class Box(NamedTuple):
    """A step: the lines of its label, and a name that is safe in any language, since an id may have any characters."""

    name: str
    label: list[str]
    is_flow: bool


class Arrow(NamedTuple):
    """An edge between the names of two boxes; the action of the default edge is empty."""

    source: str
    target: str
    action: str


def drawn(wired: WiredFlow) -> tuple[list[Box], list[Arrow]]:
    boxes = {id: _box(number, step) for number, (id, step) in enumerate(wired.steps.items(), 1)}
    return list(boxes.values()), [
        Arrow(boxes[edge.source].name, boxes[edge.target].name, edge.action if edge.action != "default" else "")
        for edge in wired.flow.edges
    ]


def _box(number: int, wired: WiredStep) -> Box:
    node, batch = wired.node_type.name if wired.node_type else wired.step.type, wired.step.batch
    label = [wired.id, *([node] if node != wired.id else [])]
    if batch is not None:
        label.append(f"once for each {batch.item} of {batch.over}")
    return Box(f"n{number}", label, wired.node_type is not None and wired.node_type.origin == FLOW)


def escaped(text: str, escapes: Mapping[str, str]) -> str:
    return "".join([escapes.get(each, each if each.isprintable() else " ") for each in text])


def export(wired: WiredFlow) -> str:
    boxes, arrows = drawn(wired)
    title = [f"    label={_quoted(wired.flow.name)}; labelloc=t;"] if wired.flow.name else []
    fonts = [f'    {each}fontname="sans-serif"];' for each in ("node [shape=box, style=rounded, ", "edge [")]
    return "\n".join(["digraph {", *title, *fonts, *map(_node, boxes), *map(_edge, arrows), "}"]) + "\n"


def _node(box: Box) -> str:
    shape = ", shape=box3d" if box.is_flow else ""
    return f"    {box.name} [label={_quoted(*box.label)}{shape}];"


def _edge(arrow: Arrow) -> str:
    style = ", style=dashed" if arrow.action == "error" else ""
    label = f" [label={_quoted(arrow.action)}{style}]" if arrow.action else ""
    return f"    {arrow.source} -> {arrow.target}{label};"


def _quoted(*lines: str) -> str:
    return '"' + "\\n".join([escaped(line, _ESCAPES) for line in lines]) + '"'
