"""A trace for programs: one JSON document, a timeline for Perfetto, OpenTelemetry spans."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from pflow import __version__
from pflow.jsontext import encode
from pflow.run.runs import RUNNING, number_of
from pflow.run.trace import CUT, Trace, Visit
from pflow.stage.trace import span_parts


def as_json(trace: Trace, *, now: float, with_store: bool) -> bytes:
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
        "execution_trace": [_visit_document(visit) for visit in trace.visits],
        **({"store": trace.store} if with_store else {}),
    }


def _visit_document(visit: Visit) -> dict[str, Any]:
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


def as_chrome(trace: Trace, *, now: float, with_store: bool) -> bytes:
    """One JSON object. Times are microseconds since the run began; each lane has its track, the flow itself the first.

    What has no end lasts until now where the run still goes on, else until the last known moment.
    https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
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


Span = dict[str, Any]

_AT_ONCE = 500
_INTERNAL, _OK, _ERROR = 1, 1, 2
_NO_END = "it did not end"


def as_otlp(trace: Trace, *, now: float, with_store: bool) -> bytes:
    """OTLP's JSON: a line for every few hundred spans, the run's and each visit's. What still goes on has none yet.

    https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
    """
    spans = list(_spans(trace))
    return b"".join([encode(_line(spans[at : at + _AT_ONCE])) + b"\n" for at in range(0, len(spans), _AT_ONCE)])


def ids_of(trace: Trace) -> tuple[str, str, str]:
    """The ids of the trace, of the run's own span and of its parent span ("" for none).

    They are those of a wider trace where that began the run, else the bits of the run's id. The TRACEPARENT in a
    document's header is the span of its last stage, not of the whole.
    """
    number = number_of(trace.run)
    own = f"{number:032x}" if number else hashlib.sha256(trace.run.encode()).hexdigest()[:32]
    wider, parent = span_parts(trace.traceparent), span_parts(trace.parent)
    root = wider[2] if wider and trace.status else own[16:]
    return wider[1] if wider else own, root, parent[2] if parent else ""


def _line(spans: list[Span]) -> dict[str, Any]:
    resource = {"attributes": _attributes({"service.name": "pflow", "service.version": __version__})}
    scope = {"scope": {"name": "pflow", "version": __version__}, "spans": spans}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def _spans(trace: Trace) -> Iterator[Span]:
    trace_id, root, parent = ids_of(trace)
    if trace.status != RUNNING:
        ids = {"traceId": trace_id, "spanId": root, **({"parentSpanId": parent} if parent else {})}
        yield {**ids, **_run_span(trace)}
    for visit in trace.visits:
        if visit.state != RUNNING:
            outer = _visit_id(trace, visit.outer) if visit.outer else root
            ids = {"traceId": trace_id, "spanId": _visit_id(trace, visit), "parentSpanId": outer}
            yield {**ids, **_visit_span(visit, trace)}


def _visit_id(trace: Trace, visit: Visit) -> str:
    return hashlib.sha256(f"{trace.run}/{visit.number}".encode()).hexdigest()[:16]


def _run_span(trace: Trace) -> Span:
    about = {"pflow.run": trace.run, "pflow.flow_hash": trace.flow_hash, "pflow.exit": trace.exit}
    error = None
    if trace.exit or trace.status == "killed":
        error = str(trace.error.get("message", "")) if trace.exit else _NO_END
    return {"name": trace.name or "pipe", **_course(trace.begun, trace.last, about, error)}


def _visit_span(visit: Visit, trace: Trace) -> Span:
    more = visit.more
    about = {
        "pflow.node": visit.node,
        "pflow.version": visit.version,
        "pflow.visit": visit.visit,
        "pflow.lane": visit.lane,
        "pflow.reads": visit.read_keys,
        "pflow.writes": visit.write_keys,
        **{f"pflow.{name}": more[name] for name in ("action", "exit", "tries", "cost") if name in more},
        "gen_ai.response.model": more.get("model"),
    }
    about |= {f"gen_ai.usage.{side}put_tokens": count for side, count in more.get("tokens", {}).items()}
    error = _NO_END if visit.state == CUT else str(more.get("message", "")) if more.get("exit") else None
    ended = trace.last if visit.ms is None else visit.begun + visit.ms / 1000
    return {"name": visit.step, **_course(visit.begun, ended, about, error)}


def _course(begun: float, ended: float, about: dict[str, Any], error: str | None) -> Span:
    """When a span was, what is known of it, and how it ended; `error` is None where that was well."""
    times = {"startTimeUnixNano": _nanoseconds(begun), "endTimeUnixNano": _nanoseconds(max(begun, ended))}
    status = {"code": _OK} if error is None else {"code": _ERROR, "message": error}
    return {"kind": _INTERNAL, **times, "attributes": _attributes(about), "status": status}


def _nanoseconds(seconds: float) -> str:
    return str(int(seconds * 1e6) * 1000)


def _attributes(about: dict[str, Any]) -> list[dict[str, Any]]:
    """What is known, in OTLP's form; what is empty is left out."""
    return [{"key": key, "value": _value(value)} for key, value in about.items() if value not in ("", [], None)]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": str(value)}


FORMATS = {"json": as_json, "chrome": as_chrome, "otlp": as_otlp}
"""What `pflow trace --NAME` writes."""
