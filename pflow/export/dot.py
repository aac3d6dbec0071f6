"""A flow as a graph in Graphviz's language: `pflow export --to=dot … | dot -Tsvg`."""

from __future__ import annotations

from pflow.export.drawing import edges_of, escaped, is_flow, label_of, label_of_edge, names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.flow import Edge
    from pflow.flow.wired import WiredFlow, WiredStep

# In a label a backslash begins an escape, and an ampersand an entity of HTML.
_SIGNS = {"\\": "\\\\", '"': '\\"', "&": "&amp;"}


def export(plan: WiredFlow) -> str:
    names = names_of(plan)
    lines = ["digraph {"]
    if plan.flow.name:
        lines.append(f"    label={_quoted(plan.flow.name)}; labelloc=t;")
    lines.append('    node [shape=box, style=rounded, fontname="sans-serif"];')
    lines.append('    edge [fontname="sans-serif"];')
    lines += [f"    {names[id]} [{_step(wired)}];" for id, wired in plan.steps.items()]
    lines += [f"    {names[edge.source]} -> {names[edge.target]}{_edge(edge)};" for edge in edges_of(plan)]
    return "\n".join(lines) + "\n}\n"


def _step(wired: WiredStep) -> str:
    shape = ", shape=box3d" if is_flow(wired) else ""
    return f"label={_quoted(*label_of(wired))}{shape}"


def _edge(edge: Edge) -> str:
    action = label_of_edge(edge)
    style = ", style=dashed" if edge.action == "error" else ""
    return f" [label={_quoted(action)}{style}]" if action else ""


def _quoted(*lines: str) -> str:
    return '"' + "\\n".join([escaped(line, _SIGNS) for line in lines]) + '"'
