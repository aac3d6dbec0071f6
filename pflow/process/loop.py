"""The loop in which batches, maps and forks run their items: the end of an item is kept before more items begin."""

from __future__ import annotations

import os
import time
from collections import deque

from pflow import TYPE_CHECKING, Any, Callable, Iterable
from pflow.errors import CANNOT_WRITE, TIMED_OUT, PflowError
from pflow.process.children import GRACE
from pflow.process.pool import Lost, Pool
from pflow.values.digest import digest_of

if TYPE_CHECKING:
    from typing import Protocol

    from pflow.process.pool import AskLater, Take
    from pflow.process.worker import Serve

    class Executor(Protocol):
        """Works on items, each try of which has a `number` of its own: `SerialExecutor`, `Pool`, or a cluster."""

        def has_room(self, *, alone: bool = False) -> bool:
            """Return True if it takes one more item now, or one that runs `alone`."""

        def submit(self, number: int, /, *about: Any, alone: bool = False) -> None:
            """Begin an item; if `alone`, without others in its process: for --isolate, or if it may have killed one."""

        def wait(self, seconds: float | None) -> list[tuple[int, Any]]:
            """Return the numbers that have ended with their results, or with a PflowError for work without a result.

            Wait so long for the first, or until there is something else to do.
            """

        def abandon(self, number: int) -> None:
            """Forget a try whose time is over, and end what hangs."""

        def close(self) -> None:
            """End all that it began."""

    class Pace(Protocol):
        """Says how many items are useful at once, as the limiter of a map does, and lets waiting calls begin."""

        stopped: PflowError | None

        def items(self) -> int: ...

        def begin_due(self) -> float | None: ...

        def has_waiting(self) -> bool: ...


class WorkItem:
    """An item to run: `about` are the arguments for its executor, and `lost` counts the tries whose process died.

    An item that `is_alone` shares its process with no other. Items with the same `key` wait for the first of them, and
    then find its answer in the cache. An item that `has_begun` a step which may not repeat is not tried again.
    """

    def __init__(self, *about: Any, key: str = "", is_alone: bool = False) -> None:
        self.about = about
        self.key = key
        self.lost = 0
        self.is_alone = is_alone
        self.has_begun = False
        self.limit = float("inf")


class ItemLoop:
    """One pass over items. A subclass keeps the end of each (`end`). If the pass ends early, `stopped` has the reason.

    An item whose process dies is tried `tries` times in all. An item that takes longer than `timeout` is given up. The
    executor and the `pace` limit how many items run at once.
    """

    executor: Executor

    def __init__(
        self, items: Iterable[WorkItem], *, tries: int = 1, timeout: float | None = None, pace: Pace | None = None
    ) -> None:
        self.tries = tries
        self.timeout = timeout
        self.pace = pace
        self.stopped: PflowError | None = None
        self.running: dict[int, WorkItem] = {}
        self._items = iter(items)
        self._again: deque[WorkItem] = deque()
        self._equals: dict[str, list[WorkItem]] = {}
        self._numbers = 0
        self._looked = time.monotonic()

    def end(self, work: WorkItem, result: Any) -> None:
        """Keep the result of an item, or the PflowError of its last try."""
        raise NotImplementedError

    def flush(self) -> None:
        """Print the rows that are ready, before the loop waits."""

    def rest(self) -> None:
        """Keep the items that have ended, before more begin."""

    def stop(self, error: PflowError, *, at_once: bool) -> None:
        """Begin no more items. What runs goes on to its end, or ends with the executor `at_once`."""
        self.stopped = self.stopped or error
        if at_once:
            self.running.clear()

    def is_stopped(self) -> bool:
        if self.stopped is None and self.pace is not None:
            self.stopped = self.pace.stopped
        return self.stopped is not None

    def run(self, executor: Executor) -> None:
        """Run until every item has ended, or the pass is stopped. The executor is closed in any case."""
        try:
            self.run_in(executor)
        finally:
            executor.close()
            self.rest()

    def run_in(self, executor: Executor) -> None:
        """Run, and leave the executor open."""
        self.executor = executor
        while self._fill() or self.running:
            self.take_results(self.seconds())

    def take_results(self, seconds: float) -> None:
        """Take the results that arrive within `seconds`, and keep them before more items begin."""
        self.flush()
        for number, result in self.executor.wait(seconds) if self.running else ():
            if (work := self.running.pop(number, None)) is not None:  # a given-up try may still answer
                self._settle(work, result)
        self._end_late()
        self.rest()

    def seconds(self) -> float:
        """Return how long to wait for a result at most."""
        due = [] if self.pace is None else [each for each in (self.pace.begin_due(),) if each is not None]
        if self.timeout:
            due += [work.limit - time.monotonic() for work in self.running.values()]
        return max(min([1.0, *due]), 0.0)  # a second at most: a person sees progress even while no item ends

    def _fill(self) -> bool:
        """Begin as many items as there is room for; return True if one waits for room."""
        while not self.is_stopped():
            self.begin_again()
            if not self.executor.has_room() or (self.pace and len(self.running) >= self.pace.items()):
                break
            work = self._next()
            if work is None:
                return bool(self._again)
            self._begin(work)
        return not self.is_stopped() and not self.running

    def begin_again(self) -> None:
        """Begin the items that have to be tried again, or waited for an equal one, as far as there is room."""
        while self._again and not self.is_stopped() and self.executor.has_room(alone=self._again[0].is_alone):
            self._begin(self._again.popleft())

    def _next(self) -> WorkItem | None:
        """Return the next item to begin. Set aside the items that wait for another one with the same key."""
        for work in self._items:
            if not work.key or work.key not in self._equals:
                if work.key:
                    self._equals[work.key] = []
                return work
            self._equals[work.key].append(work)
        return None

    def _begin(self, work: WorkItem) -> None:
        self._numbers += 1
        work.limit = time.monotonic() + (self.timeout or float("inf")) + GRACE
        self.running[self._numbers] = work
        self.executor.submit(self._numbers, *work.about, alone=work.is_alone)

    def _settle(self, work: WorkItem, result: Any) -> None:
        """Keep the end of an item, or plan another try, alone in a process, since it may have killed that of others."""
        if isinstance(result, PflowError) and not isinstance(result, TooLate):
            work.lost += not isinstance(result, Lost) or result.is_guilty
            if work.lost < self.tries and not work.has_begun:
                work.is_alone = True
                self._again.append(work)
                return
        self.end(work, result)
        self._again.extend(self._equals.pop(work.key, ()))

    def _end_late(self) -> None:
        """Give up the items whose time is over, if their process has not ended them: C code can block signals."""
        now, looked = time.monotonic(), self._looked
        self._looked = now
        if not self.timeout:
            return
        for work in self.running.values() if self.pace and self.pace.has_waiting() else ():
            work.limit += now - looked  # waiting for the limiter does not count as the item's time
        for number in [number for number, work in self.running.items() if work.limit < now]:
            work = self.running.pop(number)
            self.executor.abandon(number)
            self._settle(work, TooLate(self.timeout))


