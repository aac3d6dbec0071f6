"""Planning for a client: pipe syntax is compiled, a sentence goes to a model; the flow comes back and is not run."""

from __future__ import annotations

import os

from pflow.errors import PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow


def is_pipe_syntax(text: str) -> bool:
    from pflow.flow.pipe import is_pipe

    return is_pipe([text])


def main() -> None:
    """The child's part: a sentence on stdin, one JSON object on stdout: a plan, or `error` with message, hint, exit."""
    from pflow.jsontext import encode
    from pflow.stage.main import leave
    from pflow.stage.stdin import read_chunks

    try:
        about = plan(str(b"".join(read_chunks()), "utf-8"))
    except PflowError as error:
        about = {"error": {"message": error.message, "hint": error.hint, "exit": error.exit}}
    _write(encode(about, escape=False))
    leave(0)


def plan(sentence: str) -> dict[str, Any]:
    """The plan of a sentence. Raises what `plan_sentence` does."""
    from pflow.plan.planner import plan_sentence
    from pflow.stage.failure import say

    planned = plan_sentence(sentence, tell=lambda line: say("pflow plan", line))
    findings = [each.as_json() for each in planned.findings]
    return {**told(planned.flow), "findings": findings, "model": planned.model}


def told(flow: Flow) -> dict[str, Any]:
    """A flow as IR, and as pipe syntax where that can say it."""
    from pflow.flow.unload import flow_to_ir
    from pflow.plan.paste.pasted import pipe_of

    about: dict[str, Any] = {"ir": flow_to_ir(flow)}
    try:
        about["pipe"] = pipe_of(flow, {})
    except PflowError as error:
        about["no_pipe"] = error.message
    return about


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]
