"""A dask cluster as the executor of a map. Only JSON text travels, and dask itself repeats and keeps nothing."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from pflow.errors import BAD_CONFIG, OK, TIMED_OUT, TRY_AGAIN, USAGE, PflowError, reason_of
from pflow.files.installation import needs
from pflow.map.item import ItemFlow
from pflow.map.ledger import DONE, TODO, Result, unfinished
from pflow.map.remote import LOST, order_of, run_items
from pflow.process.children import GRACE
from pflow.process.pool import Lost
from pflow.terminal.messages import silence
from pflow.values.fast_json import decode, encode

if TYPE_CHECKING:
    from pflow.values.usage import Amounts

POLL, PATIENCE, NO_WORKER = 0.5, 8.0, 60.0
"""Seconds between two looks at the cluster, for an answer of the scheduler, and for the coming of a worker."""

MOST, LARGE, SHORT = 256, 1 << 16, 0.1
"""The most items of a task, the characters of an item that gets a task alone, and the seconds a task should take."""

Answer = Callable[[str, Any, Callable[[Any], None]], None]


class _Item(NamedTuple):
    number: int
    id: str
    line: str
    alone: bool
    ticket: Any = None
    """The limiter's ticket for the item's call of a model."""


class _Task(NamedTuple):
    """A task of dask for one worker; without items it only asks if the flow can run there."""

    address: str
    items: list[_Item]
    call: Future[None]


def _connect(scheduler: str) -> Any:
    """Return a client of a scheduler. Raises PflowError: 2 if none is named, 75 if it does not answer."""
    if not scheduler:
        hint = "--scheduler=tcp://HOST:8786; 'dask scheduler' starts one"
        raise PflowError("cannot use a cluster: no scheduler is named", hint=hint, exit=USAGE)
    with needs("cannot use a cluster", "distributed", "dask"):
        from distributed import Client
    silence("distributed", "distributed.client", "asyncio")
    try:
        return Client(scheduler, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        what = f"cannot reach the scheduler '{scheduler}': {reason_of(error)}"
        # distributed raises TypeError where TLS has no settings.
        exit = {ValueError: USAGE, TypeError: BAD_CONFIG}.get(type(error), TRY_AGAIN)
        raise PflowError(what, hint="'dask scheduler' starts one, and says its address", exit=exit) from None


class DaskExecutor:
    """Works on the items of a map on a cluster; each thread of a worker has one task at a time.

    A task is for one worker, and is lost with that worker: the map decides if its items are tried again. So dask runs
    no item twice, and only the items that a lost worker was running are lost with it.
    """

    def __init__(
        self, scheduler: str, flow: ItemFlow, record: dict[str, Any], answer: Answer, *, jobs: int | None = None,
        most: Callable[[Any], Amounts] | None = None,
    ) -> None:  # fmt: skip
        """Connect to a scheduler and have its workers check the flow.

        `record` is the first record of the map's journal, `answer` answers the requests of a flow (ItemFlow.run).
        `most` returns the amounts that the calls of an item may take, for the budget: the limiter counts one call.

        Raises PflowError: 2 without a scheduler, 75 if it does not answer or has no workers, 78 if the flow cannot run
        on one of them.
        """
        self.scheduler = scheduler
        self.flow = flow
        self.order = str(encode(order_of(flow, record)), "utf-8")
        self.model = next(_models_of(flow), "")
        """The first model that an item asks, or empty; to the limiter, all calls of an item are one call of it."""
        self.answer = answer
        self.most = most
        self.jobs = jobs or sys.maxsize
        self.map = os.urandom(8).hex()
        self.threads: dict[str, int] = {}
        self.free: dict[str, int] = {}
        """The idle threads of each worker; 0 until the worker has said that it can run the flow."""
        self.wanted: dict[str, Any] = {}
        """The first task of each worker. A worker ends its work for this map once no client holds this task."""
        self.tasks: dict[int, _Task] = {}
        self.size = 1
        """How many items a task takes: more if they are short."""
        self.held = 0
        """The items that wait for the limiter."""
        self._mean = SHORT
        self._count = 0
        self._waiting: deque[_Item] = deque()
        self._results: list[tuple[int, Result | PflowError]] = []
        self._events: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._worked = time.monotonic()
        self.client = _connect(scheduler)
        self._watcher = self._start(self._watch())
        try:
            while not self.free or any(not task.items for task in self.tasks.values()):
                self._take(POLL)
        except BaseException:
            self.close()
            raise

    def has_room(self, *, alone: bool = False) -> bool:
        taken = len(self._waiting) + self.held
        # The loop calls `wait` only while it has items here, and only `wait` notices new workers.
        return taken < self.size * self._idle() or not (taken or self.tasks)

    def submit(self, number: int, /, *about: Any, alone: bool = False) -> None:
        id, item = about
        line = str(encode([id, item]), "utf-8")
        taken = _Item(number, id, line, alone or len(line) > LARGE)
        if self.model:
            self.held += 1
            most = self.most(item) if self.most else {}
            question = {"model": self.model, "size": len(line), "owner": (), "most": most}
            self.answer("begin", question, partial(self._admit, taken))
        else:
            self._waiting.append(taken)

    def _admit(self, item: _Item, ticket: Any) -> None:
        """Queue an item that has a ticket for its call of a model; give back one that may not make the call."""
        self.held -= 1
        if isinstance(ticket, PflowError):
            self._results.append((item.number, unfinished(TODO, ticket.exit, ticket.message)))
        else:
            self._waiting.append(item._replace(ticket=ticket))

    def _end_call(self, item: _Item, result: Result) -> bool:
        """Tell the limiter how the call of an item ended; return True if it is to be made again."""
        again: list[bool] = []
        if item.ticket is not None:
            about = {"ticket": item.ticket, "spent": result["usage"], "exit": result["exit"], "hint": ""}
            about |= {"message": result["error"], "is_cut": result["status"] != DONE}
            about["is_untold"] = result["status"] == LOST or result["exit"] == TIMED_OUT
            is_refused = result["exit"] == TRY_AGAIN and not result["usage"].get("calls")
            about["refusal"] = f"a refusal of {self.model}" if is_refused else ""
            self.answer("end", about, again.append)
        return again == [True]

    def wait(self, seconds: float | None) -> list[tuple[int, Result | PflowError]]:
        while self._waiting and self._idle() > 0:
            self._send()
        if not self._results:
            self._take(POLL if seconds is None else min(seconds, POLL))
        results, self._results = self._results, []
        return results

    def abandon(self, number: int) -> None:
        """Do nothing: the worker ends what hangs, and frees its thread then."""

    def close(self) -> None:
        for call in [self._watcher, *(task.call for task in self.tasks.values())]:
            call.cancel()
        with suppress(Exception):  # without a client that wants the results, the workers end their work for this map
            self.client.close(timeout=GRACE)

    def _idle(self) -> int:
        return min(sum(self.free.values()), self.jobs - len(self.tasks))

    def _send(self) -> None:
        """Send a task to the worker with the most idle threads."""
        items = [self._waiting.popleft()]
        most = 1 if items[0].alone else self.size
        while self._waiting and not self._waiting[0].alone and len(items) < most:
            items.append(self._waiting.popleft())
        for item in items if not self.flow.repeats else ():
            self.answer("start", item.id, lambda nothing: None)
        address = max(self.free, key=self.free.__getitem__)
        self.free[address] -= 1
        self._begin(address, items)

    def _begin(self, address: str, items: list[_Item], order: str = "") -> None:
        self._count += 1
        words = (self.map, self._count, "\n".join(item.line for item in items), order)
        self.tasks[self._count] = _Task(address, items, self._start(self._call(self._count, address, words)))

    def _start(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        return asyncio.run_coroutine_threadsafe(work, self.client.loop.asyncio_loop)

    async def _call(self, number: int, address: str, words: tuple[str, int, str, str]) -> None:
        """Have a worker run a task, and release the result as soon as it is here."""
        key = f"pflow-{self.map}-{number}"  # with pure=False and no retries: the map decides what runs again, not dask
        future = self.client.submit(run_items, *words, key=key, workers=[address], retries=0, pure=False)
        try:
            [reply] = await self.client.gather([future], asynchronous=True)
            self._events.put((number, decode(reply.encode())))
        except Exception as error:
            self._events.put((number, error))
        finally:
            if words[3]:
                self.wanted[address] = future
            else:
                future.release()

    async def _watch(self) -> None:
        """Put the threads of each worker into the events at each poll, and None once the scheduler does not answer."""
        try:
            while self.client.status == "running":
                self._events.put((0, await asyncio.wait_for(self.client.scheduler.ncores(), PATIENCE)))
                await asyncio.sleep(POLL)
        finally:  # a client that loses the scheduler cancels this coroutine, so only `finally` still runs
            self._events.put((0, None))

    def _take(self, seconds: float) -> None:
        """Take the events that have arrived; wait up to `seconds` for the first one. Raises PflowError (75, 78)."""
        with suppress(Empty):
            while True:
                number, reply = self._events.get(timeout=seconds)
                if number:
                    self._end(number, reply)
                else:
                    self._note_workers(reply)
                seconds = 0

    def _note_workers(self, threads: dict[str, int] | None) -> None:
        """Ask new workers if they can run the flow; give up the tasks of lost workers. Raises PflowError (75)."""
        if threads:
            self._worked = time.monotonic()
        elif threads is None or time.monotonic() - self._worked > NO_WORKER:
            why = "is gone" if threads is None else f"has had no worker for {NO_WORKER:g} s"
            hint = f"dask {'scheduler' if threads is None else f'worker {self.scheduler}'} starts one"
            raise PflowError(f"cannot go on: the scheduler '{self.scheduler}' {why}", hint=hint, exit=TRY_AGAIN)
        for address in [each for each in self.free if each not in threads]:
            self._drop(address)
        self.threads = threads
        for address in threads.keys() - self.free.keys():
            self.free[address] = 0
            self._begin(address, [], self.order)

    def _drop(self, address: str) -> None:
        """Forget a worker that is gone; its items are lost."""
        self.free.pop(address, None)
        self.wanted.pop(address, None)
        for number in [number for number, task in self.tasks.items() if task.address == address]:
            task = self.tasks.pop(number)
            task.call.cancel()
            self._lose(task.items, f"cannot finish: the worker '{address}' is gone")

    def _end(self, number: int, reply: Any) -> None:
        """Take the reply of a task: results, a fault, null or an exception. Raises PflowError (78)."""
        task = self.tasks.pop(number, None)
        if task is None:
            return  # the task was given up when its worker was lost
        if isinstance(reply, str | ImportError | AttributeError):
            what = f"cannot use the worker '{task.address}': {reply}"
            hint = "each worker has the same pflow, nodes and secrets; --accept-changes is for runs, not for workers"
            raise PflowError(what, hint=hint, exit=BAD_CONFIG)
        if not isinstance(reply, list):  # a nanny starts a worker anew at the same address, or dask has lost the task
            self._lose(task.items, f"cannot finish: the cluster has lost it ({reply or 'its worker began anew'})")
            self._drop(task.address)
            return
        if task.address in self.free:
            self.free[task.address] += 1 if task.items else self.threads[task.address]
        for item, result in zip(task.items, reply, strict=False):
            self._take_result(item, result)
        self._waiting.extendleft(reversed(task.items[len(reply) :]))  # it had no time for these
        if reply and self.flow.repeats:
            self._mean += (sum(result["ms"] for result in reply) / 1000 / len(reply) - self._mean) / 4
            self.size = max(1, min(2 * self.size, int(SHORT / max(self._mean, SHORT / MOST))))

    def _take_result(self, item: _Item, result: Result) -> None:
        """Take an item's result, or queue the item again if its model has refused the call."""
        if result["status"] == LOST:
            self._lose([item], result["error"], result["exit"])
            return
        if self._end_call(item, result):
            self.submit(item.number, item.id, decode(item.line.encode())[1])
        else:
            self._results.append((item.number, result))

    def _lose(self, items: list[_Item], why: str, exit: int = TRY_AGAIN) -> None:
        for item in items:
            self._end_call(item, unfinished(LOST, OK, why))
            lost = Lost(why, exit=exit)
            lost.is_guilty = len(items) == 1
            self._results.append((item.number, lost))


def _models_of(flow: ItemFlow) -> Iterator[str]:
    for step in flow.wired.all_steps():
        if "model" in step.interface.params:
            params = {**step.step.params, **flow.inputs.params.get(step.id, {})}
            yield str(params.get("model", "the default model"))
