"""The place where a node is tried: a new directory for each run, an environment of its own, and what came of it."""

from __future__ import annotations

import os
import time

from pflow.conformance.documents import Answer, document, read_answer, same
from pflow.conformance.place import environment, furnish, remove, snapshot
from pflow.conformance.process import ALL, run_process
from pflow.conformance.samples import FILES, Samples
from pflow.errors import CANNOT_WRITE, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pflow.conformance.process import Ended
    from pflow.conformance.target import Target

PATIENCE = 2
"""After so many runs that did not end by themselves, nothing more is tried."""

NO_INTERFACE, UNTIL_IT_RUNS = "there is no interface to go by (see interface)", "it does not run (see runs)"
NEVER_ENDS = f"{PATIENCE} runs did not end by themselves"
"""Why most checks have nothing to look at then."""

ALIENS: dict[str, Any] = {
    "zebra": {"b": [1, None, {"a": True}], "a": ""},
    "Some key": ["of another node", 2.5],
    "émile": "naïve",
}
"""Keys that no node knows."""


class Skipped(Exception):
    """A check that has nothing to look at, and why."""


class Run:
    """One run: what was sent, how it ended, its answer, and which files it changed."""

    def __init__(self, sent: Sent, ended: Ended, changed: list[str]) -> None:
        self.sent = sent
        self.code = ended.code
        self.unended = ended.unended
        self.stdout = ended.stdout
        self.stderr = ended.stderr.decode("utf-8", "replace")
        self.left_running = ended.left_running
        self.changed = changed
        self._answer: Answer | str | None = None

    @property
    def answer(self) -> Answer | str:
        """The document that it wrote, or why there is none."""
        if self._answer is None:
            self._answer = read_answer(self.stdout)
        return self._answer

    def writes(self, names: Mapping[str, Any]) -> dict[str, Any]:
        """What it wrote of these keys, and the action that it returned."""
        if not isinstance(self.answer, Answer):
            return {}
        found = {name: self.answer.members[name] for name in names if name in self.answer.members}
        return {**found, "$action": self.answer.action}


class Sent:
    """What a run was given: words, stdin, environment, how its reader behaves, the files beside it.

    With `grace`, seconds, it is seen whether anything runs on when it has ended.
    """

    def __init__(
        self,
        words: list[str],
        stdin: bytes | None,
        environment: Mapping[str, str] | None = None,
        reader: int | None = ALL,
        files: Mapping[str, str] | None = None,
        grace: float | None = None,
    ) -> None:
        self.words = words
        self.stdin = stdin
        self.environment = environment or {}
        self.reader = reader
        self.files = files or {}
        self.grace = grace


class Trial:
    """A node under test. `begun` are the runs so far; `good` is the run with all that it needs."""

    def __init__(self, target: Target, given: list[str], place: str, timeout: float) -> None:
        self.target = target
        self.place = place
        self.timeout = timeout
        self.begun: list[Run] = []
        self._kept: dict[str, Run] = {}
        self._given = given
        self._samples: Samples | None = None
        self._late = 0
        self.first_second = 0.0
        """When the good run was, in seconds since 1970."""

    def take_words(self) -> None:
        """Raise PflowError (2) where the user's words do not fit the interface."""
        if not self.target.fault and not self.target.interface.open:
            self._samples = Samples(self.target.interface, self._given)

    @property
    def samples(self) -> Samples:
        """Raises Skipped where the interface says nothing."""
        if self._samples is None:
            raise Skipped(NO_INTERFACE)
        return self._samples

    def run(self, words: list[str], stdin: bytes | None, **more: Any) -> Run:
        """Run the node in a new directory; `more` as Sent has it. Raises Skipped when it never ends."""
        if self._late >= PATIENCE:
            raise Skipped(NEVER_ENDS)
        run = self._run(Sent(words, stdin, **more), self.target.argv)
        self._late += run.code is None
        self.begun.append(run)
        return run

    def watched(self, words: list[str], stdin: bytes | None, calls: str) -> tuple[Run, str]:
        """A run and its system calls, as strace tells them."""
        trace = os.path.join(self.place, "trace")
        argv = ["strace", "-f", "-qq", "-e", f"trace={calls}", "-o", trace, *self.target.argv]
        run = self._run(Sent(words, stdin), argv)
        self.begun.append(run)
        if not os.path.exists(trace):
            return run, ""
        with open(trace, encoding="utf-8", errors="replace") as file:
            return run, file.read()

    def _run(self, sent: Sent, argv: list[str]) -> Run:
        place = os.path.join(self.place, str(len(self.begun)))
        try:
            furnish(place, {**FILES, **sent.files})
        except OSError as error:
            raise PflowError(f"cannot make a directory to test in: {error.strerror}", exit=CANNOT_WRITE) from None
        before = snapshot(place)
        ended = run_process(
            [*argv, *sent.words],
            stdin=sent.stdin,
            environment={**environment(place), **self.target.environment, **sent.environment},
            directory=os.path.join(place, "work"),
            stderr=os.path.join(place, "stderr"),
            timeout=self.timeout,
            reader=sent.reader,
            grace=sent.grace,
        )
        after = snapshot(place)
        remove(place)
        changed = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
        return Run(sent, ended, changed)

    def document(self, members: Mapping[str, Any] | None = None, *, without: str | None = None, **header: Any) -> bytes:
        """The document that lets the node succeed, with other keys around its own; `without` leaves one read out."""
        own = {key: value for key, value in self.samples.members.items() if key != without}
        around = ALIENS if members is None else members
        first = dict(list(around.items())[:1])
        last = None if self.samples.pipe == without else self.samples.pipe
        return document({**first, **own, **around}, last, **header)

    def document_with(self, members: Mapping[str, Any]) -> bytes:
        """The document that lets the node succeed, but with these values."""
        return document({**ALIENS, **self.samples.members, **members}, self.samples.pipe)

    @property
    def document_members(self) -> dict[str, Any]:
        """What stands in the document of the good run, in its order."""
        return {**dict(list(ALIENS.items())[:1]), **self.samples.members, **ALIENS}

    def order_of(self, run: Run) -> list[str]:
        """The keys of the document that a run was sent."""
        sent = read_answer(run.sent.stdin or b"")
        return list(sent.members) if isinstance(sent, Answer) else []

    def kept(self, name: str, words: list[str], stdin: bytes | None) -> Run:
        """A run that several checks look at."""
        if name not in self._kept:
            self._kept[name] = self.run(words, stdin)
        return self._kept[name]

    @property
    def good(self) -> Run:
        if "good" not in self._kept:
            self.first_second = time.time()
        return self.kept("good", self.samples.words_without(), self.document())

    @property
    def again(self) -> Run:
        """The good run, once more."""
        return self.kept("again", self.samples.words_without(), self.document())

    @property
    def answer(self) -> Answer:
        """What it answers when it has all that it needs. Raises Skipped when it does not."""
        good = self.good
        if good.code != 0 or not isinstance(good.answer, Answer) or good.answer.error:
            raise Skipped(UNTIL_IT_RUNS)
        return good.answer

    @property
    def is_steady(self) -> bool:
        """Whether it answers the same twice; a model need not."""
        return same(self.again.writes(self.writes), self.good.writes(self.writes))

    @property
    def writes(self) -> Mapping[str, Any]:
        return self.target.interface.writes

    def agrees(self, run: Run) -> bool:
        """Whether a run wrote what the good one did: the same keys, and where it is steady the same values."""
        if run.code != 0:
            return False
        one, other = run.writes(self.writes), self.good.writes(self.writes)
        return same(one, other) or (one.keys() == other.keys() and not self.is_steady)
