"""Editing a plan: as the text that a person sees, read and checked again, its inputs declared again."""

from __future__ import annotations

from copy import copy
from typing import Any

from pflow.errors import MISSING, PflowError
from pflow.explain.pipe_form import pipe_of
from pflow.flow.findings import Finding
from pflow.flow.flow import Flow, Input
from pflow.flow.load import load_text
from pflow.flow.rules import check
from pflow.flow.unload import canonical_json, flow_to_ir
from pflow.flow.wiring import wire
from pflow.plan.approval.proposal import Proposal
from pflow.plan.sentence_values import with_value
from pflow.terminal.columns import clean


def editable_text(proposal: Proposal) -> tuple[str, str]:
    """A plan to edit, with a name for its file: pipe syntax, its inputs as literals; where there is none, its IR."""
    flow = proposal.wired.flow
    try:
        if not flow.outputs:  # pipe syntax would lose them
            about = f"# {clean(flow.description)}\n" if flow.description else ""
            return f"{about}{pipe_of(proposal.wired, proposal.values).rstrip()}\n", "plan.pflow"
    except PflowError:
        pass
    return canonical_json(flow_to_ir(flow)), "plan.pflow.json"


def read_edited(text: str, proposal: Proposal) -> tuple[Flow, list[Finding]]:
    """The flow that the text is now, and its errors.

    Raises PflowError: 66 where it is empty, 65 and 2 where it does not parse.
    """
    before = proposal.wired.flow
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.split("\n")):
        raise PflowError("cannot take what was edited: it is empty", exit=MISSING)
    loaded = load_text(text, "plan", before.catalog)
    flow = loaded.flow
    flow.name, flow.description = flow.name or before.name, flow.description or before.description
    if not flow.inputs:
        flow = with_inputs(flow, before)
    return flow, [each for each in check(wire(flow), loaded.findings) if not each.is_warning]


def with_inputs(flow: Flow, before: Flow) -> Flow:
    """The flow with the inputs that it had before, each where all that read it have one literal now: its value."""
    changed = copy(flow)
    changed.steps = [copy(step) for step in flow.steps]
    for declared in before.inputs.values():
        readers = _readers(before, declared.name)
        values = [_literal(changed, id, key) for id, key in readers]
        if readers and values[0] is not None and all(value == values[0] for value in values):
            _declare(changed, declared, readers, values[0])
    if changed.inputs:  # with some inputs declared, all have to be
        wired = wire(flow)
        for wanted in [wired.inputs[each.input] for each in wired.references if each.input in wired.inputs]:
            name = wanted.name
            new = Input(name, type=str(wanted.type), description=wanted.doc, required=wanted.required)
            changed.inputs.setdefault(name, copy(before.inputs.get(name, new)))
    return changed


def _readers(flow: Flow, name: str) -> list[tuple[str, str]]:
    """The (step, read) that an input alone gives."""
    return [(step.id, key) for step in flow.steps for key, path in step.input_mappings.items() if path == name]


def _literal(flow: Flow, id: str, key: str) -> Any:
    """The literal of a read in a step; None without one, and for a template."""
    step = next((step for step in flow.steps if step.id == id), None)
    value = step.inputs.get(key) if step is not None else None
    return None if isinstance(value, str) and "$" in value else value


def _declare(flow: Flow, before: Input, readers: list[tuple[str, str]], value: Any) -> None:
    """Declare an input again; where its value is another now, the description says that one."""
    declared = copy(before)
    if before.has_default and value != before.default:
        flow.description = with_value(flow.description, before.default, value)
    declared.default, declared.has_default, declared.required = value, True, False
    flow.inputs = {**flow.inputs, before.name: declared}
    for id, key in readers:
        step = flow.step(id)
        step.inputs = {name: each for name, each in step.inputs.items() if name != key}
        step.input_mappings = {**step.input_mappings, key: before.name}
