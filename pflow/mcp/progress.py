"""The steps of a run as progress: half a step when one starts, the other half when it has ended."""

from __future__ import annotations

from pflow.run.runs import parse_event
from pflow.terminal.columns import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Progress:
    """How far a run of so many steps is. Steps of subflows are told with the step that they are in."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.done = 0.0

    def take(self, line: bytes) -> tuple[float, float | None, str] | None:
        """What a line of the trace says: how far, of how many where that is known, and in words. None for nothing."""
        event = parse_event(line)
        if event is None or event["event"] not in ("start", "end") or "/" in str(event.get("step", event.get("id"))):
            return None
        self.done += 0.5
        total = float(self.steps) if self.done <= self.steps else None  # a loop goes on for as long as it does
        return self.done, total, clean(_words(event))


def _words(event: dict[str, Any]) -> str:
    step, node = str(event.get("step", event.get("id", ""))), str(event.get("node", ""))
    name = step if step in (node, "") else f"{step} ({node})"
    if event["event"] == "start":
        return f"{name or node} …"
    if event.get("exit"):
        return f"{name or node} failed ({event['exit']})"
    return f"{name or node} done"
