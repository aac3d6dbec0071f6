"""The diff of two flows for people: of their pipe syntax where both have one, else of their JSON."""

from __future__ import annotations

from pflow.errors import PflowError
from pflow.terminal.colour import PLAIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.catalog.kinds import Catalog
    from pflow.flow.flow import Flow
    from pflow.terminal.colour import Colour

    IR = dict[str, Any]

_MOST_STEPS = 200
"""A flow with more has its JSON compared: nobody reads it as a line, and to write it as one takes long."""
_OF_STEPS = ("nodes", "edges", "mappings")


def diff_lines(old: Flow, new: Flow, name: str = "flow") -> list[str]:
    """The lines of a unified diff, none where nothing changed; what a terminal would obey is escaped in them.

    What pipe syntax does not say (names, inputs, outputs) stands as JSON below it. Secrets are masked.
    """
    from pflow.flow.unload import flow_to_ir
    from pflow.plan.change.masks import hidden

    if flow_to_ir(old) == flow_to_ir(new):
        return []
    before, after = hidden(old), hidden(new)
    pipes = _pipe(before, old.catalog), _pipe(after, new.catalog)
    found = []
    if None not in pipes:
        found = [*_diff(pipes[0] or "", pipes[1] or "", name), *_diff(_head(before), _head(after), f"{name} (JSON)")]
    return found or _diff(_json(before), _json(after), name) or [f"  a secret in {name} changed"]


def painted(lines: list[str], colour: Colour = PLAIN) -> str:
    """The diff's text, each line in the colour of its kind."""
    return "".join([f"{_paint(line, colour)}\n" for line in lines])


def _diff(before: str, after: str, name: str) -> list[str]:
    import difflib

    from pflow.terminal.columns import clean

    names = clean(name), f"{clean(name)} (changed)"
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
    return [clean(line) for line in lines]


def _pipe(ir: IR, catalog: Catalog) -> str | None:
    """The flow in pipe syntax; None where it has none."""
    from pflow.flow.load import load_document
    from pflow.plan.paste.pasted import pipe_of

    if len(ir["nodes"]) > _MOST_STEPS:
        return None
    try:
        return pipe_of(load_document(ir, "flow", catalog).flow, {})
    except PflowError:
        return None


def _head(ir: IR) -> str:
    described = [
        {"id": node["id"], "description": node["description"]} for node in ir["nodes"] if "description" in node
    ]
    of_steps = {"nodes": described} if described else {}
    return _json({**{name: value for name, value in ir.items() if name not in _OF_STEPS}, **of_steps})


def _json(ir: IR) -> str:
    from pflow.flow.unload import canonical_json

    return canonical_json(ir)


def _paint(line: str, colour: Colour) -> str:
    paint = next((paint for start, paint in _PAINTS.items() if line.startswith(start)), None)
    return paint(colour, line) if paint else line


_PAINTS: dict[str, Callable[[Colour, str], str]] = {
    "---": lambda colour, line: colour.heading(line),
    "+++": lambda colour, line: colour.heading(line),
    "@@": lambda colour, line: colour.dim(line),
    "+": lambda colour, line: colour.good(line),
    "-": lambda colour, line: colour.fault(line),
}
