"""A receiver of OpenTelemetry spans, as JSON over HTTP, that reads them by OTLP's own definitions and refuses the rest.

https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

import json
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf.json_format import Parse, ParseError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

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
        body, status, answer = self.rfile.read(int(self.headers["Content-Length"])), 200, {}
        try:
            if (self.path, self.headers["Content-Type"]) != ("/v1/traces", "application/json"):
                raise ValueError(f"no spans in JSON: {self.path}")
            self.server.requests.append(read_request(body))
        except (ValueError, ParseError) as error:
            status, answer = 400, {"message": str(error)}
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


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
