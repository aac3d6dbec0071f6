"""A flow as it is saved: one that is the same wherever it is started, with no secret in it."""

from __future__ import annotations

import os
from copy import copy

from pflow.catalog.flows import is_flow_type
from pflow.errors import BAD_DATA, PflowError
from pflow.flow.flow import TEMPLATE
from pflow.flow.subflow import FlowKind
from pflow.library.names import saved_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.flow import Flow, Step
    from pflow.flow.wired import WiredFlow, WiredStep


def portable(flow: Flow, name: str, file: str) -> tuple[Flow, list[str]]:
    """The flow under its new name, the files of its subflows named in full; and what its user has to know of that.

    `file` is where it will be. Raises PflowError (65) for a secret in it, and where it would hold itself.
    """
    from pflow.flow.wiring import wire

    plan = wire(flow)
    act = f"cannot save '{name}'"
    for place, remedy in _secrets(plan):
        raise PflowError(f"{act}: {place} is a secret and stands in the flow", hint=remedy, exit=BAD_DATA)
    if os.path.realpath(file) in map(os.path.realpath, _files_in(plan)):
        raise PflowError(f"{act}: it would hold itself", hint="choose another name", exit=BAD_DATA)
    saved = copy(flow)
    saved.name = name
    saved.steps = [_placed(step, flow.directory) for step in flow.steps]
    return saved, [_word(step) for step in saved.steps if os.path.isabs(step.type)]


def _placed(step: Step, directory: str) -> Step:
    """A step whose type does not depend on where its flow lies: of a saved flow its name, of another file its path."""
    if not is_flow_type(step.type) or step.type.startswith("flow:"):
        return step
    placed = copy(step)
    name = saved_name(step.type, directory)
    placed.type = f"flow:{name}" if name else os.path.abspath(os.path.join(directory, step.type))
    return placed


def _word(step: Step) -> str:
    return f"'{step.id}' runs the flow in '{step.type}': save that too, as flow:NAME, if it may move"


def _files_in(plan: WiredFlow) -> set[str]:
    """The files of all flows within a flow."""
    found: set[str] = set()
    todo = [plan]
    while todo:
        for wired in todo.pop().steps.values():
            if isinstance(wired.kind, FlowKind) and wired.kind.file not in found:
                found.add(wired.kind.file)
                todo.append(wired.kind.plan)
    return found


def _secrets(plan: WiredFlow) -> Iterator[tuple[str, str]]:
    """Each place in the flow where a secret stands, and what to do: beside what PF13 finds."""
    for name, given in plan.flow.inputs.items():
        needed = plan.inputs.get(name)
        if given.default is not None and needed is not None and needed.secret:
            yield f"the default of the input '{name}'", "take it out: the store gives it, when it runs"
    for wired in plan.steps.values():
        yield from _secrets_of_step(wired)


def _secrets_of_step(wired: WiredStep) -> Iterator[tuple[str, str]]:
    from pflow.templates import references

    step, items = wired.step, {**wired.interface.params, **wired.interface.reads}
    texts = {
        key: source.removeprefix(TEMPLATE)
        for key, source in step.input_mappings.items()
        if isinstance(source, str) and source.startswith(TEMPLATE)
    }
    for key, written in {**step.params, **step.inputs, **texts}.items():
        item = items.get(key)
        if item is not None and "secret" in item.marks and written is not None and not any(references(written)):
            remedy = f"take it out: the environment's {item.env} gives it" if item.env else "take it out"
            yield f"'{key}' of '{wired.id}'", remedy
