"""A trace for programs: a JSON document, a timeline for Perfetto, or OpenTelemetry spans; sending spans to a receiver.

OpenTelemetry's own exporter is the extra [otlp]; it and the HTTP client are imported where spans are sent.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pflow import __version__
from pflow.errors import BAD_CONFIG, BAD_DATA, TRY_AGAIN, UNAVAILABLE, Attempt, PflowError
from pflow.files.installation import needs
from pflow.record.log import Event
from pflow.record.runs import RUNNING, number_of
from pflow.record.trace import CUT, Trace, TracedVisit
from pflow.stage.trace import span_parts
from pflow.text.printable import foreign_line
from pflow.values.jsontext import encode
from pflow.values.secrets import masked
from pflow.values.usage import Usage, amount, calls_in

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

GEN_AI = "https://opentelemetry.io/schemas/gen-ai/0.1.0"
"""The version of the conventions for models that spans follow.

https://github.com/open-telemetry/semantic-conventions-genai/blob/v0.1.0/docs/gen-ai/client-inference.md
"""

RESOURCE = {"service.name": "pflow", "service.version": __version__}

Span = dict[str, Any]
"""A span in OTLP's JSON form, but with its attributes as a dict."""

_INTERNAL, _CLIENT = 1, 3
_NO_END = "it did not end"
_LATEST = 1e10
"""The last second, roughly, whose nanoseconds fit in 64 bits."""
_MOST = 1000
"""The spans in a line: receivers limit the size of a request."""

_EXTRA = ("opentelemetry-exporter-otlp-proto-http", "otlp")
_ADDRESS = "OTEL_EXPORTER_OTLP_ENDPOINT"
_HINT = f"{_ADDRESS}=http://HOST:4318, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT with the whole address"


def as_json(trace: Trace, *, now: float, with_store: bool) -> bytes:
    return encode(public_members(trace, with_store=with_store)) + b"\n"


def public_members(trace: Trace, *, with_store: bool) -> dict[str, Any]:
    """Return the members of a trace that other programs get."""
    unwanted = {"batch_items", "values", "store" if not with_store else "", "error" if not trace["error"] else ""}
    return {name: value for name, value in trace.items() if name not in unwanted}


def as_chrome(trace: Trace, *, now: float, with_store: bool) -> bytes:
    """Return one JSON object. Times are microseconds since the run began; each lane has a track, after the flow's.

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
    """Return OTLP's JSON: each line has up to _MOST spans.

    https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/
    """
    return b"".join(map(_line, span_requests(trace)))


def span_requests(trace: Trace) -> Iterator[list[Span]]:
    """Yield the spans of a run, of its visits and items that have ended, and of its calls of models, in requests."""
    spans = _spans(trace)
    yield [*islice(spans, _MOST)]  # even if nothing has ended: receivers accept an empty request
    while request := [*islice(spans, _MOST)]:
        yield request


def _line(spans: list[Span]) -> bytes:
    resource = {"attributes": _attributes(RESOURCE)}
    spans = [{**span, "attributes": _attributes(span["attributes"])} for span in spans]
    scope = {"scope": {"name": "pflow", "version": __version__}, "spans": spans, "schemaUrl": GEN_AI}
    return encode({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}) + b"\n"


def _name(trace: Trace) -> str:
    return (trace["flow"] or {}).get("name") or "pipe"


def _spans(trace: Trace) -> Iterator[Span]:
    """Yield the spans. The ids come from the wider trace that the run is part of; without one, from the run's id."""
    run, last = trace["run"], trace["last"]
    number = number_of(run)
    own = f"{number:032x}" if number else hashlib.sha256(run.encode()).hexdigest()[:32]
    wider, parent = span_parts(trace["traceparent"]), span_parts(trace["parent"])
    trace_id = wider[1] if wider else own
    root = wider[2] if wider and trace["flow"] else own[16:]  # a document's traceparent is that of its last stage
    ids = {0: root, **{each["number"]: _span_id(run, each["number"]) for each in trace["execution_trace"]}}

    def within(outer: str, id: str, span: Span) -> Span:
        return {"traceId": trace_id, "spanId": id, **({"parentSpanId": outer} if outer else {}), **span}

    if trace["status"] != RUNNING:
        yield within(parent[2] if parent else "", root, _run_span(trace))
    for each in trace["execution_trace"]:
        if each["state"] != RUNNING:
            id = ids[each["number"]]
            yield within(ids[each.get("outer", 0)], id, _visit_span(each, last))
            for number, call in enumerate(_calls_in(each, trace.get("batch_items", {}).get(each["number"], []))):
                yield within(id, _span_id(run, f"{each['number']}/{number}"), _call_span(call, last))
    for item in trace.get("map_items", ()):
        id = _span_id(run, f"item {item['number']}")
        yield within(root, id, _item_span(item))
        for number, call in enumerate(item["calls"]):
            yield within(id, _span_id(run, f"item {item['number']}/{number}"), _call_span(call, item["last"]))


