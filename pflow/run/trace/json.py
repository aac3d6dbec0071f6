"""A trace as one JSON document, with the members that seed 002 prints, and the events as they are."""

from __future__ import annotations

from typing import Any

from pflow.jsontext import encode
from pflow.run.trace.trace import Trace, Visit


def write(trace: Trace, *, now: float, with_store: bool) -> bytes:
    return encode({**document(trace, with_store=with_store), "events": trace.events}) + b"\n"


def document(trace: Trace, *, with_store: bool) -> dict[str, Any]:
    """run, flow, status, exit, began, ms, error?, snapshot, execution_trace, store?"""
    return {
        "run": trace.run,
        "flow": {"name": trace.name, "hash": trace.flow_hash} if trace.flow_hash or trace.name else None,
        "status": trace.status or ("failed" if trace.error else "done"),
        "exit": trace.exit,
        "began": trace.begun,
        "ms": trace.ms,
        **({"error": trace.error} if trace.error else {}),
        "snapshot": trace.snapshot,
        "execution_trace": [_visit(visit) for visit in trace.visits],
        **({"store": trace.store} if with_store else {}),
    }


def _visit(visit: Visit) -> dict[str, Any]:
    return {
        "node": visit.node,
        "read_keys": visit.read_keys,
        "write_keys": visit.write_keys,
        "step": visit.step,
        "number": visit.number,
        "visit": visit.visit,
        "state": visit.state,
        "began": visit.begun,
        "ms": visit.ms,
        "version": visit.version,
        "reads": visit.reads,
        "writes": visit.writes,
        **({"lane": visit.lane} if visit.lane else {}),
        **({"outer": visit.outer.number} if visit.outer else {}),
        **visit.more,
    }
