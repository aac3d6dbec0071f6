"""Asking a model until its answer passes: what is found wrong goes back to it, three tries in all."""

from __future__ import annotations

import time

from pflow.errors import BAD_DATA, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from llm import Model

    from pflow.flow.findings import Finding
    from pflow.models.talk import Said, Talk

    Judge = Callable[[Said], tuple[Any, list[Finding]]]
    """What an answer amounts to (None for nothing), and why it will not do (nothing where it will)."""

TRIES = 3
TIMEOUT = 300.0
"""Seconds that all tries may take where nobody says."""


class Request:
    """What a model is asked for: the `system` text and the `task`, the `schema` of an answer, how findings go back."""

    def __init__(
        self, system: str, task: str, again: Callable[[Sequence[Finding]], str], schema: Callable[[], dict[str, Any]]
    ) -> None:
        self.system = system
        self.task = task
        self.again = again
        self.schema = schema


class Heard:
    """The answer that passed, else the best: the `result`, what is wrong with it, and how many tries it took."""

    def __init__(self) -> None:
        self.result: Any = None
        self.findings: list[Finding] = []
        self.tries = 0

    @property
    def is_right(self) -> bool:
        return self.result is not None and not self.findings


def unsettled(message: str, findings: Sequence[Finding], *, hint: str = "", exit: int = BAD_DATA) -> PflowError:
    """The error of a change that did not come about, with the findings that say why for `--json`."""
    return PflowError(message, hint=hint, exit=exit, details={"findings": [each.as_json() for each in findings]})


def hear(
    model: Model, request: Request, judge: Judge, tell: Callable[[str], None], timeout: float | None = None
) -> Heard:
    """Ask until an answer passes. `timeout` (seconds) is for all of it.

    Raises PflowError: 124 where the time runs out, and what asking a model raises.
    """
    from pflow.plan.timing import limited
    from pflow.process.stdout import Diverted

    seconds = TIMEOUT if timeout is None else timeout
    with Diverted(), limited(seconds, f"ask '{model.model_id}'"):  # what a model's library prints is no result
        return hear_until(time.monotonic() + seconds, model, request, judge, tell)


def hear_until(
    ends_at: float, model: Model, request: Request, judge: Judge, tell: Callable[[str], None], tries: int = TRIES
) -> Heard:
    """The same until a time of the monotonic clock. Raises OutOfTime, and PflowError (2) for a secret in the task."""
    from pflow.models.choose import is_small
    from pflow.models.talk import Talk
    from pflow.plan.answer import refusal
    from pflow.plan.secrets import refuse_secrets

    refuse_secrets(f"ask '{model.model_id}'", request.task, "the sentence or the flow")
    talk = Talk(model, request.system, ends_at=ends_at)
    talk.has_schemas = talk.has_schemas and not is_small(model)
    heard, text = Heard(), request.task
    while heard.tries < tries and not heard.is_right:
        heard.tries += 1
        tell(f"asking {model.model_id}" + (f" again, try {heard.tries} of {tries}" if heard.tries > 1 else ""))
        said = _say(talk, text, request.schema)
        result, findings = judge(said)
        if heard.tries == 1 or _is_better(result, findings, heard):
            heard.result, heard.findings = result, findings
        if findings:
            tell(faults_line(findings))
            if refusal(said):
                break
        text = request.again(findings)
    return heard


def faults_line(findings: Sequence[Finding]) -> str:
    """How many faults there are, and the first, in a line."""
    from pflow.terminal.columns import shorten

    many = f"{len(findings)} fault{'s' if len(findings) > 1 else ''}"
    return f"{many}, the first: {shorten(str(findings[0]), 160)}"


def _say(talk: Talk, text: str, schema: Callable[[], dict[str, Any]]) -> Said:
    """Ask with a schema; where the provider will not have it (not every one takes every schema), without."""
    if not talk.has_schemas:
        return talk.say(text)
    try:
        return talk.say(text, schema=schema())
    except PflowError as error:
        if error.exit != BAD_DATA:
            raise
        talk.has_schemas = False
        return talk.say(text)


def _is_better(result: Any, findings: list[Finding], heard: Heard) -> bool:
    """An answer is better than none, fewer findings than more, the latest of those alike."""
    return (result is None, len(findings)) <= (heard.result is None, len(heard.findings))
