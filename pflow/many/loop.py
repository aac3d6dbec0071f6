"""The loop of a map: items go to an executor, their results into the ledger and out as rows."""

from __future__ import annotations

import re
import select
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pflow.errors import BAD_DATA, TIMED_OUT, PflowError, shorten
from pflow.errors import FAILED as EXIT_FAILED
from pflow.many.executor import BEGUN, DONE, FAILED, POISON, TODO, WHY_BEGUN, Executor, Result, unfinished
from pflow.many.items import BadItem
from pflow.many.ledger import Ledger, LedgerEntry, SameId, item_digest, share_of
from pflow.many.limiter import Limiter
from pflow.many.progress import MapProgress
from pflow.many.rows import Rows
from pflow.process.children import GRACE
from pflow.process.workers import Lost
from pflow.values.jsontext import text_of

TRIES = 3
"""How often a failing item is tried over all resumes, and one whose process dies in one map."""


_VARIES = re.compile(r"'[^']*'|(line|column|item|byte) \d+")
"""What differs in the messages of failures with one cause."""

_GLANCE = 0.05
"""Seconds between two looks at the items that are still to be read."""


class StopReading(Exception):
    """Ends the reading of items in the middle."""


@dataclass
class Halt:
    """When failures end the map: `fail` is a number of them, or with `is_share` a percentage; never without."""

    fail: float = 0
    is_share: bool = False
    is_now: bool = False

    def is_reached(self, failed: int, ended: int) -> bool:
        if not self.fail:
            return False
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


@dataclass
class Task:
    """An item that has to be run, and its tries in this map."""

    index: int
    item: Any
    entry: LedgerEntry
    lost: int = 0
    is_alone: bool = False
    limit: float = float("inf")