def _span_id(run: str, number: int | str) -> str:
    return hashlib.sha256(f"{run}/{number}".encode()).hexdigest()[:16]


def _run_span(trace: Trace) -> dict[str, Any]:
    flow = trace["flow"] or {}
    about = {"pflow.run": trace["run"], "pflow.flow_hash": flow.get("hash"), "pflow.exit": trace["exit"]}
    items = trace["map"]["items"] if "map" in trace else {}
    failed, done = items.get("failed") or 0, items.get("done") or 0
    ended = f"{failed:,} of {failed + done:,} items failed" if failed else trace["status"]
    why = trace["error"].get("message", _NO_END if trace["exit"] is None else ended)
    error = None if trace["exit"] == 0 else why
    return _span(_name(trace), trace["began"], trace["last"], about, error)


def _visit_span(visit: TracedVisit, last: float) -> Span:
    named = ("node", "version", "pack", "visit", "lane", "read_keys", "write_keys", "action", "exit", "tries")
    error = _NO_END if visit["state"] == CUT else _error(visit)
    return _span(visit["step"], visit["began"], _end_of(visit, last), _named(visit, *named), error)


def _item_span(item: dict[str, Any]) -> Span:
    about = {"pflow.item": item["id"], **_named(item, "number", "status", "exit", "tries")}
    return _span(f"item {item['number']}", item["began"], item["last"], about, _error(item))


def _named(about: dict[str, Any], *names: str) -> dict[str, Any]:
    return {f"pflow.{name}": about.get(name) for name in names}


def _end_of(about: dict[str, Any], last: float) -> float:
    ms = amount(about.get("ms"))
    return last if ms is None else float(about["began"] + ms / 1000)


def _error(about: dict[str, Any]) -> Any:
    return about.get("message", "") if about.get("exit") else None


def _calls_in(visit: TracedVisit, items: list[Event]) -> Iterator[dict[str, Any]]:
    """Yield the calls of models in a visit, or in the items of a batch."""
    for part in items or [visit]:
        began = part["began"] if "began" in part else part["time"] - part.get("ms", 0.0) / 1000
        yield from ({"index": part.get("index"), **call} for call in calls_in(part, began))


def _call_span(call: dict[str, Any], last: float) -> Span:
    """Return the span of a call of a model; of several calls if only their sum is known, as for an agent."""
    used = Usage(call)
    model = _model_of(str(call.get("model") or ""))
    name, end = f"chat {model['gen_ai.request.model']}".strip(), _end_of(call, last)
    about = {"gen_ai.operation.name": "chat", **model}
    about |= {f"gen_ai.usage.{side}put_tokens": count for side, count in used.tokens.items()}
    about |= {"pflow.cost.usd": used.cost, **_named(used.members(), "calls", "unpriced")}
    if used.cost is not None:  # otherwise mlflow would compute another price
        about["mlflow.llm.cost"] = str(encode({"input_cost": 0, "output_cost": 0, "total_cost": used.cost}), "utf-8")
    about |= {"pflow.item": call.get("index"), **_named(call, "step", "exit")}
    return _span(name, call["began"], end, about, _error(call), _CLIENT)


def _model_of(name: str) -> dict[str, Any]:
    """Return the attributes of a model, and of its server if it is `http://HOST/v1#NAME` (OpenAI's protocol)."""
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
) -> Span:
    """Return a span with its times, attributes and status; `error` is None if it succeeded."""
    about |= {} if error is None else {"error.type": str(about["pflow.exit"] or "_OTHER")}
    nanoseconds = [str(int(min(max(moment, 0), _LATEST) * 1e6) * 1000) for moment in (began, max(began, ended))]
    return {
        "name": name,
        "kind": kind,
        "startTimeUnixNano": nanoseconds[0],
        "endTimeUnixNano": nanoseconds[1],
        "attributes": {key: _plain(value) for key, value in about.items() if value not in ("", [], None)},
        "status": {"code": 1} if error is None else {"code": 2, "message": str(error)},
    }


def _plain(value: Any) -> Any:
    """Convert a value to one that OTLP can hold: a text, a number, or a list of texts."""
    if isinstance(value, list):
        return [*map(str, value)]
    is_int = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
    return value if is_int or isinstance(value, float) else str(value)


