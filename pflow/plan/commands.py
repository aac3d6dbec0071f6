"""A planned flow's commands: each stands in its step, and is short enough to be shown whole before it runs."""

from __future__ import annotations

from pflow.flow.findings import Finding
from pflow.paths import write_path
from pflow.terminal.columns import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.interface import Item

LONGEST = 2_000
"""Letters of a command as it is shown: what is cut off there would run unseen."""


def check_commands(plan: WiredFlow) -> Iterator[Finding]:
    """A person sees a plan before it runs: what it runs must be there to be seen, and all of it."""
    for id, wired in plan.steps.items():
        yield from _check_lengths(wired)
        for key in wired.step.input_mappings:
            if _is_command(wired.interface.reads.get(key)) and key not in wired.step.inputs:
                place = ("mappings", id, "input_mappings", key)
                where = write_path(wired.step.place)
                remedy = f'"inputs": {{"{key}": …}} of {where}; values go in as arguments, or on stdin'
                yield Finding("PL08", place, f"the '{key}' of '{id}' does not stand in the flow", remedy)


def _check_lengths(wired: WiredStep) -> Iterator[Finding]:
    for key, value in wired.step.inputs.items():
        length = len(clean(value)) if isinstance(value, str) else 0
        if length > LONGEST and _is_command(wired.interface.reads.get(key)):
            message = f"the '{key}' has {length} letters, more than {LONGEST}"
            yield Finding("PL05", (*wired.step.place, "inputs", key), message, "a shorter one, or several steps")


def _is_command(item: Item | None) -> bool:
    return item is not None and item.marks >= {"explicit", "verbatim"}
