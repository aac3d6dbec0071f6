"""A conversation with a model until its answer passes: what is wrong goes back to it, three tries in all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pflow.errors import BAD_DATA, TIMED_OUT, PflowError
from pflow.flow.findings import Finding
from pflow.models.choose import is_small
from pflow.models.talk import OutOfTime, Said, Talk
from pflow.plan.answer import refusal
from pflow.plan.secrets import refuse_secrets
from pflow.process.signals import Deadline, TimedOut
from pflow.process.streams import Diverted
from pflow.terminal.columns import shorten

if TYPE_CHECKING:
    from pflow.models.choose import Model

Report = Callable[[str], None]
Judge = Callable[[Said], tuple[Any, list[Finding]]]
"""What an answer amounts to (None for nothing), and why it will not do (an empty list where it will)."""

TRIES = 3
TIMEOUT = 300.0
"""Seconds that all tries may take by default."""

_LONGEST = 1e8
"""Seconds that a timer can be set to, and more than anybody waits."""


@dataclass
class Request:
    """What a model is asked for: the `system` text, the `task`, how findings go back, the `schema` of an answer."""

    system: str
    task: str
    findings_text: Callable[[Sequence[Finding]], str]
    schema: Callable[[], dict[str, Any]]


@dataclass
class Outcome:
    """The answer that passed, else the best: the `result`, what is wrong with it, and how many tries it took."""

    result: Any = None
    findings: list[Finding] = field(default_factory=list)
    tries: int = 0

    @property
    def is_right(self) -> bool:
        return self.result is not None and not self.findings


def converse(
    model: Model, request: Request, judge: Judge, report: Report, timeout: float | None = None, tries: int = TRIES
) -> Outcome:
    """Ask until an answer passes. `timeout` (seconds) is for all tries, `report` gets short lines on the progress.

    Raises PflowError: 2 for a secret in the task, 124 where the time runs out, and what asking a model raises.
    """
    refuse_secrets(f"ask '{model.model_id}'", request.task, "the sentence or the flow")
    seconds = TIMEOUT if timeout is None else timeout
    best, text = Outcome(), request.task
    with Diverted(), _time_limit(seconds, f"ask '{model.model_id}'"):  # stdout is for the result, not for libraries
        talk = Talk(model, request.system, ends_at=time.monotonic() + seconds)
        talk.has_schemas = talk.has_schemas and not is_small(model)
        while best.tries < tries and not best.is_right:
            best.tries += 1
            report(f"asking {model.model_id}" + (f" again, try {best.tries} of {tries}" if best.tries > 1 else ""))
            said = _say(talk, text, request.schema)
            result, findings = judge(said)
            if best.tries == 1 or (result is None, len(findings)) <= (best.result is None, len(best.findings)):
                best.result, best.findings = result, findings
            if findings:
                report(count_findings(findings))
                if refusal(said):
                    break
            text = request.findings_text(findings)
    return best


def count_findings(findings: Sequence[Finding]) -> str:
    """How many faults there are, and the first, in a line."""
    many = f"{len(findings)} fault{'s' if len(findings) > 1 else ''}"
    return f"{many}, the first: {shorten(str(findings[0]), 160)}"


def _say(talk: Talk, text: str, schema: Callable[[], dict[str, Any]]) -> Said:
    """Ask with a schema; without one where the provider refuses it."""
    if not talk.has_schemas:
        return talk.say(text)
    try:
        return talk.say(text, schema=schema())
    except PflowError as error:
        if error.exit != BAD_DATA:
            raise
        talk.has_schemas = False
        return talk.say(text)


@contextmanager
def _time_limit(seconds: float, act: str) -> Iterator[None]:
    """Raise PflowError (124), that it took too long to `act`, once so many seconds have passed.

    Only the main thread is interrupted; in any other what is asked for looks at the time itself (OutOfTime).
    """
    is_main = threading.current_thread() is threading.main_thread()
    deadline = Deadline(min(seconds, _LONGEST) if is_main else None)
    try:
        with deadline:
            yield
    except (OutOfTime, TimedOut) as error:
        if isinstance(error, TimedOut) and error.deadline is not deadline:
            raise
        what = f"cannot {act}: it took longer than {seconds:g} s"
        raise PflowError(what, hint="--timeout gives it longer", exit=TIMED_OUT) from None
