"""The trial of a node: its runs, what a check may ask of them, and the table that the checks enter."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from pflow.conformance.node import TestedNode
from pflow.conformance.samples import FILES, Answer, Samples, document, read_answer, same
from pflow.conformance.sandbox import Ended, Sent, run_in
from pflow.errors import EXIT_CODES
from pflow.interface import Item

PATIENCE = 2
"""After so many runs that did not end, nothing more is tried."""

NO_INTERFACE, UNTIL_IT_RUNS = "there is no interface to go by (see interface)", "it does not run (see runs)"
NEVER_ENDS = f"{PATIENCE} runs did not end by themselves"

ALIENS: dict[str, Any] = {
    "zebra": {"b": [1, None, {"a": True}], "a": ""},
    "Some key": ["of another node", 2.5],
    "émile": "naïve",
}
"""Keys that no node knows."""


class Skipped(Exception):
    """A check that does not apply, and why."""


class Failed(Exception):
    """A demand that was not met: by which run (None: by the file), what came, what was expected, what to change."""

    def __init__(self, run: Run | None, came: str, expected: str, change: str = "") -> None:
        super().__init__(came)
        self.run, self.came, self.expected, self.change = run, came, expected, change


@dataclass(frozen=True)
class Check:
    """One demand: its id, what it wants in words, and the function that raises Failed or Skipped."""

    id: str
    demand: str
    function: Callable[[Trial], None]


CHECKS: list[Check] = []


def check(id: str, demand: str, *, of_good_run: bool = True) -> Callable[[Callable[[Trial], None]], Check]:
    """Enter a function into the table of checks. With `of_good_run` it is skipped for a node that does not run."""

    def enter(function: Callable[[Trial], None]) -> Check:
        def run(trial: Trial) -> None:
            if of_good_run:
                trial.answer  # noqa: B018 - raises Skipped
            function(trial)

        CHECKS.append(Check(id, demand, run))
        return CHECKS[-1]

    return enter


class Run:
    """One run: what was sent, how it ended, its answer, and which files it changed."""

    def __init__(self, sent: Sent, ended: Ended) -> None:
        self.sent = sent
        self.code, self.unended = ended.code, ended.unended
        self.stdout = ended.stdout
        self.stderr = ended.stderr.decode("utf-8", "replace")
        self.changed, self.left_running = ended.changed, ended.left_running

    @cached_property
    def answer(self) -> Answer | str:
        """The document that it wrote, or why there is none."""
        return read_answer(self.stdout)

    def member(self, key: str) -> Any:
        """A value of its answer; `no such key` without one."""
        return self.answer.members.get(key, "no such key") if isinstance(self.answer, Answer) else "no such key"

    def writes(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """What it wrote of these keys, and the action that it returned."""
        if not isinstance(self.answer, Answer):
            return {}
        found = {name: self.answer.members[name] for name in names if name in self.answer.members}
        return {**found, "$action": self.answer.action}

    def fail(self, came: str, expected: str, change: str = "") -> NoReturn:
        raise Failed(self, came, expected, change)

    def expect_exit(self, code: int, change: str = "") -> None:
        if self.code != code:
            expected = f"exit code {code} ({EXIT_CODES.get(code, 'as the document says')})"
            self.fail(how_it_ended(self), expected, change)

    def expect_refusal(self, code: int, change: str = "") -> None:
        """That it ended with this code, and touched nothing."""
        self.expect_exit(code, change)
        self.expect_nothing_done()

    def expect_nothing_done(self) -> None:
        if self.changed:
            self.fail(f"it changed {', '.join(self.changed)}", "nothing is done", "look at the input before you act")

    def expect_answer(self, change: str = "") -> Answer:
        """The document that it wrote, with exit code 0 and without an error."""
        self.expect_exit(0, change)
        if isinstance(self.answer, str):
            self.fail(f"on stdout: {self.answer}", "one store document", change)
        if self.answer.error:
            self.fail(f"an error document: {self.answer.error.get('message')}", "a document without an error", change)
        return self.answer

    def expect_order(self, about: str) -> None:
        """That it ended well, or refused with a code that means something and words on stderr."""
        if self.code == 0:
            self.expect_answer(f"answer, or refuse {about} with 65")
        elif self.code not in EXIT_CODES or self.code == 70 or "Traceback (most recent call last)" in self.stderr:
            expected = "an answer, or a refusal: 65 and a line on stderr"
            self.fail(how_it_ended(self), expected, f"treat {about} like any other input")


class Trial:
    """A node under test. `begun` are its runs so far. `given` are the user's words for runs that must succeed."""

    def __init__(self, node: TestedNode, given: list[str], place: Path, timeout: float) -> None:
        """Raises PflowError (2) where the words do not fit the interface."""
        self.node = node
        self.interface = node.interface
        self.begun: list[Run] = []
        self._place, self._timeout = place, timeout
        self._runs: dict[tuple[object, ...], Run] = {}
        self._samples = None if node.fault or node.interface.open else Samples(node.interface, given)

    @property
    def samples(self) -> Samples:
        """Raises Skipped where the node has no interface."""
        if self._samples is None:
            raise Skipped(NO_INTERFACE)
        return self._samples

    @property
    def pipe(self) -> Item | None:
        """The read that the pipe fills, where it is required or filled at all."""
        return self.interface.reads[self.samples.pipe] if self.samples.pipe else None

    def run(self, words: list[str], stdin: bytes | None, *, under: tuple[str, ...] = (), **more: Any) -> Run:
        """Run the node, `under` another program; `more` as Sent has it. The same again is the run that was made.

        Raises Skipped when too many did not end.
        """
        key = (tuple(words), stdin, under, repr(more))
        if key not in self._runs:
            self._runs[key] = self._run(words, stdin, under, more)
            self.begun.append(self._runs[key])
        return self._runs[key]

    def _run(self, words: list[str], stdin: bytes | None, under: tuple[str, ...], more: dict[str, Any]) -> Run:
        if sum(run.code is None for run in self.begun) >= PATIENCE:
            raise Skipped(NEVER_ENDS)
        sent = Sent(words, stdin, **more)
        sent.files = {**FILES, **sent.files}
        argv = [*under, *self.node.argv, *words]
        return Run(sent, run_in(self._place, argv, sent, self._timeout))

    def run_good(self, *words: str, stdin: bytes | None = None, **more: Any) -> Run:
        """A run with all that the node needs, and more words."""
        return self.run([*self.samples.words_without(), *words], stdin or self.document(), **more)

    def run_with(self, members: Mapping[str, Any]) -> Run:
        """A run with all that the node needs, but with these values in the store."""
        return self.run_good(stdin=document({**ALIENS, **self.samples.members, **members}, self.samples.pipe))

    def document(self, members: Mapping[str, Any] | None = None, *, without: str | None = None, **header: Any) -> bytes:
        """The document that lets the node succeed, with other keys around its own; `without` leaves one read out."""
        around = ALIENS if members is None else members
        last = None if self.samples.pipe == without else self.samples.pipe
        sent = {key: value for key, value in self.members_among(around).items() if key != without}
        return document(sent, last, **header)

    @property
    def members(self) -> dict[str, Any]:
        """The members of the good run's document, in their order."""
        return self.members_among(ALIENS)

    def members_among(self, around: Mapping[str, Any]) -> dict[str, Any]:
        """The node's members, after the first of these and before the rest."""
        return {**dict(list(around.items())[:1]), **self.samples.members, **around}

    def flags_without(self, name: str | None = None) -> list[str]:
        """Every value as a flag, without one. Raises Skipped where one has no flag."""
        words = self.samples.all_words(without=name)
        if words is None:
            raise Skipped("a read is secret, and has no flag")
        return words

    @property
    def good(self) -> Run:
        return self.run_good()

    @property
    def again(self) -> Run:
        """The good run, once more."""
        return self.run_good(environment={"AGAIN": "1"})

    @property
    def answer(self) -> Answer:
        """What it answers when it has all that it needs. Raises Skipped where it does not."""
        good = self.good
        if good.code != 0 or not isinstance(good.answer, Answer) or good.answer.error:
            raise Skipped(UNTIL_IT_RUNS)
        return good.answer

    @property
    def is_steady(self) -> bool:
        """Whether it answers the same twice; a model need not."""
        return same(self.again.writes(self.interface.writes), self.good.writes(self.interface.writes))

    def agrees(self, run: Run) -> bool:
        """Whether a run wrote what the good one did: the same keys, and where it is steady the same values."""
        one, other = run.writes(self.interface.writes), self.good.writes(self.interface.writes)
        return run.code == 0 and (same(one, other) or (one.keys() == other.keys() and not self.is_steady))

    def expect_agreement(self, run: Run, change: str) -> None:
        if not self.agrees(run):
            came, wanted = run.writes(self.interface.writes), self.good.writes(self.interface.writes)
            run.fail(f"it wrote {came!r:.200}", f"{wanted!r:.200}, as for the same from the store", change)


def shown(data: bytes) -> str:
    """The beginning of what came, in quotes."""
    text = repr(data[:120].decode("utf-8", "backslashreplace"))
    return text if len(data) <= 120 else f"{text}…"


def how_it_ended(run: Run) -> str:
    """The exit code, and the line of stderr that says why."""
    if run.code is None:
        return run.unended
    said = run.stderr.strip().splitlines()
    code = f"signal {-run.code} ({signal.strsignal(-run.code)})" if run.code < 0 else f"exit code {run.code}"
    if run.code in (126, 127) and not said:
        return f"{code}: its interpreter, or a program that it runs, is missing"
    return f"{code}: {_reason(said)}" if said else code


def _reason(said: list[str]) -> str:
    """The line that says why: pflow's own, else one that names an error as interpreters do, else the last."""
    for pattern in (r"pflow-|pflow: ", r"[\w.]*(Error|Exception)\b"):
        if lines := [line for line in said if re.match(pattern, line)]:
            return lines[-1]
    return said[-1]
