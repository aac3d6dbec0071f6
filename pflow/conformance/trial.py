"""The trial of a node: the runs that the checks ask for, and the table that the checks enter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pflow.conformance.node import TestedNode
from pflow.conformance.samples import Answer, Samples, Skipped, document, same
from pflow.conformance.sandbox import Run
from pflow.interface.interface import Item

PATIENCE = 2
"""After so many runs that did not end, nothing more is tried."""

ALIENS: dict[str, Any] = {
    "zebra": {"b": [1, None, {"a": True}], "a": ""},
    "Some key": ["of another node", 2.5],
    "émile": "naïve",
}
"""Keys that no node knows."""


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


class Trial:
    """A node under test. `begun` are its runs so far. `given` are the user's words for runs that must succeed."""

    def __init__(self, node: TestedNode, given: list[str], place: Path, timeout: float) -> None:
        """Raises PflowError (2) where the words do not fit the interface."""
        self.node, self.interface = node, node.interface
        self.begun: list[Run] = []
        self._place, self._timeout = place, timeout
        self._runs: dict[tuple[object, ...], Run] = {}
        self._samples = None if node.fault or node.interface.open else Samples(node.interface, given)

    @property
    def samples(self) -> Samples:
        """Raises Skipped where the node has no interface."""
        if self._samples is None:
            raise Skipped("there is no interface to go by (see interface)")
        return self._samples

    @property
    def pipe(self) -> Item | None:
        """The read that the pipe fills, where it is required or filled at all."""
        return self.interface.reads[self.samples.pipe] if self.samples.pipe else None

    def run(self, words: list[str], stdin: bytes | None, *, under: tuple[str, ...] = (), **more: Any) -> Run:
        """Run the node, `under` another program; `more` as Run has it. The same again is the run that was made.

        Raises Skipped when too many did not end.
        """
        key = (tuple(words), stdin, under, repr(more))
        if key not in self._runs:
            if sum(run.code is None for run in self.begun) >= PATIENCE:
                raise Skipped(f"{PATIENCE} runs did not end by themselves")
            self._runs[key] = run = Run([*under, *self.node.argv, *words], stdin, **more)
            run.start(self._place, self._timeout)
            self.begun.append(run)
        return self._runs[key]

    def run_good(self, *words: str, stdin: bytes | None = None, **more: Any) -> Run:
        """A run with all that the node needs, and more words."""
        return self.run([*self.samples.words_without(), *words], stdin or self.document(), **more)

    def run_without(self, item: Item, *words: str) -> Run:
        """A run with all that the node needs but one read or param; more words may give it."""
        return self.run([*self.samples.words_without(item.name), *words], self.document(without=item.name))

    def document(self, around: Mapping[str, Any] = ALIENS, *, without: str | None = None, **header: Any) -> bytes:
        """The document that lets the node succeed, with other keys around its own; `without` leaves one read out."""
        last = None if self.samples.pipe == without else self.samples.pipe
        sent = {key: value for key, value in self.members_among(around).items() if key != without}
        return document(sent, last, **header)

    def members_among(self, around: Mapping[str, Any] = ALIENS) -> dict[str, Any]:
        """The members of the node's document, after the first of these keys and before the rest."""
        return {**dict(list(around.items())[:1]), **self.samples.members, **around}

    def run_by_flags(self, stdin: bytes | None, *, without: str | None = None, apart: bool = False) -> Run:
        """A run with every value as a flag, but one. Raises Skipped where one has no flag."""
        return self.run(self.samples.all_words(without=without, apart=apart), stdin)

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
            raise Skipped("it does not run (see runs)")
        return good.answer

    @property
    def is_steady(self) -> bool:
        """Whether it answers the same twice; a model need not."""
        return same(self.again.writes(self.interface.writes), self.good.writes(self.interface.writes))

    def expect_agreement(self, run: Run, change: str, expected: str = "as for the same from the store") -> None:
        """That a run wrote what the good one did: the same keys, and where the node is steady the same values."""
        run.expect_answer(change)
        good, other = self.good.writes(self.interface.writes), run.writes(self.interface.writes)
        if good.keys() == other.keys() and (run is not self.again and not self.is_steady):
            return
        for key in {**good, **other}:
            if not same(good.get(key), other.get(key)):
                run.fail(f"{key}: {other.get(key)!r:.100}", f"{good.get(key)!r:.100}, {expected}", change)