def _attributes(about: dict[str, Any]) -> list[dict[str, Any]]:
    """Return attributes in OTLP's form."""
    return [{"key": key, "value": _value(value)} for key, value in about.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


FORMATS = {"json": as_json, "chrome": as_chrome, "otlp": as_otlp}
"""The formats of `pflow trace --NAME`."""


def as_protobuf(requests: Iterable[list[Span]]) -> Iterator[bytes]:
    """Yield each request as an ExportTraceServiceRequest; several in a row are one. Raises PflowError (78)."""
    with needs("cannot write protobuf", *_EXTRA):
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    for spans in requests:
        yield encode_spans(_readable(spans)).SerializeToString()


def send_spans(requests: Iterable[list[Span]]) -> str:
    """Send the spans to the receiver that OpenTelemetry's variables name; return how many, and its address.

    Raises PflowError: 65, 69, 75, 77, and 78 without the exporter or a right address.
    """
    import logging

    from pflow.web.address import show
    from pflow.web.route import bypass_proxies_here, check_bundle

    act = "cannot send the spans"
    with needs(act, *_EXTRA):
        import requests as http
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    class ObservedSession(http.Session):
        """A session that keeps the address, and the answer or the error, which the exporter only logs."""

        url = ""
        answer: Any = None

        def request(self, method: Any, url: Any, *words: Any, **more: Any) -> Any:
            self.url = url
            try:
                # A redirect is followed by a GET, which sends no spans: `_check` refuses the address instead.
                self.answer = super().request(method, url, *words, **more | {"allow_redirects": False})
            except Exception as error:
                self.answer = error
                raise
            return self.answer

    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    bypass_proxies_here()
    check_bundle()
    session, count = ObservedSession(), 0
    with Attempt(act, of=ValueError, hint="see the variables OTEL_*", exit=BAD_CONFIG):
        exporter = OTLPSpanExporter(session=session)
    for spans in requests:
        exporter.export(_readable(spans))
        _check(act, session.url, session.answer)
        count += len(spans)
    return f"{count:,} spans sent to {show(session.url)}"


def _check(act: str, url: str, answer: Any) -> None:
    """Raise PflowError unless the receiver has taken all spans."""
    from pflow.web.address import show
    from pflow.web.response import HINTS, Response, check

    act = f"{act} to '{show(url)}'"
    if not hasattr(answer, "status_code"):
        if isinstance(answer, ValueError):
            raise PflowError(f"{act}: this is not an address", hint=_HINT, exit=BAD_CONFIG)
        if "Timeout" in type(answer).__name__:
            raise PflowError(f"{act}: no answer in time", hint="OTEL_EXPORTER_OTLP_TIMEOUT allows more", exit=TRY_AGAIN)
        raise PflowError(f"{act}: no connection", hint=HINTS[UNAVAILABLE], exit=UNAVAILABLE)
    headers = {name.lower(): value for name, value in answer.headers.items()}
    status, kind = answer.status_code, headers.get("content-type", "")
    if status in (404, 405) or 300 <= status < 400 or (status < 300 and "html" in kind):
        raise PflowError(f"{act}: {status} {answer.reason}: it takes no spans there", hint=_HINT, exit=BAD_CONFIG)
    named = [os.environ.get(f"OTEL_EXPORTER_OTLP_{each}HEADERS", "") for each in ("", "TRACES_")]
    secrets = [unquote(pair.partition("=")[2]).strip() for each in named for pair in each.split(",")]
    try:
        check(Response(status, answer.reason, headers, answer.content, "POST", url), secrets)
    except PflowError as error:
        # The hint advises --retries, which `pflow trace` does not have.
        error.hint = "try again" if error.exit == TRY_AGAIN else error.hint
        raise
    if "protobuf" in kind:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

        said: Any = None
        with suppress(DecodeError):
            said = ExportTraceServiceResponse.FromString(answer.content).partial_success
        if said and said.rejected_spans:
            what = f"{act}: it refused {said.rejected_spans:,} of them: {foreign_line(said.error_message)}"
            raise masked(PflowError(what, exit=BAD_DATA), *secrets)


def _readable(spans: list[Span]) -> list[ReadableSpan]:
    """Return the spans in the exporter's form, with the resource that OpenTelemetry's variables describe."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

    def context(trace: str, id: str) -> SpanContext:
        return SpanContext(int(trace, 16), int(id, 16), is_remote=False, trace_flags=TraceFlags(1))

    resource = Resource(RESOURCE).merge(OTELResourceDetector().detect())
    scope = InstrumentationScope("pflow", __version__, GEN_AI)
    return [
        ReadableSpan(
            span["name"],
            context=context(span["traceId"], span["spanId"]),
            parent=context(span["traceId"], span["parentSpanId"]) if "parentSpanId" in span else None,
            resource=resource,
            attributes=span["attributes"],
            kind=SpanKind(span["kind"] - 1),  # the SDK counts from 0, where OTLP has 0 for unknown
            status=Status(StatusCode(span["status"]["code"]), span["status"].get("message")),
            start_time=int(span["startTimeUnixNano"]),
            end_time=int(span["endTimeUnixNano"]),
            instrumentation_scope=scope,
        )
        for span in spans
    ]
