"""A flow as it is saved: independent of the directory it came from, and without secrets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import copy
from typing import Any

from pflow.catalog.registry import is_flow_type
from pflow.errors import BAD_DATA, PflowError
from pflow.flow.flow import Flow, Step
from pflow.flow.subflow import FlowKind
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.library.saved import saved_name
from pflow.templates import TEMPLATE, references

Place = tuple[str, ...]


def portable(flow: Flow, name: str, file: str) -> tuple[Flow, list[str]]:
    """The flow under its new name, with absolute paths to its subflows, and notes for its user.

    `file` is where it will be. Raises PflowError (65) for a secret in it, and where it would contain itself.
    """
    wired = wire(flow)
    act = f"cannot save '{name}'"
    for place, value, remedy in secrets_of(wired):
        if is_literal(value):
            what = f"'{place[-1]}' of '{place[1]}'" if len(place) > 3 else f"the default of the input '{place[1]}'"
            raise PflowError(f"{act}: {what} is a secret and stands in the flow", hint=remedy, exit=BAD_DATA)
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


def secrets_of(wired: WiredFlow) -> Iterator[tuple[Place, Any, str]]:
    """Each value where a flow, or a node, has a secret: its place, the value, and what to do instead.

    A place is `inputs`, a name and `default`; or `nodes` or `mappings`, a step's id, the part of it and a key.
    """
    for name, declared in wired.flow.inputs.items():
        used = wired.inputs.get(name)
        if declared.default is not None and used is not None and used.secret:
            yield ("inputs", name, "default"), declared.default, "take it out: the store gives it, when it runs"
    for step in wired.steps.values():
        items = {**step.interface.params, **step.interface.reads}
        for key, item in items.items():
            remedy = f"take it out: the environment's {item.env} gives it" if item.env else "take it out"
            for place, value in _written(step.step, key) if "secret" in item.marks else ():
                yield place, value, remedy


def _written(step: Step, key: str) -> Iterator[tuple[Place, Any]]:
    """What stands in a step for a key: a value of its own, or a template as its mapping."""
    source = step.input_mappings.get(key)
    is_template = isinstance(source, str) and source.startswith(TEMPLATE)
    parts = (("nodes", "params", step.params.get(key)), ("nodes", "inputs", step.inputs.get(key)))
    for member, part, value in (*parts, ("mappings", "input_mappings", source if is_template else None)):
        if value is not None:
            yield (member, step.id, part, key), value


def is_literal(value: Any) -> bool:
    """Whether a value stands there whole, and not as a reference to what another step or an input gives."""
    return not any(references(value.removeprefix(TEMPLATE) if isinstance(value, str) else value))
