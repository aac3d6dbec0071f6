"""A trace as OpenTelemetry spans, in OTLP's JSON: lines that a collector's otlpjsonfile receiver takes.

https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
"""

from __future__ import annotations

from pflow import __version__
from pflow.jsontext import encode
from pflow.run.trace.ids import parent_span, run_span, trace_id, visit_span
from pflow.run.trace.trace import CUT, RUNNING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.run.trace.trace import Trace, Visit

    Span = dict[str, Any]

_AT_ONCE = 500
_INTERNAL, _OK, _ERROR = 1, 1, 2
_NO_END = "it did not end"


def write(found: Trace, *, now: float, with_store: bool) -> bytes:
    """A line for every few hundred spans: the run's and each visit's. What still goes on has none yet."""
    spans = list(_spans(found))
    return b"".join([encode(_line(spans[at : at + _AT_ONCE])) + b"\n" for at in range(0, len(spans), _AT_ONCE)])


def _line(spans: list[Span]) -> dict[str, Any]:
    resource = {"attributes": _attributes({"service.name": "pflow", "service.version": __version__})}
    scope = {"scope": {"name": "pflow", "version": __version__}, "spans": spans}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def _spans(found: Trace) -> Iterator[Span]:
    trace = {"traceId": trace_id(found.run, found.traceparent)}
    if found.status != RUNNING:
        yield {**trace, **_of_run(found)}
    for visit in found.visits:
        if visit.state != RUNNING:
            yield {**trace, **_of_visit(visit, found)}


def _of_run(found: Trace) -> Span:
    about = {"pflow.run": found.run, "pflow.flow_hash": found.flow_hash, "pflow.exit": found.exit}
    fault = None
    if found.exit or found.status == "killed":
        fault = str(found.error.get("message", "")) if found.exit else _NO_END
    parent = parent_span(found.parent)
    ids = {"spanId": _root(found), **({"parentSpanId": parent} if parent else {})}
    return {**ids, "name": found.name or "pipe", **_course(found.begun, found.last, about, fault)}


def _of_visit(visit: Visit, found: Trace) -> Span:
    more = visit.more
    about = {
        "pflow.node": visit.node,
        "pflow.version": visit.version,
        "pflow.visit": visit.visit,
        "pflow.lane": visit.lane,
        "pflow.reads": visit.read_keys,
        "pflow.writes": visit.write_keys,
        **{f"pflow.{name}": more[name] for name in ("action", "exit", "tries", "cost") if name in more},
        **_of_model(visit),
    }
    fault = _NO_END if visit.state == CUT else str(more.get("message", "")) if more.get("exit") else None
    ended = found.last if visit.ms is None else visit.begun + visit.ms / 1000
    outer = visit_span(found.run, visit.outer.number) if visit.outer else _root(found)
    ids = {"spanId": visit_span(found.run, visit.number), "parentSpanId": outer}
    return {**ids, "name": visit.step, **_course(visit.begun, ended, about, fault)}


def _root(found: Trace) -> str:
    """The span of the run. The one in a document's header is that of its last stage."""
    return run_span(found.run, found.traceparent if found.status else "")


def _of_model(visit: Visit) -> dict[str, Any]:
    """What OpenTelemetry's conventions for models have names for."""
    about = {"gen_ai.response.model": visit.more.get("model")}
    tokens = visit.more.get("tokens")
    if isinstance(tokens, dict):
        about |= {f"gen_ai.usage.{side}put_tokens": count for side, count in tokens.items()}
    return about


def _course(begun: float, ended: float, about: dict[str, Any], fault: str | None) -> Span:
    """When a span was, what is known of it, and how it ended; `fault` is None where that was well."""
    times = {"startTimeUnixNano": _nanoseconds(begun), "endTimeUnixNano": _nanoseconds(max(begun, ended))}
    status = {"code": _OK} if fault is None else {"code": _ERROR, "message": fault}
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
