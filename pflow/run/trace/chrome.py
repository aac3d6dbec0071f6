"""A trace as a timeline in the Trace Event Format, for Perfetto and chrome://tracing.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

from typing import Any

from pflow.jsontext import encode
from pflow.run.runs import RUNNING
from pflow.run.trace.trace import Trace, Visit


def write(trace: Trace, *, now: float, with_store: bool) -> bytes:
    """One JSON object. Times are microseconds since the run began; each lane has its track, the flow itself the first.

    What has no end lasts until now where the run still goes on, else until the last known moment.
    """
    name = trace.name or "pipe"
    last = now if trace.status == RUNNING else trace.last
    tracks = {"": 1}
    for visit in trace.visits:
        tracks.setdefault(visit.lane, len(tracks) + 1)
    events = [_named("process_name", 0, f"{name} {trace.run}".strip())]
    events += [_named("thread_name", track, lane or name) for lane, track in tracks.items()]
    about: dict[str, Any] = {"run": trace.run, "status": trace.status}
    events.append(_complete(name, "flow", 1, 0.0, last - trace.begun, about))
    for visit in trace.visits:
        about = {"visit": visit.visit, "state": visit.state, "reads": visit.origins, "writes": visit.write_keys}
        at, took = visit.begun - trace.begun, _end(visit, last) - visit.begun
        events.append(_complete(visit.step, visit.node, tracks[visit.lane], at, took, {**about, **visit.more}))
    other = {"run": trace.run, "flow_hash": trace.flow_hash, "began": trace.begun}
    return encode({"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}) + b"\n"


def _end(visit: Visit, last: float) -> float:
    """When a visit ended: never after the visit that it is in, or the two could not be drawn in one another."""
    latest = _end(visit.outer, last) if visit.outer else last
    return latest if visit.ms is None else min(latest, visit.begun + visit.ms / 1000)


def _complete(name: str, kind: str, track: int, at: float, took: float, about: dict[str, Any]) -> dict[str, Any]:
    """A complete event. Its times are never negative, whatever became of the clock."""
    times = {"ts": round(max(0.0, at) * 1e6), "dur": round(max(0.0, took) * 1e6)}
    return {"ph": "X", "name": name, "cat": kind, "pid": 1, "tid": track, **times, "args": about}


def _named(what: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": 1, "tid": track, "args": {"name": name}}
