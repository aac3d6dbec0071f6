"""The executor of one machine: warm processes, which hold several items in threads where a flow only waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pflow.errors import TRY_AGAIN, PflowError, reason_of
from pflow.many.executor import Lost, Result
from pflow.process.worker import Worker
from pflow.process.workers import Parent, Pool


class LocalExecutor(Pool):
    """Works on items in processes that are forked from this one, which should have no threads.

    `ask` gets their requests, and the function for the answer, which it calls now or later. `has_room(alone=True)` says
    if there is room for an item in a process of its own.
    """

    def __init__(
        self, work: Callable[[str, Any, Parent], Result], *, jobs: int, threads: bool,
        ask: Callable[[str, Any, Callable[[Any], None]], None], memory: int | None = None,
    ) -> None:  # fmt: skip
        def serve(about: tuple[str, Any], parent: Parent) -> Result:
            return work(*about, parent)

        super().__init__(serve, jobs=jobs, threads=threads, ask=ask, memory=memory)

    def submit(self, number: int, id: str, item: Any, *, alone: bool = False) -> None:
        """Begin an item of this id. `alone`: nothing else runs in its process, since it may have ended another."""
        try:
            self.begin(number, (id, item), alone=alone)
        except OSError as error:
            what = f"cannot begin a process: {reason_of(error)}"
            raise PflowError(what, hint="--jobs takes a smaller number", exit=TRY_AGAIN) from error

    def wait(self, seconds: float | None) -> list[tuple[int, Result | Lost]]:
        """Return what has come; nothing after so many seconds, after a request, and without items."""
        found = self.collect(seconds)
        return [(number, _lost(value) if isinstance(value, PflowError) else value) for number, value in found]

    def _lose(self, worker: Worker, found: list[tuple[int, Any]]) -> None:
        """Tell `ask` of a process that is gone (`lost`, its id): nobody else ends what it had begun."""
        self.ask("lost", worker.pid, lambda answer: None)
        super()._lose(worker, found)

    def close(self, seconds: float = 1.5) -> None:
        """End all that it began."""
        super().close(seconds)


def _lost(error: PflowError) -> Lost:
    lost = Lost(error.message, exit=error.exit)
    lost.is_guilty = getattr(error, "is_guilty", True)
    return lost
