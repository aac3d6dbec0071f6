"""An executor works on the items of a map, in processes of this machine or on a cluster; the words that all share."""

from __future__ import annotations

from typing import Any, Protocol

from pflow.errors import PflowError

DONE, FAILED, POISON, BEGUN, TODO = "done", "failed", "poison", "begun", "todo"
"""The states of an item. POISON: the processes that worked on it died; BEGUN: it began a step that does not repeat, and
has no end.
"""

WHY_BEGUN = "a step of it has begun that does not repeat"
"""Why an item that has BEGUN does not run again."""

STATUSES = (DONE, FAILED, POISON, BEGUN, TODO)

Result = dict[str, Any]
"""The end of a try of an item: status, exit, outputs (by name), carried (which of them the flow carries), error
(a message; of an item that is done, a warning), usage (`Usage.total`) and ms. A status of TODO means that the whole map
has to stop, with `exit`.
"""


def unfinished(status: str, exit: int, error: str) -> Result:
    """Return the result of a try whose process has not told one."""
    return {"status": status, "exit": exit, "error": error, "outputs": None, "carried": "", "usage": {}, "ms": 0}


class Executor(Protocol):
    """Works on items, each tried under another `number`: `Pool` on this machine, `DaskExecutor` on a cluster."""

    def has_room(self, *, alone: bool = False) -> bool:
        """Return True if it takes one more item now, or one that runs `alone`."""

    def submit(self, number: int, id: str, item: Any, /, *, alone: bool = False) -> None:
        """Begin an item of this id. `alone`: nothing else runs in its process, since it may have ended another."""

    def wait(self, seconds: float | None) -> list[tuple[int, Result | PflowError]]:
        """Return what has come, in any order; wait for it so long, or until there is something else to do.

        Work without a result is a PflowError.
        """

    def abandon(self, number: int) -> None:
        """Forget a try, whose time is over; what hangs is ended."""

    def close(self) -> None:
        """End all that it began."""
