"""Editing a plan: as the text that a person sees, read and checked again, its inputs declared again."""

from __future__ import annotations

from copy import copy

from pflow.errors import MISSING, PflowError
from pflow.plan.change.renamed import renamed
from pflow.plan.paste.pasted import pipe_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow, Input
    from pflow.plan.show.settled import Settled


class Edited:
    """A flow that was edited, and what is wrong with it; no `flow` where the text does not parse."""

    def __init__(self, flow: Flow | None, findings: list[Finding]) -> None:
        self.flow = flow
        self.findings = findings

    @property
    def is_right(self) -> bool:
        return self.flow is not None and all(finding.is_warning for finding in self.findings)


def text_of(settled: Settled) -> tuple[str, str]:
    """A plan to edit, with a name for its file: pipe syntax, its inputs as literals; where there is none, its IR."""
    from pflow.flow.unload import canonical_json, flow_to_ir
    from pflow.terminal.columns import clean

    flow = settled.plan.flow
    try:
        about = f"# {clean(flow.description)}\n" if flow.description else ""
        return f"{about}{pipe_of(flow, settled.values).rstrip()}\n", "plan.pflow"
    except PflowError:
        return canonical_json(flow_to_ir(flow)), "plan.pflow.json"


def read_edited(text: str, settled: Settled) -> Edited:
    """What the text says now. Raises PflowError: 66 where it is empty, 65 and 2 where it does not parse."""
    from pflow.flow.load import load_text
    from pflow.flow.rules import check
    from pflow.flow.wiring import wire

    before = settled.plan.flow
    if not _without_comments(text):
        raise PflowError("cannot take what was edited: it is empty", exit=MISSING)
    loaded = load_text(text, "plan", before.catalog)
    flow = loaded.flow
    flow.name, flow.description = flow.name or before.name, flow.description or before.description
    if not flow.inputs:
        flow = with_inputs(flow, before)
    return Edited(flow, check(wire(flow), loaded.findings))


def _without_comments(text: str) -> str:
    return "".join(line for line in text.split("\n") if not line.lstrip().startswith("#")).strip()


def with_inputs(flow: Flow, before: Flow) -> Flow:
    """The flow with the inputs that it had before, each where all that read it have one literal now: its value."""
    changed = copy(flow)
    changed.steps = [copy(step) for step in flow.steps]
    for given in before.inputs.values():
        readers = _readers(before, given.name)
        values = [_literal(changed, id, key) for id, key in readers]
        if readers and values[0] is not None and all(value == values[0] for value in values):
            _declare(changed, given, readers, values[0])
    if changed.inputs:
        _declare_others(changed, flow, before)
    return changed


def _declare_others(changed: Flow, flow: Flow, before: Flow) -> None:
    """Declare what else the flow takes from outside: with some inputs declared, all have to be."""
    from pflow.flow.flow import Input
    from pflow.flow.wiring import wire

    plan = wire(flow)
    for name in {each.input: None for each in plan.references if each.input in plan.inputs}:
        if name is None or name in changed.inputs:
            continue
        given = plan.inputs[name]
        new = Input(name, type=str(given.type), description=given.doc, required=given.required)
        changed.inputs[name] = copy(before.inputs.get(name, new))


def _readers(flow: Flow, name: str) -> list[tuple[str, str]]:
    """The (step, read) that an input alone gives."""
    return [(step.id, key) for step in flow.steps for key, path in step.input_mappings.items() if path == name]


def _literal(flow: Flow, id: str, key: str) -> Any:
    """What stands for a read in a step; None for nothing, and for what holds a template."""
    step = next((step for step in flow.steps if step.id == id), None)
    value = step.inputs.get(key) if step is not None else None
    return None if isinstance(value, str) and "$" in value else value


def _declare(flow: Flow, given: Input, readers: list[tuple[str, str]], value: Any) -> None:
    """Declare an input again; where its value is another now, the description says that one."""
    declared = copy(given)
    if given.has_default and value != given.default:
        flow.description = renamed(flow.description, given.default, value)
    declared.default, declared.has_default, declared.required = value, True, False
    flow.inputs = {**flow.inputs, given.name: declared}
    for id, key in readers:
        step = flow.step(id)
        step.inputs = {name: each for name, each in step.inputs.items() if name != key}
        step.input_mappings = {**step.input_mappings, key: given.name}
