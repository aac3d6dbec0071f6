"""A stage's entry in the trace, and the span that it is in a wider trace."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.stage.document import Document


def step_id(document: Document, name: str, given: str | None) -> str:
    """The name a person gave this step, else its node's, with a number where that ran before: llm, llm-2."""
    if given:
        return given
    taken = [step.get("id") for step in document.header.get("steps", []) if isinstance(step, dict)]
    number = 1
    while (name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return name if number == 1 else f"{name}-{number}"


def usage_of(written: dict[str, Any]) -> dict[str, Any]:
    """The model, tokens and cost of an answer, from a node's `usage` write."""
    usage = written.get("usage")
    if not isinstance(usage, dict):
        return {}
    tokens = {"in": usage.get("input"), "out": usage.get("output")}
    noted = {
        "model": usage.get("model"),
        "tokens": {side: count for side, count in tokens.items() if count is not None},
        "cost": usage.get("cost"),
    }
    return {name: value for name, value in noted.items() if value not in (None, {})}


def add_step(document: Document, entry: dict[str, Any]) -> None:
    document.header.setdefault("steps", []).append(entry)


def enter_span(document: Document) -> None:
    """Take a TRACEPARENT from the header, else from the environment, and hand a span of our own on in both."""
    parent = document.header.get("traceparent") or os.environ.get("TRACEPARENT")
    parts = span_parts(parent)
    if not parts:
        return
    parts[2] = os.urandom(8).hex()
    document.header["traceparent"] = os.environ["TRACEPARENT"] = "-".join(parts)


def span_parts(traceparent: Any) -> list[str]:
    """Version, trace, span and flags; nothing where it is no TRACEPARENT (https://www.w3.org/TR/trace-context/)."""
    parts = traceparent.split("-")[:4] if isinstance(traceparent, str) else []
    is_one = [len(part) for part in parts] == [2, 32, 16, 2] and not "".join(parts).strip("0123456789abcdef")
    return parts if is_one and parts[1].strip("0") and parts[2].strip("0") else []
