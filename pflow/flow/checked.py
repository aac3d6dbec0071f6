"""A flow as commands take it: loaded by the words that name it, wired, and checked."""

from __future__ import annotations

import os

from pflow.errors import USAGE, PflowError
from pflow.flow.findings import refuse_errors
from pflow.flow.flow import FlowSpec
from pflow.flow.subflow import load_named
from pflow.flow.wired import WiredFlow
from pflow.terminal.messages import say

MOST_WARNINGS = 5


def load(words: list[str]) -> FlowSpec:
    """Load the flow that the words name. Raises PflowError (65) if its shape is wrong, after saying all findings."""
    if not words:
        hint = "pflow run FLOW.pflow.json, or pflow run 'a => b'"
        raise PflowError("cannot run: the flow is missing", hint=hint, exit=USAGE)
    flow = load_named(words, is_run_here=True)
    if words == [flow.file]:
        flow.name = flow.name or os.path.basename(flow.file).removesuffix(".json").removesuffix(".pflow")
    refuse_errors(flow.findings)
    return flow


def checked(flow: FlowSpec, act: str = "run", *, opens_files: bool = True) -> WiredFlow:
    """Wire a flow and say its warnings, without those that a run says itself. Raises PflowError (65) for errors."""
    from pflow.flow.rules import check
    from pflow.flow.wiring import wire

    wired = wire(flow)
    wired.opens_files = opens_files and act in ("run", "map")
    findings = check(wired)
    refuse_errors(findings, act)
    is_pocketflow = all(step.made is not None for step in flow.steps)
    said_now = [str(finding) for finding in findings if act != "run" or not (is_pocketflow or finding.is_said_by_run)]
    warnings = [*(f"warning: {warning}" for warning in flow.warnings), *said_now]
    for warning in warnings[:MOST_WARNINGS]:
        say(f"pflow {act}", warning)
    if len(warnings) > MOST_WARNINGS:
        say(f"pflow {act}", f"{len(warnings) - MOST_WARNINGS:,} more warnings: pflow check lists them")
    return wired
