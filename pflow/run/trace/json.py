"""A trace as one JSON document, with the members that seed 002 prints, and the events as they are."""

from __future__ import annotations

from pflow.jsontext import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.run.trace.trace import Trace, Visit


def write(found: Trace, *, now: float, with_store: bool) -> bytes:
    """One line: run, flow, status, exit, ms, error?, snapshot, execution_trace, store?, events."""
    document: dict[str, Any] = {
        "run": found.run,
        "flow": {"name": found.name, "hash": found.flow_hash} if found.flow_hash or found.name else None,
        "status": found.status or ("failed" if found.error else "done"),
        "exit": found.exit,
        "began": found.begun,
        "ms": found.ms,
    }
    if found.error:
        document["error"] = found.error
    document["snapshot"] = found.snapshot
    document["execution_trace"] = [_visit(visit) for visit in found.visits]
    if with_store:
        document["store"] = found.store
    document["events"] = found.events
    return encode(document) + b"\n"


def _visit(visit: Visit) -> dict[str, Any]:
    entry: dict[str, Any] = {
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
    }
    if visit.lane:
        entry["lane"] = visit.lane
    if visit.outer:
        entry["outer"] = visit.outer.number
    return {**entry, **visit.more}
