"""A client's text, checked or planned from interfaces alone: no file that it names is opened, and nothing is run."""

from __future__ import annotations

from typing import Any

from pflow.errors import BAD_DATA, USAGE, PflowError
from pflow.explain.pipe_form import pipe_of
from pflow.flow.findings import SHAPE, Finding
from pflow.flow.load import load_document, load_text
from pflow.flow.pipe import is_pipe
from pflow.flow.rules import check as check_rules
from pflow.flow.subflow import FlowCatalog
from pflow.flow.unload import flow_to_ir
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.plan.planner import plan_sentence
from pflow.terminal.messages import say


def check(flow: Any) -> dict[str, Any]:
    """What is wrong with a flow: its IR, or a text that is IR or pipe syntax.

    A step that is a path to a flow is reported as a type that does not exist (`FlowCatalog.opens_files`).
    """
    try:
        wired, findings = _load(flow)
    except PflowError as error:
        if error.exit not in (BAD_DATA, USAGE):
            raise
        finding = Finding(SHAPE, (), error.message, error.hint)
        return {"ok": False, "findings": [finding.as_json()], "steps": 0}
    is_good = all(each.is_warning for each in findings)
    about = {"ok": is_good, "findings": [each.as_json() for each in findings], "steps": len(wired.steps)}
    return {**about, "ir": flow_to_ir(wired.flow)}


def plan(text: str) -> dict[str, Any]:
    """The flow that a text describes: pipe syntax is compiled, a sentence goes to the model.

    Raises PflowError for wrong pipe syntax, and as `plan_sentence` does.
    """
    if is_pipe([text]):
        wired, findings = _load(text)
        return {**forms_of(wired), "findings": [each.as_json() for each in findings]}
    planned = plan_sentence(text, report=lambda line: say("pflow plan", line))
    findings = planned.findings
    return {**forms_of(wire(planned.flow)), "findings": [each.as_json() for each in findings], "model": planned.model}


def forms_of(wired: WiredFlow) -> dict[str, Any]:
    """A flow as IR, and as pipe syntax where there is a pipe form."""
    about: dict[str, Any] = {"ir": flow_to_ir(wired.flow)}
    try:
        about["pipe"] = pipe_of(wired)
    except PflowError as error:
        about["no_pipe"] = error.message
    return about


def _load(flow: Any) -> tuple[WiredFlow, list[Finding]]:
    """The flow, wired and checked. Raises PflowError where it does not parse."""
    catalog = FlowCatalog()
    loaded = load_text(flow, "the flow", catalog) if isinstance(flow, str) else load_document(flow, "the flow", catalog)
    warnings = [Finding("PF14", (), each, is_warning=True) for each in loaded.flow.warnings]
    wired = wire(loaded.flow)
    return wired, [*warnings, *check_rules(wired, loaded.findings)]
