"""A flow as a Mermaid flowchart, which Markdown on many sites shows as a picture."""

from __future__ import annotations

from pflow.export.drawing import edges_of, escaped, is_flow, label_of, label_of_edge, names_of
from pflow.scanner import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.flow import Edge
    from pflow.flow.wired import WiredFlow, WiredStep

# Signs that mean something in a label, as its entity codes: `#35;` is a #, and must come first.
_SIGNS = {"#": "#35;", '"': "#34;", "&": "#38;", "<": "#60;", ">": "#62;", "`": "#96;", "\\": "#92;"}


def export(plan: WiredFlow) -> str:
    names = names_of(plan)
    lines = ["flowchart TD"]
    if plan.flow.name:
        lines[:0] = ["---", f"title: {quote(plan.flow.name)}", "---"]
    lines += [f"    {names[id]}{_box(wired)}" for id, wired in plan.steps.items()]
    lines += [f"    {names[edge.source]} {_arrow(edge)} {names[edge.target]}" for edge in edges_of(plan)]
    return "\n".join(lines) + "\n"


def _box(wired: WiredStep) -> str:
    label = "<br/>".join([escaped(line, _SIGNS) for line in label_of(wired)])
    return f'[["{label}"]]' if is_flow(wired) else f'["{label}"]'


def _arrow(edge: Edge) -> str:
    action = escaped(label_of_edge(edge), _SIGNS)
    if edge.action == "error":
        return f'-. "{action}" .->'
    return f'-- "{action}" -->' if action else "-->"
