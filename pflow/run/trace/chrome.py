"""A trace as a timeline in the Trace Event Format, for Perfetto and chrome://tracing.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

from pflow.jsontext import encode
from pflow.run.trace.trace import RUNNING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.run.trace.trace import Trace, Visit

    Event = dict[str, Any]


def write(found: Trace, *, now: float, with_store: bool) -> bytes:
    """One JSON object. Times are microseconds since the run began; each lane has its track, the flow itself the first.

    What has no end lasts until now where the run still goes on, else until the last that is known.
    """
    name = found.name or "pipe"
    last = now if found.status == RUNNING else found.last
    tracks = {"": 1}
    for visit in found.visits:
        tracks.setdefault(visit.lane, len(tracks) + 1)
    events = [
        _named("process_name", 0, f"{name} {found.run}".strip()),
        *(_named("thread_name", track, lane or name) for lane, track in tracks.items()),
        _complete(name, "flow", 1, 0.0, last - found.begun, {"run": found.run, "status": found.status}),
        *(_of_visit(visit, tracks[visit.lane], found.begun, last) for visit in found.visits),
    ]
    about = {"run": found.run, "flow_hash": found.flow_hash, "began": found.begun}
    return encode({"traceEvents": events, "displayTimeUnit": "ms", "otherData": about}) + b"\n"


def _of_visit(visit: Visit, track: int, begun: float, last: float) -> Event:
    took = _end(visit, last) - visit.begun
    about = {"visit": visit.visit, "state": visit.state, "reads": visit.origins, "writes": visit.write_keys}
    return _complete(visit.step, visit.node, track, visit.begun - begun, took, {**about, **visit.more})


def _end(visit: Visit, last: float) -> float:
    """When a visit ended: not after what it is in, or the two could not be drawn in one another."""
    latest = _end(visit.outer, last) if visit.outer else last
    return latest if visit.ms is None else min(latest, visit.begun + visit.ms / 1000)


def _complete(name: str, kind: str, track: int, at: float, took: float, about: dict[str, Any]) -> Event:
    event = {"ph": "X", "name": name, "cat": kind, "pid": 1, "tid": track}
    return {**event, "ts": _microseconds(at), "dur": _microseconds(took), "args": about}


def _microseconds(seconds: float) -> int:
    """Never less than none, whatever became of the clock."""
    return round(max(0.0, seconds) * 1e6)


def _named(what: str, track: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": 1, "tid": track, "args": {"name": name}}
