"""What a model is told that is asked for mappings, and how its answer reads."""

from __future__ import annotations

from pflow.scanner import scan_loosely

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pflow.flow.findings import Finding
    from pflow.flow.wired import WiredFlow
    from pflow.models.talk import Said
    from pflow.plan.wire.settle import Open

SYSTEM = """\
You wire a flow for pflow: you say where reads of its steps take their values from. Its steps, edges, inputs and params
stay as they are. Answer with one JSON object, and with nothing else:

{"mappings": {"STEP": {"input_mappings": {"READ": "SOURCE"}}}}

- Only the reads that are asked for get a mapping.
- A SOURCE is what an earlier step writes, STEP.WRITE, or a part of it, STEP.WRITE.PART; or a declared input's name.
- Several values that one text is made of: "template:First: ${a.response}\\nSecond: ${b.response}".
- A read that is marked [explicit] takes a declared input of the flow only.
- A source is of the read's type, or fits it.
"""

_MOST = 40
"""Candidates of one read that are told."""
_MOST_FINDINGS = 20
_MOST_FAULTS = 20


def task_text(plan: WiredFlow, left: Sequence[Open]) -> str:
    """The flow, its nodes' interfaces and the reads that want a source."""
    from pflow.flow.unload import canonical_json
    from pflow.plan.change.masks import hidden

    parts = ["The flow:\n" + canonical_json(hidden(plan.flow)), "Its nodes:\n" + interfaces(plan)]
    parts.append("The reads that want a source:\n" + "\n".join(map(_line, left)))
    return "\n".join(parts)


def interfaces(plan: WiredFlow) -> str:
    """The interface of each kind of node in a flow, once."""
    from pflow.plan.catalogue import interface_text

    kinds = {wired.step.type: wired.interface for wired in plan.steps.values() if wired.kind is not None}
    return "\n\n".join([interface_text(type, interface) for type, interface in kinds.items()]) + "\n"


def _line(left: Open) -> str:
    item = left.gap.item
    doc = f" ({item.doc})" if item.doc else ""
    marks = ", [explicit]" if left.gap.is_explicit else ""
    may = "" if left.gap.is_needed else "; it may be left out"
    return f"- {left.gap}: {item.type}{marks}{doc}: {candidates_text(left)}{may}"


def candidates_text(left: Open) -> str:
    shown = [f"{each.text} ({each.type.name})" for each in left.candidates[:_MOST]]
    more = len(left.candidates) - len(shown)
    return ("it could be " + ", ".join(shown) + (f" and {more} more" if more else "")) if shown else "nothing fits"


def findings_text(findings: Sequence[Finding]) -> str:
    """What is handed back."""
    lines = "\n".join(f"- {finding}" for finding in findings[:_MOST_FINDINGS])
    return (
        f"Those mappings cannot be used:\n{lines}\n\nAnswer with all mappings that were asked for, as one JSON object."
    )


def wire_schema() -> dict[str, Any]:
    """The shape of an answer."""
    source = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    reads = {"type": "object", "additionalProperties": source}
    step = {"type": "object", "properties": {"input_mappings": reads}, "required": ["input_mappings"]}
    mappings = {"type": "object", "additionalProperties": step}
    return {"type": "object", "properties": {"mappings": mappings}, "required": ["mappings"]}


def read_mappings(said: Said) -> dict[str, Any] | None:
    """The one JSON object in an answer that has `mappings`; None where there is none, or several that differ."""
    text = "" if said.is_too_long else said.text.rpartition("</think>")[2]
    found: list[dict[str, Any]] = []
    at, faults = text.find("{"), 0
    while at >= 0 and faults < _MOST_FAULTS and len(found) < 2:
        try:
            value, end = scan_loosely(text, at)
        except ValueError:
            value, end, faults = None, at + 1, faults + 1
        if isinstance(value, dict) and "mappings" in value and value not in found:
            found.append(value)
        at = text.find("{", end)
    return found[0] if len(found) == 1 else None
