"""A trace for programs: one JSON document, a timeline for Perfetto, OpenTelemetry spans."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import urlsplit

from pflow import __version__
from pflow.record.events import Event
from pflow.record.runs import RUNNING, number_of
from pflow.record.trace import CUT, Trace, Visit
from pflow.stage.trace import span_parts
from pflow.values.jsontext import encode
from pflow.words.usage import Usage, amount

GEN_AI = "https://opentelemetry.io/schemas/gen-ai/0.1.0"
"""The version of the conventions for models that spans follow.

https://github.com/open-telemetry/semantic-conventions-genai/blob/v0.1.0/docs/gen-ai/client-inference.md
"""

_INTERNAL, _CLIENT = 1, 3
_NO_END = "it did not end"
_MOST = 1000
"""The spans in a line: receivers limit the size of a request."""

_AGENTS = ("claude-code",)
"""Nodes whose usage is of all the calls that a program made."""


def as_json(trace: Trace, *, now: float, with_store: bool) -> bytes:
    return encode(document(trace, with_store=with_store)) + b"\n"


def document(trace: Trace, *, with_store: bool) -> dict[str, Any]:
    """Return a trace as other programs get it."""
    unwanted = {"batch_items", "values", "store" if not with_store else "", "error" if not trace["error"] else ""}
    return {name: value for name, value in trace.items() if name not in unwanted}


def as_chrome(trace: Trace, *, now: float, with_store: bool) -> bytes:
    """Return one JSON object. Times are microseconds since the run began; each lane has a track, the flow the first.

    A visit without an end lasts until now if the run goes on, else until the last known moment.
    https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
    """
    name = _name(trace)
    last = now if trace["status"] == RUNNING else trace["last"]
    whole = {"step": name, "node": "flow", "began": trace["began"], "ms": (last - trace["began"]) * 1000}
    tracks = {"": 1}
    events = []
    for visit in [whole, *trace["execution_trace"]]:
        track = tracks.setdefault(visit.get("lane", ""), len(tracks) + 1)
        ms = visit["ms"] if visit["ms"] is not None else (last - visit["began"]) * 1000
        times = {"ts": round((visit["began"] - trace["began"]) * 1e6), "dur": round(max(0.0, ms) * 1000)}
        about = {"name": visit["step"], "cat": visit["node"], "pid": 1, "tid": track}
        events.append({"ph": "X", **about, **times, "args": visit})
    names = [{"name": "process_name", "tid": 0, "args": {"name": f"{name} {trace['run']}".strip()}}]
    names += [{"name": "thread_name", "tid": track, "args": {"name": lane or name}} for lane, track in tracks.items()]
    events = [*({"ph": "M", "pid": 1, **each} for each in names), *events]
    return encode({"traceEvents": events, "displayTimeUnit": "ms"}) + b"\n"


def as_otlp(trace: Trace, *, now: float, with_store: bool) -> bytes:
    """Return OTLP's JSON, a line for so many spans: of the run, of visits that have ended, and of calls of models.

    https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
    """
    spans = _spans(trace)
    return b"".join(_line(spans[at : at + _MOST]) for at in range(0, len(spans) or 1, _MOST))


def _line(spans: list[dict[str, Any]]) -> bytes:
    resource = {"attributes": _attributes({"service.name": "pflow", "service.version": __version__})}
    scope = {"scope": {"name": "pflow", "version": __version__}, "spans": spans, "schemaUrl": GEN_AI}
    return encode({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}) + b"\n"


def _name(trace: Trace) -> str:
    return (trace["flow"] or {}).get("name") or "pipe"


def _spans(trace: Trace) -> list[dict[str, Any]]:
    """Return the spans; the run's own has ids of the wider trace that began it, else made of the run's id."""
    run = trace["run"]
    number = number_of(run)
    own = f"{number:032x}" if number else hashlib.sha256(run.encode()).hexdigest()[:32]
    wider, parent = span_parts(trace["traceparent"]), span_parts(trace["parent"])
    trace_id = wider[1] if wider else own
    root = wider[2] if wider and trace["flow"] else own[16:]  # a document's is the span of its last stage alone
    ids = {0: root, **{each["number"]: _span_id(run, each["number"]) for each in trace["execution_trace"]}}
    spans = []
    for each in trace["execution_trace"]:
        if each["state"] != RUNNING:
            span_ids = {"spanId": ids[each["number"]], "parentSpanId": ids[each.get("outer", 0)]}
            calls, others = _calls_in(each, trace.get("batch_items", {}).get(each["number"], []))
            spans.append({"traceId": trace_id, **span_ids, **_visit_span(each, trace["last"], others)})
            for number, call in enumerate(calls):
                span_ids = {"spanId": _span_id(run, f"{each['number']}/{number}"), "parentSpanId": ids[each["number"]]}
                spans.append({"traceId": trace_id, **span_ids, **_call_span(call, trace["last"])})
    if trace["status"] != RUNNING:
        span_ids = {"spanId": root, **({"parentSpanId": parent[2]} if parent else {})}
        spans.insert(0, {"traceId": trace_id, **span_ids, **_run_span(trace)})
    return spans


def _span_id(run: str, number: int | str) -> str:
    return hashlib.sha256(f"{run}/{number}".encode()).hexdigest()[:16]


def _run_span(trace: Trace) -> dict[str, Any]:
    flow = trace["flow"] or {}
    about = {"pflow.run": trace["run"], "pflow.flow_hash": flow.get("hash"), "pflow.exit": trace["exit"]}
    error = trace["error"].get("message", _NO_END) if trace["exit"] or trace["exit"] is None else None
    return _span(_name(trace), trace["began"], trace["last"], about, error)


def _visit_span(visit: Visit, last: float, used: Usage) -> dict[str, Any]:
    """Return the span of a visit, with the sums of those calls of models that have no span of their own."""
    named = ("node", "version", "visit", "lane", "read_keys", "write_keys", "action", "exit", "tries")
    about = {f"pflow.{name}": visit.get(name) for name in named}
    about |= {f"pflow.{name}": used.total().get(name) for name in ("model", "calls", "unpriced")}
    about |= {f"pflow.tokens.{side}": count for side, count in used.tokens.items()}
    about["pflow.cost.usd"] = used.cost
    error = _NO_END if visit["state"] == CUT else _error(visit)
    return _span(visit["step"], visit["began"], _end_of(visit, last), about, error)


def _end_of(visit: Visit, last: float) -> float:
    return last if visit["ms"] is None else float(visit["began"] + visit["ms"] / 1000)


def _error(about: dict[str, Any]) -> Any:
    return about.get("message", "") if about.get("exit") else None


def _calls_in(visit: Visit, items: list[Event]) -> tuple[list[dict[str, Any]], Usage]:
    """Return a visit's calls of models that are known one by one, and the usage of the others.

    A call was a visit, or an item of a batch, that called one model, once in each try.
    """
    calls, others = [], Usage()
    for part in items or [visit]:
        is_one = isinstance(part.get("model"), str) and Usage(part).calls <= (amount(part.get("tries")) or 1)
        if not is_one or "items" in part or "ms" not in part or visit["node"] in _AGENTS:
            others.add(part)
        else:
            calls.append(part if "began" in part else {**part, "began": part["time"] - part["ms"] / 1000})
    return calls, others


def _call_span(call: dict[str, Any], last: float) -> dict[str, Any]:
    """Return the span of a call of a model; it lasts as long as the visit or item that made it."""
    model = _model_of(call["model"])
    about = {"gen_ai.operation.name": "chat", **model, "pflow.cost.usd": call.get("cost")}
    about |= {f"gen_ai.usage.{side}put_tokens": count for side, count in call.get("tokens", {}).items()}
    about |= {"pflow.item": call.get("index"), "pflow.exit": call.get("exit")}
    name = f"chat {model['gen_ai.request.model']}"
    return _span(name, call["began"], _end_of(call, last), about, _error(call), _CLIENT)


def _model_of(name: str) -> dict[str, Any]:
    """Return the model, and of `http://HOST/v1#NAME`, which speaks OpenAI's protocol, the server."""
    address, _, model = name.partition("#")
    try:
        url = urlsplit(address)
        port = url.port or {"http": 80, "https": 443}.get(url.scheme)
    except ValueError:
        port = None
    if not (model and port and url.hostname):
        return {"gen_ai.request.model": name}
    server = {"server.address": url.hostname, "server.port": port}
    return {"gen_ai.provider.name": "openai", "gen_ai.request.model": model, **server}


def _span(
    name: str, began: float, ended: float, about: dict[str, Any], error: str | None, kind: int = _INTERNAL
) -> dict[str, Any]:
    """Return a span with its times, attributes and status; `error` is None if it succeeded."""
    about |= {} if error is None else {"error.type": str(about["pflow.exit"] or "_OTHER")}
    nanoseconds = [str(int(moment * 1e6) * 1000) for moment in (began, max(began, ended))]
    return {
        "name": name,
        "kind": kind,
        "startTimeUnixNano": nanoseconds[0],
        "endTimeUnixNano": nanoseconds[1],
        "attributes": _attributes(about),
        "status": {"code": 1} if error is None else {"code": 2, "message": str(error)},
    }


def _attributes(about: dict[str, Any]) -> list[dict[str, Any]]:
    """Return attributes in OTLP's form, without empty ones."""
    return [{"key": key, "value": _value(value)} for key, value in about.items() if value not in ("", [], None)]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    if isinstance(value, float):
        return {"doubleValue": value}
    is_int = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
    return {"intValue": str(value)} if is_int else {"stringValue": str(value)}


FORMATS = {"json": as_json, "chrome": as_chrome, "otlp": as_otlp}
"""The formats of `pflow trace --NAME`."""
