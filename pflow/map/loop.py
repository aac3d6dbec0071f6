"""The loop of a map: which of its items run, and how the end of each goes into the ledger and out as a row."""

from __future__ import annotations

import re
import select
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pflow.errors import BAD_DATA, PflowError, shorten
from pflow.errors import FAILED as EXIT_FAILED
from pflow.map.items import BadItem
from pflow.map.ledger import (
    BEGUN,
    DONE,
    FAILED,
    POISON,
    TODO,
    WHY_BEGUN,
    Ledger,
    LedgerEntry,
    Result,
    SameId,
    item_digest,
    share_of,
    unfinished,
)
from pflow.map.limiter import Limiter
from pflow.map.report import MapProgress
from pflow.map.rows import Rows
from pflow.process.loop import ItemLoop, TooLate, WorkItem, written_before
from pflow.values.jsontext import text_of

TRIES = 3
"""The most tries: of a failing item, in a map and all its resumes; of an item whose process dies, in each of these."""


_VARIES = re.compile(r"'[^']*'|(line|column|item|byte) \d+")
"""The parts of messages that differ although the failures have the same cause."""

_GLANCE = 0.05
"""Seconds between two looks at the items that are still to be read."""


class StopReading(Exception):
    """Ends the reading of items in the middle."""


@dataclass
class Halt:
    """When failures end the map: after `fail` of them, or `fail` percent of the items if it `is_share`; never if 0."""

    fail: float = 0
    is_share: bool = False
    is_now: bool = False

    def is_reached(self, failed: int, ended: int) -> bool:
        if not self.fail:
            return False
        # As with GNU parallel, a share needs three failures: a first item that fails would be 100 %.
        return failed >= 3 and failed * 100 >= self.fail * ended if self.is_share else failed >= self.fail


@dataclass
class ItemPolicy:
    """Which items of a map run, when they are tried again, and when their failures end the map."""

    id_field: str = ""
    timeout: float | None = None
    halt: Halt = field(default_factory=Halt)
    shard: tuple[int, int] = (0, 1)
    retries_failed: bool = False
    redoes: bool = False
    shares_equals: bool = False
    """True if equal items wait for the first of them, whose answer the cache then gives."""
    secret_members: frozenset[str] = frozenset()

    def key(self, item: Any) -> tuple[str, str] | None:
        """Return the digest of an item, and the id that its field gives it, else ""; None if another shard has it."""
        digest, value = item_digest(item, self.secret_members), self._named(item)
        id = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
        return (digest, id) if share_of(id or digest, self.shard[1]) == self.shard[0] else None

    def fault(self, index: int, item: Any, id: str) -> PflowError | None:
        """Return why an item cannot run: it cannot be read, or its field gives it no id."""
        if isinstance(item, BadItem):
            return item
        if id or not self.id_field:
            return None
        value, field = self._named(item), f"'{self.id_field}'"
        why = f"it has no {field}" if value is None else f"its {field} is {shorten(text_of(value), 40) or 'empty'}"
        what = f"cannot name item {index + 1}: {why} (--id takes a text or an integer)"
        return PflowError(what, exit=BAD_DATA)

    def _named(self, item: Any) -> Any:
        return item.get(self.id_field) if self.id_field and isinstance(item, dict) else None

    def settles(self, status: str, tries: int, has_begun: bool) -> bool:
        """Return True if an item does not run again: it is done, or failed, or began a step that does not repeat."""
        is_tried = status != TODO and tries >= TRIES and not self.retries_failed
        return status == DONE or is_tried or (has_begun and not self.redoes)