class TooLate(PflowError):
    """The failure of an item that was given up."""

    def __init__(self, timeout: float) -> None:
        super().__init__(f"cannot finish: it took longer than the {timeout:g} s of its timeout", exit=TIMED_OUT)


class SerialExecutor:
    """Runs items in this process, one after another: `serve` gets an item's `about`, and returns its result."""

    def __init__(self, serve: Callable[..., Any]) -> None:
        self.serve = serve
        self._ended: list[tuple[int, Any]] = []

    def has_room(self, *, alone: bool = False) -> bool:
        return not self._ended

    def submit(self, number: int, /, *about: Any, alone: bool = False) -> None:
        try:
            self._ended.append((number, self.serve(*about)))
        except PflowError as error:
            self._ended.append((number, error))

    def wait(self, seconds: float | None) -> list[tuple[int, Any]]:
        ended, self._ended = self._ended, []
        return ended

    def abandon(self, number: int) -> None:
        """Do nothing: what runs here has ended."""

    def close(self) -> None:
        """Do nothing: nothing is left."""


class ListLoop(ItemLoop):
    """The loop over a list all of whose results are needed: the first failure ends it, and is raised.

    A failure that ends the run lets the running items end first. `keep` gets the number of each item and its result, or
    the PflowError of its last try, as they come; what it returns goes into `results`, by number.
    """

    def __init__(self, items: Iterable[WorkItem], keep: Callable[[int, Any], Any]) -> None:
        super().__init__(items)
        self.keep = keep
        self.results: dict[int, Any] = {}

    def end(self, work: WorkItem, result: Any) -> None:
        number = work.about[0]
        self.results[number] = result = self.keep(number, result)
        if isinstance(result, PflowError):
            self.stop(result, at_once=not (self.stopped or result.ends_run))

    def run(self, executor: Executor) -> None:
        """Run to the last item. Raises the failure that stopped it."""
        super().run(executor)
        if self.stopped is not None:
            raise self.stopped


def run_all(
    count: int, serve: Serve, *, jobs: int | None = None, is_reused: bool = False, take: Take = lambda line: None,
    ask: AskLater = lambda name, question, reply: reply(None),
    keep: Callable[[int, Any], Any] = lambda number, result: result, is_foreign: bool = False,
) -> list[Any]:  # fmt: skip
    """Return the results of the numbers 0 to `count` - 1, in order, worked on by at most `jobs` processes at once.

    With `is_reused` a process works on several numbers, else on one. `take` gets the lines that they send, `ask`
    answers their requests. `keep` and the failure that is raised are those of ListLoop.
    """
    loop = ListLoop((WorkItem(number, is_alone=not is_reused) for number in range(count)), keep)
    loop.run(Pool(serve, jobs=jobs or count, ask=ask, take=take, is_foreign=is_foreign))
    return [loop.results[number] for number in range(count)]


def claiming(
    own: str, ask: Callable[[tuple[str, str]], str | None], name: Callable[[str], str], item: str,
    outer: Callable[[str], None] | None = None,
) -> Callable[[str], None]:  # fmt: skip
    """Return the function that an item calls with the real path of each file before it writes the file.

    `ask` gets the item and a digest of the path, and returns the first item that wrote the file, which `name` puts into
    words. The hint says to have `item` in the paths. `outer` claims the file for an item around this one.
    """

    def claim(file: str) -> None:
        """Raise PflowError (73) if another item has written the file."""
        if outer is not None:
            outer(file)
        first = ask((own, digest_of(os.fsencode(file))))
        if first not in (None, own):
            hint = f"give each item a path of its own, as with '${item}' in it"
            raise written_before(f"cannot write '{file}'", name(first), hint)

    return claim


def written_before(act: str, first: str, hint: str = "") -> PflowError:
    """Return the failure of an item that writes a file which another item has written."""
    return PflowError(f"{act}: {first} writes it too", hint=hint, exit=CANNOT_WRITE, is_permanent=True)
