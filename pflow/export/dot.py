"""A graph for Graphviz: `pflow export --to=dot FLOW | dot -Tsvg`."""

from __future__ import annotations

from pflow.export._drawing import Arrow, Box, drawn, escaped
from pflow.flow.wired import WiredFlow

# In a label a backslash begins an escape, and an ampersand an entity of HTML.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "&": "&amp;"}


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
