"""Running a node: tries of `exec`, the time limit, and what it emits."""

from __future__ import annotations

import time

from pflow import TYPE_CHECKING
from pflow.errors import PflowError, is_permanent
from pflow.process.signals import Deadline, HeldSignals, call_after

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    Spent = Callable[[dict[str, Any]], None]

_LONGEST_WAIT = 3600
"""Seconds: a server that asks for more than this is one to come back to, not to wait for."""
_PATIENCE = 1.0
"""Seconds that an async node has to end once it is cancelled."""


class Tries:
    """Calls of `exec` that are repeated when they fail: so many more, so many seconds apart.

    A failure ends them early when a part of the answer was emitted, or when another try could not go better. `spent` is
    told what failed ones asked of models.
    """

    def __init__(self, node: Any, retries: int, wait: float, spent: Spent | None) -> None:
        self.node = node
        self.retries = retries
        self.wait = wait
        self.spent = spent
        self.emitted = False

    def call(self, exec: Callable[[Any], Any], prepared: Any) -> Any:
        for attempt in range(self.retries + 1):
            self.node.cur_retry = attempt
            try:
                return exec(prepared)
            except Exception as error:
                time.sleep(self._pause(attempt, error))
        raise AssertionError

    async def call_async(self, exec: Callable[[Any], Any], prepared: Any) -> Any:
        import asyncio

        for attempt in range(self.retries + 1):
            try:
                return await exec(prepared)
            except Exception as error:
                await asyncio.sleep(self._pause(attempt, error))
        raise AssertionError

    def _pause(self, attempt: int, error: Exception) -> float:
        """The seconds until the next try. Raises the error where there is none."""
        asked = error.retry_after if isinstance(error, PflowError) else None
        if self.spent and (usage := getattr(error, "usage", None)):
            self.spent(usage)
        pause = max(self.wait, asked or 0)
        if attempt == self.retries or self.emitted or is_permanent(error) or pause > max(self.wait, _LONGEST_WAIT):
            self.node.cur_retry = 0  # pocketflow's own loop, of one try, goes by it
            raise error
        return pause

    def emit_to(self, sink: Callable[[Any], None]) -> Callable[[Any], None]:
        def emit(part: Any) -> None:
            self.emitted = True
            sink(part)

        return emit


def run_node(
    node: Any,
    shared: Any,
    *,
    retries: int | None = None,
    wait: float = 0,
    timeout: float | None = None,
    sink: Callable[[Any], None] | None = None,
    spent: Spent | None = None,
) -> Any:
    """Run a node on a store and return its action. `sink` gets what it emits; without `retries` its own count holds.

    `spent` is told what failed tries asked of models. Raises what the node raises, and Interrupted after
    `timeout` seconds.
    """
    import pocketflow

    own_retries = max(int(getattr(node, "max_retries", 1)), 1) - 1
    tries = Tries(node, own_retries if retries is None else retries, wait, spent)
    if sink is not None:
        node.sink = tries.emit_to(sink)
    node.max_retries = 1  # the loop is ours: it honours Retry-After, and ends once a part was emitted
    if not isinstance(node, pocketflow.AsyncNode):
        exec = node.exec
        node.exec = lambda prepared: tries.call(exec, prepared)
        with Deadline(timeout, "--timeout"):
            return node.run(shared)
    exec_async = node.exec_async
    node.exec_async = lambda prepared: tries.call_async(exec_async, prepared)
    with Deadline(timeout, "--timeout"):
        return _run_async(node.run_async(shared))


def _run_async(work: Coroutine[Any, Any, Any]) -> Any:
    """Run it to its end. A signal or a time limit cancels it, and is raised then.

    What is raised in the middle of an event loop is dropped, or stops the loop for good. So it is raised there only
    where the work goes on: it may block the loop.
    """
    import asyncio

    held = HeldSignals()

    async def run() -> Any:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def cancel() -> None:
            loop.call_soon_threadsafe(task.cancel)
            call_after(_PATIENCE, held.release)

        held.notify(cancel)
        try:
            return await work
        finally:
            held.notify(None)

    try:
        return asyncio.run(run())
    finally:
        held.release()
