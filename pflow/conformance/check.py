"""A check: what it demands of a node, and how it says that a run did not meet it."""

from __future__ import annotations

import re
import signal

from pflow.conformance.documents import Answer
from pflow.errors import EXIT_CODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from pflow.conformance.trial import Run, Trial


class Check:
    """One demand: its id, what it wants in words, and the function that raises Failed where it is not met."""

    __slots__ = ("demand", "function", "id")

    def __init__(self, id: str, demand: str, function: Callable[[Trial], None]) -> None:
        self.id = id
        self.demand = demand
        self.function = function


class Failed(Exception):
    """A demand that was not met: by which run (None: by its file), what came, what was expected, what to change."""

    def __init__(self, run: Run | None, came: str, expected: str, change: str = "") -> None:
        super().__init__(came)
        self.run = run
        self.came = came
        self.expected = expected
        self.change = change


def fail(run: Run | None, came: str, expected: str, change: str = "") -> NoReturn:
    raise Failed(run, came, expected, change)


def expect_exit(run: Run, code: int, change: str = "") -> None:
    """That it ended with this code."""
    if run.code != code:
        fail(run, how_it_ended(run), f"exit code {code} ({EXIT_CODES.get(code, 'as the document says')})", change)


def expect_refusal(run: Run, code: int, change: str = "") -> None:
    """That it ended with this code, and touched nothing."""
    expect_exit(run, code, change)
    expect_nothing_done(run)


def expect_nothing_done(run: Run) -> None:
    if run.changed:
        fail(run, f"it changed {', '.join(run.changed)}", "nothing is done", "look at the input before you do anything")


def expect_answer(run: Run, change: str = "") -> Answer:
    """That it ended well, with a document, which is returned."""
    expect_exit(run, 0, change)
    if isinstance(run.answer, str):
        fail(run, f"on stdout: {run.answer}", "one store document", change)
    if run.answer.error:
        fail(run, f"an error document: {run.answer.error.get('message')}", "a document without an error", change)
    return run.answer


def expect_order(run: Run, about: str) -> None:
    """That it ended well, or refused in order: a code that means something, and a word on stderr."""
    if run.code == 0:
        expect_answer(run, f"answer, or refuse {about} with 65")
    elif run.code not in EXIT_CODES or run.code == 70 or "Traceback (most recent call last)" in run.stderr:
        fail(run, how_it_ended(run), "an answer, or a refusal: 65 and a line on stderr", f"take {about} as any other")


def shown(data: bytes) -> str:
    """The beginning of what came, in quotes."""
    text = repr(data[:120].decode("utf-8", "backslashreplace"))
    return text if len(data) <= 120 else f"{text}…"


def how_it_ended(run: Run) -> str:
    """The exit code, and the last that was said."""
    if run.code is None:
        return run.unended
    said = run.stderr.strip().splitlines()
    code = f"signal {-run.code} ({signal.strsignal(-run.code)})" if run.code < 0 else f"exit code {run.code}"
    if run.code in (126, 127) and not said:
        return f"{code}: its interpreter, or a program that it runs, is missing"
    return f"{code}: {_telling(said)}" if said else code


def _telling(said: list[str]) -> str:
    """The line that says why: pflow's own, else one that names an error as interpreters do, else the last."""
    for begins in ("pflow-", "pflow: "):
        if own := [line for line in said if line.startswith(begins)]:
            return own[-1]
    return next((line for line in reversed(said) if re.match(r"[\w.]*(Error|Exception)\b", line)), said[-1])
