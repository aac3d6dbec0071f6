"""Explaining a flow: an account of it, as data, before anything of it runs."""

from __future__ import annotations

from copy import copy

from pflow.errors import PflowError
from pflow.explain.effects import touches
from pflow.explain.layout import layout
from pflow.explain.needs import gives, needs, piped
from pflow.explain.origins import Origins
from pflow.explain.steps import steps
from pflow.templates import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow, Step
    from pflow.flow.wired import WiredFlow, WiredStep

_REFUSED = "cannot write the flow in pipe syntax: "

MASK = "***"
"""What stands for a secret."""


def explain(plan: WiredFlow, findings: Iterable[Finding] = ()) -> dict[str, Any]:
    """The account of a flow: its `pipe` (or `pipe_fault`: why it is none), `steps`, what it `touches`, `needs` and
    `gives`, the layout of its `store`, and every finding of it."""
    flow, origins = plan.flow, Origins(plan)
    pipe, fault = _pipe(plan)
    found = list(findings)
    warnings = [*flow.warnings, *(str(finding) for finding in found if finding.is_warning)]
    return {
        "name": flow.name,
        "description": flow.description,
        "dialect": flow.dialect,
        "pipe": pipe,
        "pipe_fault": fault,
        "steps": steps(plan, origins),
        "touches": touches(plan, origins),
        "needs": needs(plan),
        "piped": piped(plan),
        "gives": gives(plan, origins),
        "store": layout(plan, origins),
        "warnings": list(dict.fromkeys(warnings)),
        "findings": [finding.as_json() for finding in found],
    }


def _pipe(plan: WiredFlow) -> tuple[str | None, str]:
    """The flow in pipe syntax; without one, why it cannot be said so."""
    from pflow.flow.pipe import write_pipe

    try:
        return write_pipe(without_secrets(plan)).rstrip("\n"), ""
    except PflowError as error:
        return None, error.message.removeprefix(_REFUSED)


def without_secrets(plan: WiredFlow) -> Flow:
    """The flow as it is written, a mask in place of each secret."""
    masked = copy(plan.flow)
    masked.steps = [_masked(step, plan.steps[step.id]) for step in masked.steps]
    return masked


def _masked(step: Step, wired: WiredStep) -> Step:
    masked = copy(step)
    items = {**wired.interface.params, **wired.interface.reads}
    secrets = {key for key, item in items.items() if "secret" in item.marks}
    masked.params = {key: MASK if key in secrets else value for key, value in step.params.items()}
    masked.inputs = {key: MASK if key in secrets else value for key, value in step.inputs.items()}
    masked.input_mappings = {
        key: TEMPLATE + MASK if key in secrets and str(source).startswith(TEMPLATE) else source
        for key, source in step.input_mappings.items()
    }
    return masked
