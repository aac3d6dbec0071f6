"""A flow as it is saved: independent of the directory it came from, and without secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import copy

from pflow.catalog.flows import is_flow_type
from pflow.errors import BAD_DATA, PflowError
from pflow.flow.flow import Flow, Step
from pflow.flow.subflow import FlowKind
from pflow.flow.wired import WiredFlow, WiredStep
from pflow.flow.wiring import wire
from pflow.library.saved import saved_name
from pflow.templates import TEMPLATE, references


def portable(flow: Flow, name: str, file: str) -> tuple[Flow, list[str]]:
    """The flow under its new name, with absolute paths to its subflows, and notes for its user.

    `file` is where it will be. Raises PflowError (65) for a secret in it, and where it would contain itself.
    """
    wired = wire(flow)
    act = f"cannot save '{name}'"
    for place, remedy in _secrets(wired):
        raise PflowError(f"{act}: {place} is a secret and stands in the flow", hint=remedy, exit=BAD_DATA)
    if os.path.realpath(file) in map(os.path.realpath, _subflow_files(wired)):
        raise PflowError(f"{act}: it would contain itself", hint="choose another name", exit=BAD_DATA)
    saved = copy(flow)
    saved.name = name
    saved.steps = [_with_absolute_type(step, flow.directory) for step in flow.steps]
    return saved, [_note(step) for step in saved.steps if os.path.isabs(step.type)]


def _with_absolute_type(step: Step, directory: str) -> Step:
    """The step; where its type is a path, that becomes `flow:NAME` for a saved flow, else absolute."""
    if not is_flow_type(step.type) or step.type.startswith("flow:"):
        return step
    placed = copy(step)
    name = saved_name(step.type, directory)
    placed.type = f"flow:{name}" if name else os.path.abspath(os.path.join(directory, step.type))
    return placed


def _note(step: Step) -> str:
    return f"'{step.id}' runs the flow in '{step.type}': save that too, as flow:NAME, if it may move"


def _subflow_files(flow: WiredFlow) -> set[str]:
    """The files of all flows within a flow."""
    files: set[str] = set()
    todo = [flow]
    while todo:
        for step in todo.pop().steps.values():
            if isinstance(step.kind, FlowKind) and step.kind.file not in files:
                files.add(step.kind.file)
                todo.append(step.kind.flow)
    return files


def _secrets(flow: WiredFlow) -> Iterator[tuple[str, str]]:
    """Each place where a secret stands in the flow, and the remedy; PF13 finds others."""
    for name, declared in flow.flow.inputs.items():
        used = flow.inputs.get(name)
        if declared.default is not None and used is not None and used.secret:
            yield f"the default of the input '{name}'", "take it out: the store gives it, when it runs"
    for step in flow.steps.values():
        yield from _secrets_of_step(step)


def _secrets_of_step(wired: WiredStep) -> Iterator[tuple[str, str]]:
    step, items = wired.step, {**wired.interface.params, **wired.interface.reads}
    mappings = step.input_mappings.items()
    texts = {
        key: text.removeprefix(TEMPLATE)
        for key, text in mappings
        if isinstance(text, str) and text.startswith(TEMPLATE)
    }
    for key, written in {**step.params, **step.inputs, **texts}.items():
        item = items.get(key)
        if item is not None and "secret" in item.marks and written is not None and not any(references(written)):
            remedy = f"take it out: the environment's {item.env} gives it" if item.env else "take it out"
            yield f"'{key}' of '{wired.id}'", remedy
