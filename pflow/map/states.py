"""How an item of a map ends: the states, and what the end of a try says."""

from __future__ import annotations

from typing import Any

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
