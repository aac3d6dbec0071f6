"""Planning for a client: pipe syntax is compiled, a sentence goes to a model; the flow comes back and is not run."""

from __future__ import annotations

from pflow.errors import PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow


def plan(text: str) -> dict[str, Any]:
    """The plan of a text. Raises PflowError for wrong pipe syntax, and what `plan_sentence` does."""
    from pflow.flow.pipe import is_pipe

    if is_pipe([text]):
        from pflow.mcp.checking import take

        flow, findings = take(text)
        return {**told(flow), "findings": [each.as_json() for each in findings]}
    from pflow.plan.planner import plan_sentence
    from pflow.terminal.messages import say

    planned = plan_sentence(text, tell=lambda line: say("pflow plan", line))
    findings = planned.findings
    return {**told(planned.flow), "findings": [each.as_json() for each in findings], "model": planned.model}


def told(flow: Flow) -> dict[str, Any]:
    """A flow as IR, and as pipe syntax where that can say it."""
    from pflow.explain.pipe_form import pipe_of
    from pflow.flow.unload import flow_to_ir
    from pflow.flow.wiring import wire

    about: dict[str, Any] = {"ir": flow_to_ir(flow)}
    try:
        about["pipe"] = pipe_of(wire(flow))
    except PflowError as error:
        about["no_pipe"] = error.message
    return about
