"""A receiver of OpenTelemetry spans over HTTP, in JSON or protobuf, that reads them by OTLP's own definitions.

It refuses the rest. The first letters of a path say how it answers: /200, /200-html, /200-part, /301, /503, ….

https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

import json
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf.json_format import Parse, ParseError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

PROTOBUF = "application/x-protobuf"
IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}
"""The bytes of each id: OTLP writes them in hexadecimal digits, and protobuf's JSON has Base64."""


def read_request(body: bytes) -> ExportTraceServiceRequest:
    """Return the spans of a request. Raises ValueError or ParseError."""

    def with_ids(members: dict[str, Any]) -> dict[str, Any]:
        for name in members.keys() & IDS.keys():
            id = bytes.fromhex(members[name])
            if len(id) != IDS[name] or not any(id):
                raise ValueError(f"{name} is not an id: {members[name]}")
            members[name] = b64encode(id).decode()
        return members

    return Parse(json.dumps(json.loads(body, object_hook=with_ids)), ExportTraceServiceRequest())


class Export(BaseHTTPRequestHandler):
    server: "OTLPReceiver"

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_POST(self) -> None:
        body, kind = self.rfile.read(int(self.headers["Content-Length"])), self.headers["Content-Type"]
        way, _, path = self.path[1:].partition("/")
        if path != "v1/traces":
            way, path = "", self.path[1:]
        status, answer = int(way[:3] or 200), b""
        try:
            if path != "v1/traces":
                raise ValueError(f"no spans: {self.path}")
            read = {"application/json": read_request, PROTOBUF: ExportTraceServiceRequest.FromString}[kind]
            self.server.requests.append(read(body))
        except (LookupError, ValueError, ParseError) as error:
            status, answer = 400, str(error).encode()
        if way.endswith("-part"):
            refused = {"rejected_spans": 2, "error_message": "too old"}
            answer = ExportTraceServiceResponse(partial_success=refused).SerializeToString()
        elif status != 200:
            answer = answer or f"no: {self.headers['x-key']}".encode()
        self.send_response(status)
        kinds = {"": "text/plain", "html": "text/html", "part": PROTOBUF}
        self.send_header("Content-Type", kinds[way.partition("-")[2]])
        self.send_header("Retry-After", "3600")
        self.send_header("Location", "/login")
        self.end_headers()
        self.wfile.write(answer)


class OTLPReceiver(ThreadingHTTPServer):
    """The receiver as a context manager; `requests` are those that it accepted."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Export)
        self.url = f"http://127.0.0.1:{self.server_port}/v1/traces"
        self.requests: list[ExportTraceServiceRequest] = []
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()