class MapLoop:
    """One pass over the items. `stopped` is why it ended before the last."""

    def __init__(
        self, items: Iterator[tuple[int, Any]], ledger: Ledger, rows: Rows, policy: ItemPolicy, limiter: Limiter,
        progress: MapProgress,
    ) -> None:  # fmt: skip
        self._reading = self._read(items)
        self.ledger = ledger
        self.rows = rows
        self.executor: Executor
        self.policy = policy
        self.limiter = limiter
        self.progress = progress
        self._looked = time.monotonic()
        self.stopped: PflowError | None = None
        self._causes: dict[tuple[bool, str], tuple[int, str]] = {}
        self.running: dict[int, Task] = {}
        self._again: deque[Task] = deque()
        self._equals: dict[str, list[Task]] = {}
        self._began: set[str] = set()
        self._numbers = 0

    def run(self, executor: Executor) -> None:
        """Run until every item is settled, or the map is stopped. The executor is closed in any case."""
        self.executor = executor
        try:
            while self._fill() or self.running:
                self._take_results(self._seconds())
        finally:
            self.executor.close()
            self.ledger.commit()
            self.rows.flush()

    def start(self, id: str) -> None:
        """Keep that an item begins a step that does not repeat."""
        self._began.add(id)
        self.ledger.start(id)

    def while_idle(self, fd: int) -> None:
        """Go on with the items that run until there is something to read. Raises StopReading if the map is stopped."""
        while not self.is_stopped():
            self._begin_again()
            if select.select([fd], [], [], 0 if self.running else self._seconds())[0]:
                return
            if not self.running:
                self.progress.show("waiting for items")
            self._take_results(min(self._seconds(), _GLANCE))
        raise StopReading

    def _take_results(self, seconds: float) -> None:
        """Settle what has come, or comes in so many seconds, and keep it before more begins."""
        self.rows.flush()
        for number, result in self.executor.wait(seconds) if self.running else ():
            if (task := self.running.pop(number, None)) is not None:  # else an answer that came twice or too late
                self._settle(task, result)
        self._end_late()
        self.ledger.commit()
        self.rows.flush()
        self.progress.show(*self.limiter.waits())

    def _fill(self) -> bool:
        """Begin as many items as there is room for; return True if one waits for room."""
        while not self.is_stopped():
            self._begin_again()
            if not self.executor.has_room() or len(self.running) >= self.limiter.items():
                break
            task = self._next()
            if task is None:
                return bool(self._again)
            self._begin(task)
        return not self.is_stopped() and not self.running

    def _begin_again(self) -> None:
        """Begin the items that have to be tried again, or waited for an equal one, as far as there is room."""
        while self._again and not self.is_stopped() and self.executor.has_room(alone=self._again[0].is_alone):
            self._begin(self._again.popleft())

    def _begin(self, task: Task) -> None:
        self._numbers += 1
        task.limit = time.monotonic() + (self.policy.timeout or float("inf")) + GRACE
        self.running[self._numbers] = task
        self.executor.submit(self._numbers, task.entry.id, task.item, alone=task.is_alone)

    def is_stopped(self) -> bool:
        self.stopped = self.stopped or self.limiter.stopped
        return self.stopped is not None

    def _next(self) -> Task | None:
        """Return the next new item to run; those that need not run are put out on the way."""
        for index, item in self._reading:
            task = self._claimed(index, item)
            if task is None:
                continue
            waiting = self._equals.get(task.entry.digest) if self.policy.shares_equals else None
            if waiting is None:
                if self.policy.shares_equals:
                    self._equals[task.entry.digest] = []
                return task
            waiting.append(task)
        return None

    def _read(self, items: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        with suppress(StopReading):
            yield from items

    def _claimed(self, index: int, item: Any) -> Task | None:
        """Return an item as a task; None if it is another shard's, or settled."""
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
            self._settle(Task(index, item, entry), unfinished(FAILED, fault.exit, fault.message))
            return None
        return Task(index, item, entry)

    def _settle(self, task: Task, result: Result | PflowError) -> None:
        if isinstance(result, PflowError):
            task.lost += not isinstance(result, Lost) or result.is_guilty
            task.is_alone = True
            has_begun = task.entry.id in self._began
            if task.lost < TRIES and not has_begun:
                self._again.append(task)
                return
            status = BEGUN if has_begun else POISON
            result = unfinished(status, result.exit, result.message)
        if result["status"] == TODO:
            self.stopped = self.limiter.stopped or PflowError(result["error"], exit=result["exit"])
            self.ledger.add_usage(result["usage"])  # of the call that stopped it
            self.progress.usage.add(result["usage"])
            return
        task.entry.has_begun = task.entry.id in self._began
        self._began.discard(task.entry.id)
        self.ledger.end(task.entry.id, result)
        vars(task.entry).update({name: value for name, value in result.items() if name in vars(task.entry)})
        task.entry.tries += 1
        self._put(task.index, task.item, task.entry, is_new=True)
        self._again.extend(self._equals.pop(task.entry.digest, ()))
        if self.policy.halt.is_reached(self.progress.failed, self.progress.done):
            what = f"{self.progress.failed:,} of {self.progress.done:,} items failed, which --halt takes as the end"
            self.stopped = self.stopped or PflowError(what, exit=EXIT_FAILED)
            if self.policy.halt.is_now:
                self.running.clear()

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

    def _seconds(self) -> float:
        """Return how long to wait for a result at most."""
        due = [each for each in (self.limiter.turn(),) if each is not None]
        if self.policy.timeout:
            due += [task.limit - time.monotonic() for task in self.running.values()]
        return max(min([1.0, *due]), 0.0)  # the progress goes by the clock

    def _end_late(self) -> None:
        """Give up the items whose time is over and whose process has not noticed."""
        now, looked = time.monotonic(), self._looked
        self._looked = now
        if not self.policy.timeout:
            return
        for task in self.running.values() if self.limiter.has_waiting() else ():
            task.limit += now - looked  # a call that waits for its turn takes no time of its item
        for number in [number for number, task in self.running.items() if task.limit < now]:
            task = self.running.pop(number)
            self.executor.abandon(number)
            words = f"cannot finish: it took longer than the {self.policy.timeout:g} s of its timeout"
            self._settle(task, unfinished(FAILED, TIMED_OUT, words))
