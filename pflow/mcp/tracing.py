"""The trace of a run for a client: what each step read from where, wrote and took; never a value, never a secret."""

from __future__ import annotations

import json
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LEFT_OUT = ("events", "snapshot")
"""What repeats the rest, and what holds the values that a run was given."""


def trace(run: str = "last", *, with_store: bool = False) -> dict[str, Any]:
    """Raises PflowError (66) where there is no such run. The store is told by keys, types and sizes."""
    from pflow.run.runs import find_run
    from pflow.run.trace.json import write
    from pflow.run.trace.read import trace_of_run

    found = find_run(run)
    told: dict[str, Any] = json.loads(
        write(trace_of_run(found, found.events()), now=time.time(), with_store=with_store)
    )
    return {name: value for name, value in told.items() if name not in _LEFT_OUT and value is not None}
