"""The trace of a run for a client: what each step read from where, wrote and took; never a value, never a secret."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def trace(run: str = "last", *, with_store: bool = False) -> dict[str, Any]:
    """Raises PflowError (66) where there is no such run. The store is told by keys, types and sizes."""
    from pflow.run.runs import find_run
    from pflow.run.trace.json import document
    from pflow.run.trace.trace import trace_of_run

    found = find_run(run)
    told = document(trace_of_run(found, found.events()[0]), with_store=with_store)
    return {name: value for name, value in told.items() if name != "snapshot" and value is not None}
