"""Checking a flow's text: its shape and every rule, from interfaces alone; no file that it names is opened."""

from __future__ import annotations

from pflow.catalog.flows import is_flow_type
from pflow.errors import BAD_DATA, USAGE, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow


def check(flow: Any) -> dict[str, Any]:
    """What is wrong with a flow: its IR, or a text that is IR or pipe syntax. Nothing is run, imported or opened.

    A step that is a path to a flow is found as a type that does not exist (`FlowCatalog.opens_files`).
    """
    from pflow.flow.findings import SHAPE
    from pflow.flow.findings import Finding as Found
    from pflow.flow.unload import flow_to_ir

    try:
        taken, findings = take(flow)
    except PflowError as error:
        if error.exit not in (BAD_DATA, USAGE):
            raise
        finding = Found(SHAPE, (), error.message, error.hint)
        return {"ok": False, "findings": [finding.as_json()], "steps": 0}
    told = [each.as_json() for each in findings]
    is_good = all(each.is_warning for each in findings)
    return {"ok": is_good, "findings": told, "steps": len(taken.steps), "ir": flow_to_ir(taken)}


def take(flow: Any) -> tuple[Flow, list[Finding]]:
    """The flow, wired and checked. Raises PflowError where it does not parse."""
    from pflow.flow.findings import Finding as Found
    from pflow.flow.load import load_document, load_text
    from pflow.flow.rules import check as check_rules
    from pflow.flow.subflow import FlowCatalog
    from pflow.flow.wiring import wire

    catalog = FlowCatalog()
    loaded = load_text(flow, "the flow", catalog) if isinstance(flow, str) else load_document(flow, "the flow", catalog)
    doubts = [Found("PF14", (), each, is_warning=True) for each in loaded.flow.warnings]
    found = check_rules(wire(loaded.flow), loaded.findings)
    return loaded.flow, [*doubts, *(_about_files(loaded.flow, each) for each in found)]


def _about_files(flow: Flow, finding: Finding) -> Finding:
    """A finding that a step's type is not there, in words that fit where the type is the path of a file."""
    from pflow.flow.findings import Finding as Found

    paths = [step.type for step in flow.steps if is_flow_type(step.type) and not step.type.startswith("flow:")]
    path = next((each for each in paths if finding.rule == "PF11" and f"'{each}'" in finding.message), None)
    if path is None:
        return finding
    return Found("PF11", finding.place, f"'{path}' is a file, and none is opened here", "flow:NAME is a saved flow")
