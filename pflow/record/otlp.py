"""Spans for OpenTelemetry's own exporter: as protobuf, or sent to a receiver. It is the extra [otlp]."""

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pflow import __version__
from pflow.errors import BAD_CONFIG, BAD_DATA, TRY_AGAIN, UNAVAILABLE, Attempt, PflowError
from pflow.files.installation import needs
from pflow.record.trace_formats import GEN_AI, RESOURCE, Span
from pflow.text.printable import one_line
from pflow.values.secrets import masked
from pflow.web.address import show
from pflow.web.answer import HINTS, Response, check
from pflow.web.route import check_bundle, spare_this_machine

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_EXTRA = ("opentelemetry-exporter-otlp-proto-http", "otlp")
_ADDRESS = "OTEL_EXPORTER_OTLP_ENDPOINT"
_HINT = f"{_ADDRESS}=http://HOST:4318, or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT with the whole address"


def as_protobuf(requests: Iterable[list[Span]]) -> Iterator[bytes]:
    """Yield each request as an ExportTraceServiceRequest; several in a row are one. Raises PflowError (78)."""
    with needs("cannot write protobuf", *_EXTRA):
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    for spans in requests:
        yield encode_spans(_readable(spans)).SerializeToString()


def send(requests: Iterable[list[Span]]) -> str:
    """Send the spans to the receiver that OpenTelemetry's variables name; return how many, and its address.

    Raises PflowError: 65, 69, 75, 77, and 78 without the exporter or a right address.
    """
    act = "cannot send the spans"
    with needs(act, *_EXTRA):
        import requests as http
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    class ObservedSession(http.Session):
        """Keeps what the exporter only logs: the address, and its answer or the reason for none."""

        url = ""
        answer: Any = None

        def request(self, method: Any, url: Any, *words: Any, **more: Any) -> Any:
            self.url = url
            try:
                self.answer = super().request(method, url, *words, **more | {"allow_redirects": False})
            except Exception as error:
                self.answer = error
                raise
            return self.answer

    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    spare_this_machine()
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
        error.hint = "try again" if error.exit == TRY_AGAIN else error.hint  # there are no --retries here
        raise
    if "protobuf" in kind:
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

        said: Any = None
        with suppress(DecodeError):
            said = ExportTraceServiceResponse.FromString(answer.content).partial_success
        if said and said.rejected_spans:
            what = f"{act}: it refused {said.rejected_spans:,} of them: {one_line(said.error_message)}"
            raise masked(PflowError(what, exit=BAD_DATA), *secrets)


def _readable(spans: list[Span]) -> "list[ReadableSpan]":
    """Return the spans as the exporter takes them, of the resource that OpenTelemetry's variables describe."""
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
