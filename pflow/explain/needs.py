"""What a flow needs before it starts, and what it gives when it ends."""

from __future__ import annotations

from pflow.paths import write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.explain.origins import Origins
    from pflow.flow.wired import FlowInput, WiredFlow
    from pflow.interface import Item


def needs(plan: WiredFlow) -> list[dict[str, Any]]:
    """The flow's inputs, what is required first."""
    found = [_need(plan, given) for given in plan.inputs.values()]
    return sorted(found, key=lambda need: not need["required"])


def _need(plan: WiredFlow, given: FlowInput) -> dict[str, Any]:
    need: dict[str, Any] = {
        "name": given.name,
        "flag": given.flag,
        "type": str(given.type),
        "doc": given.doc,
        "required": given.required,
        "pipe": given.pipe,
        "read_by": list(dict.fromkeys(step for step, _ in given.readers)),
    }
    items = _taking(plan, given)
    if not given.secret and not any("secret" in item.marks for item in items):
        need.update(_default(given, items))
    return need


def _taking(plan: WiredFlow, given: FlowInput) -> list[Item]:
    """The reads that take an input as it is, under their own name or flag."""
    readers = [(step, key) for step, key in given.readers if key in (given.name, *given.flags)]
    items = [plan.steps[step].interface.reads.get(key) for step, key in readers]
    return [item for item in items if item is not None]


def _default(given: FlowInput, items: list[Item]) -> dict[str, Any]:
    """What an input is where it is not given: its own default, or the one that all its readers have."""
    if given.has_default:
        return {"default": given.default}
    defaults = [item.default for item in items if not item.required]
    is_one = bool(defaults) and len(defaults) == len(given.readers) and all(each == defaults[0] for each in defaults)
    return {"default": defaults[0]} if is_one and not given.required else {}


def piped(plan: WiredFlow) -> dict[str, str] | None:
    """What takes what comes through the pipe: a `step` and its `key`, or the `input` of the flow that does."""
    given = next((given for given in plan.inputs.values() if given.pipe), None)
    if given is not None:
        return {"input": given.name}
    if plan.first_read is not None:
        return {"step": plan.first_read[0], "key": plan.first_read[1]}
    reader = next((each for each in plan.references if each.input == "stdin"), None)
    return {"step": reader.step, "key": reader.key} if reader else None


def gives(plan: WiredFlow, origins: Origins) -> dict[str, Any]:
    """The flow's declared `outputs`, each with its type and where it comes from, and what the pipe `carries` on."""
    outputs = {
        name: {"type": str(plan.output_type(name)), "from": origins.of_output(name)} for name in plan.flow.outputs
    }
    return {"outputs": outputs, "carries": write_path(plan.carried) if plan.carried else None}
