"""Running a node: tries of `exec`, the time limit, and what it emits."""

from __future__ import annotations

import time

from pflow import TYPE_CHECKING
from pflow.errors import PflowError, is_permanent
from pflow.process.signals import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_LONGEST_WAIT = 3600
"""Seconds: a server that asks for more than this is one to come back to, not to wait for."""


class Tries:
    """Calls of `exec` that are repeated when they fail: so many more, so many seconds apart.

    A failure ends them early when a part of the answer was emitted, or when another try could not go better.
    """

    def __init__(self, node: Any, retries: int, wait: float) -> None:
        self.node = node
        self.retries = retries
        self.wait = wait
        self.emitted = False

    def call(self, exec: Callable[[Any], Any], prepared: Any) -> Any:
        for attempt in range(self.retries + 1):
            self.node.cur_retry = attempt
            try:
                return exec(prepared)
            except Exception as error:
                if self._is_last(attempt, error):
                    self.node.cur_retry = 0  # pocketflow's own loop, of one try, goes by it
                    raise
                time.sleep(self._pause(error))
        raise AssertionError

    async def call_async(self, exec: Callable[[Any], Any], prepared: Any) -> Any:
        import asyncio

        for attempt in range(self.retries + 1):
            try:
                return await exec(prepared)
            except Exception as error:
                if self._is_last(attempt, error):
                    raise
                await asyncio.sleep(self._pause(error))
        raise AssertionError

    def _is_last(self, attempt: int, error: Exception) -> bool:
        if attempt == self.retries or self.emitted or is_permanent(error):
            return True
        return self._pause(error) > max(self.wait, _LONGEST_WAIT)

    def _pause(self, error: Exception) -> float:
        asked = error.retry_after if isinstance(error, PflowError) else None
        return max(self.wait, asked or 0)


def run_node(
    node: Any,
    shared: Any,
    *,
    retries: int | None = None,
    wait: float = 0,
    timeout: float | None = None,
    sink: Callable[[Any], None] | None = None,
) -> Any:
    """Run a node on a store and return its action. `sink` gets what it emits; without `retries` its own count holds.

    Raises what the node raises, and Interrupted after `timeout` seconds.
    """
    import pocketflow

    own_retries = max(int(getattr(node, "max_retries", 1)), 1) - 1
    tries = Tries(node, own_retries if retries is None else retries, wait)
    if sink is not None:
        node.sink = _noting(sink, tries)
    node.max_retries = 1  # the loop is ours: it honours Retry-After, and ends once a part was emitted
    is_async = isinstance(node, pocketflow.AsyncNode)
    if is_async:
        exec_async = node.exec_async
        node.exec_async = lambda prepared: tries.call_async(exec_async, prepared)
    else:
        exec = node.exec
        node.exec = lambda prepared: tries.call(exec, prepared)
    with Deadline(timeout, "--timeout"):
        return _run_async(node, shared) if is_async else node.run(shared)


def _run_async(node: Any, shared: Any) -> Any:
    import asyncio

    return asyncio.run(node.run_async(shared))


def _noting(sink: Callable[[Any], None], tries: Tries) -> Callable[[Any], None]:
    def emit(part: Any) -> None:
        tries.emitted = True
        sink(part)

    return emit