class MapLoop(ItemLoop):
    """One pass over the items of a map: their results go into the ledger, and out as rows.

    `about` of a WorkItem is the id of an item, and the item.
    """

    def __init__(
        self, items: Iterable[tuple[int, Any]], ledger: Ledger, rows: Rows, policy: ItemPolicy, limiter: Limiter,
        progress: MapProgress,
    ) -> None:  # fmt: skip
        super().__init__(self._claimed(items), tries=TRIES, timeout=policy.timeout, pace=limiter)
        self.ledger = ledger
        self.rows = rows
        self.policy = policy
        self.limiter = limiter
        self.progress = progress
        self._causes: dict[tuple[bool, str], tuple[int, str]] = {}

    def answer(self, name: str, question: Any, reply: Callable[[Any], None]) -> None:
        """Answer, at once or later, a question of an item's flow (ItemFlow.run) or of its Calls."""
        if name == "start":
            self.start(question)
            reply(None)
        elif name == "claim_file":
            reply(self.ledger.claim_file(*question))
        else:
            self.limiter.answer(name, question, reply)

    def start(self, id: str) -> None:
        """Note in the ledger that an item begins a step that does not repeat."""
        for work in self.running.values():
            work.has_begun |= work.about[0] == id
        self.ledger.start(id)

    def while_idle(self, fd: int) -> None:
        """Go on with the items that run until there is something to read. Raises StopReading if the map is stopped."""
        while not self.is_stopped():
            self.begin_again()
            # While items run, only glance at the stream: take_results then waits for what ends.
            if select.select([fd], [], [], 0 if self.running else self.seconds())[0]:
                return
            if not self.running:
                self.progress.show("waiting for items")
            self.take_results(min(self.seconds(), _GLANCE))
        raise StopReading

    def flush(self) -> None:
        self.rows.flush()

    def rest(self) -> None:
        """Keep the items that have ended, print them, and show the progress."""
        self.ledger.commit()
        self.rows.flush()
        self.progress.show(*self.limiter.waits())

    def _claimed(self, items: Iterable[tuple[int, Any]]) -> Iterator[WorkItem]:
        """Yield the items to run, and print those that are settled on the way."""
        with suppress(StopReading):
            for index, item in items:
                if (work := self._claim(index, item)) is not None:
                    yield work

    def _claim(self, index: int, item: Any) -> WorkItem | None:
        """Return the item to be run; None if it is another shard's, or settled."""
        key = self.policy.key(item)
        if key is None:
            return None
        fault = self.policy.fault(index, item, key[1])
        try:
            entry = self.ledger.claim(index, *key)
        except SameId as error:
            entry, fault = self.ledger.claim(index, key[0]), error
        if self.policy.settles(entry.status, entry.tries, entry.has_begun):
            is_left = entry.has_begun and not self.policy.redoes
            entry.status = BEGUN if entry.status != DONE and is_left else entry.status
            self._put(index, item, entry, is_new=False)
            return None
        self.rows.expect(index)
        if fault is not None:
            self._keep(entry.id, item, unfinished(FAILED, fault.exit, fault.message))
            return None
        return WorkItem(entry.id, item, key=entry.digest * self.policy.shares_equals)

    def end(self, work: WorkItem, result: Any) -> None:
        id, item = work.about
        if isinstance(result, PflowError):
            status = FAILED if isinstance(result, TooLate) else BEGUN if work.has_begun else POISON
            result = unfinished(status, result.exit, result.message)
        if result["status"] == TODO:
            self.stop(self.limiter.stopped or PflowError(result["error"], exit=result["exit"]), at_once=False)
            self.ledger.add_usage(result["usage"])  # its first calls were made, although the item is not done
            self.progress.usage.add(result["usage"])
            return
        for file in result.pop("claims", ()):  # a cluster's worker claims files only with its result
            first = self.ledger.claim_file(id, file)
            if first != id and result["status"] == DONE:
                error = written_before("cannot keep a file that it wrote", f"the item {first}")
                result |= {"status": FAILED, "exit": error.exit, "error": error.message}
        self._keep(id, item, result)
        policy, progress = self.policy.halt, self.progress
        if policy.is_reached(progress.failed, progress.done):
            what = f"{progress.failed:,} of {progress.done:,} items failed, which --halt takes as the end"
            self.stop(PflowError(what, exit=EXIT_FAILED), at_once=policy.is_now)

    def _keep(self, id: str, item: Any, result: Result) -> None:
        """Keep the end of an item in the ledger, and print it."""
        entry = self.ledger.end(id, result)
        self._put(entry.index, item, entry, is_new=True)

    def _put(self, index: int, item: Any, entry: LedgerEntry, *, is_new: bool) -> None:
        if entry.status != DONE or entry.error:
            kind = entry.status == DONE, _VARIES.sub("", entry.error)
            count, message = self._causes.get(kind, (0, entry.error))
            self._causes[kind] = count + 1, message
        self.rows.put(index, {"$bad": item.text} if isinstance(item, BadItem) else item, entry)
        self.progress.note(entry, is_new)
        if not is_new:
            self.progress.show()

    def causes(self) -> Iterator[str]:
        """Yield how often the most frequent warning and failure came, and what each says, by its first example."""
        for is_done in (True, False):
            if found := [cause for kind, cause in self._causes.items() if kind[0] == is_done]:
                count, message = max(found)
                how = "done with a warning" if is_done else "failed"
                yield f"{count:,} {how} like this: {shorten(message or WHY_BEGUN, 200)}"
