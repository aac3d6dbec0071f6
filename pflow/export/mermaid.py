"""A flowchart for Markdown, in Mermaid."""

from pflow.export.dot import Arrow, Box, drawn, escaped
from pflow.flow.wired_flow import WiredFlow
from pflow.text.printable import clean
from pflow.values.jsontext import quote

# Mermaid reads %%{…}%% as a directive anywhere, even in a label, and labels as Markdown and HTML.
_ESCAPES = {"#": "#35;", "%": "#37;", '"': "#34;", "&": "#38;", "<": "#60;", ">": "#62;", "`": "#96;", "\\": "#92;"}


def export(wired: WiredFlow) -> str:
    boxes, arrows = drawn(wired)
    name = quote(clean(wired.flow.name)).replace("%%", "%\\u0025")
    title = ["---", f"title: {name}", "---"] if wired.flow.name else []
    return "\n".join([*title, "flowchart TD", *map(_node, boxes), *map(_edge, arrows)]) + "\n"


def _node(box: Box) -> str:
    label = "<br/>".join([escaped(line, _ESCAPES) for line in box.label])
    return f'    {box.name}[["{label}"]]' if box.is_flow else f'    {box.name}["{label}"]'


def _edge(arrow: Arrow) -> str:
    action = escaped(arrow.action, _ESCAPES)
    line = f'-. "{action}" .->' if action == "error" else f'-- "{action}" -->' if action else "-->"
    return f"    {arrow.source} {line} {arrow.target}"
