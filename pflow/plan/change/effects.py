"""What a changed flow would touch that the old one did not: commands, files, the network."""

from __future__ import annotations

from pflow.explain.effects import touches
from pflow.explain.origins import Origins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import WiredFlow

    Touch = dict[str, Any]


def new_effects(old: WiredFlow, new: WiredFlow) -> list[str]:
    """A line for each, worst first: `write (write-file) writes files: path "b.txt"`."""
    before = {_key(old, touch) for touch in touches(old, Origins(old))}
    found = touches(new, Origins(new))
    return [_line(new, touch) for touch in found if _key(new, touch) not in before]


def _key(plan: WiredFlow, touch: Touch) -> tuple[str, str, str]:
    """An effect, apart from the name of the step that has it."""
    return touch["effect"], _type(plan, touch), _what(plan, touch)


def _line(plan: WiredFlow, touch: Touch) -> str:
    from pflow.terminal.columns import clean

    what = _what(plan, touch)
    return f"{clean(touch['step'])} ({clean(_type(plan, touch))}) {touch['effect']}" + (f": {what}" if what else "")


def _type(plan: WiredFlow, touch: Touch) -> str:
    """The type of the step that has an effect, through the flows that hold it."""
    id = touch["step"]
    if id in plan.steps:
        return plan.steps[id].step.type
    first, _, rest = id.partition("/")
    inner = plan.steps[first].subplan if first in plan.steps else None
    return _type(inner, {**touch, "step": rest}) if inner is not None else ""


def _what(plan: WiredFlow, touch: Touch) -> str:
    from pflow.terminal.columns import clean

    said = {key: _said(plan, origins) for key, origins in touch["what"].items()}
    return ", ".join([f"{clean(key)} {words}" for key, words in said.items() if words])


def _said(plan: WiredFlow, origins: list[Touch]) -> str:
    """Where a value comes from; of an input its default, and nothing of what is unset."""
    from pflow.explain.words import said
    from pflow.terminal.columns import value_text

    if origins in ([{"from": "default", "value": None}], [{"from": "default", "value": []}]):
        return ""
    given = plan.inputs.get(origins[0].get("input", "")) if len(origins) == 1 else None
    if given is not None and given.has_default and not given.secret:
        return value_text(given.default)
    return said(origins)
