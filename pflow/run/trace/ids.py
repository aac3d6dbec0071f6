"""The ids of a run's spans: its own bits, or those of the wider trace that it is a span of."""

from __future__ import annotations

from pflow.run.runs import number_of
from pflow.stage.trace import span_parts


def trace_id(run: str, traceparent: str) -> str:
    """The trace that a run is in; `traceparent` tells the run's span in it, where another trace began the run."""
    parts = span_parts(traceparent)
    return parts[1] if parts else _hex(run)


def run_span(run: str, traceparent: str) -> str:
    """The span of a run, which is the parent of all that it starts."""
    parts = span_parts(traceparent)
    return parts[2] if parts else _hex(run)[16:]


def parent_span(parent: str) -> str:
    """The span in a TRACEPARENT; empty where it is none."""
    parts = span_parts(parent)
    return parts[2] if parts else ""


def visit_span(run: str, number: int) -> str:
    """The span of a visit of a step, by its number in the run's trace."""
    import hashlib

    return hashlib.sha256(f"{run}/{number}".encode()).hexdigest()[:16]


def _hex(run: str) -> str:
    number = number_of(run)
    if number:
        return f"{number:032x}"
    import hashlib

    return hashlib.sha256(run.encode()).hexdigest()[:32]
