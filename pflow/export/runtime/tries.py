"""Running a node with further tries of its exec."""

from __future__ import annotations

import time

from pflow.errors import PflowError, is_permanent
from pflow.node import pocketflow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_LONGEST_WAIT = 3600


def run_node(node: Any, shared: Any, retries: int | None, wait: float | None) -> Any:
    """Run a node with further tries of its exec; what another try cannot mend is not tried again."""
    is_async = isinstance(node, pocketflow.AsyncNode)
    tries = retries + 1 if retries is not None else max(int(node.max_retries), 1)
    pause = getattr(node, "wait", 0) if retries is None and wait is None else 1.0 if wait is None else wait
    node.max_retries = 1
    if tries > 1:
        name = "exec_async" if is_async else "exec"
        setattr(node, name, (_tried_async if is_async else _tried)(getattr(node, name), tries, pause))
    if not is_async:
        return node._run(shared)
    import asyncio

    return asyncio.run(node._run_async(shared))


def _tried(exec: Callable[[Any], Any], tries: int, wait: float) -> Callable[[Any], Any]:
    def call(prepared: Any) -> Any:
        for left in range(tries - 1, -1, -1):
            try:
                return exec(prepared)
            except Exception as error:
                time.sleep(_pause(error, left, wait))
        raise AssertionError

    return call


def _tried_async(exec: Callable[[Any], Any], tries: int, wait: float) -> Callable[[Any], Any]:
    async def call(prepared: Any) -> Any:
        import asyncio

        for left in range(tries - 1, -1, -1):
            try:
                return await exec(prepared)
            except Exception as error:
                await asyncio.sleep(_pause(error, left, wait))
        raise AssertionError

    return call


def _pause(error: Exception, left: int, wait: float) -> float:
    """Seconds before the next try. Raises the error where there is none."""
    asked = error.retry_after if isinstance(error, PflowError) and error.retry_after else 0
    if not left or is_permanent(error) or max(asked, wait) > max(wait, _LONGEST_WAIT):
        raise error
    return max(asked, wait)
