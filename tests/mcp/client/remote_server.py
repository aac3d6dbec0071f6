"""An MCP server by hand that is reached by its URL, whose path names what it does wrong."""

import json
import time
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from typing import Any

JSON, EVENTS = "application/json", "text/event-stream"
PART = b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}'


def bomb() -> Iterator[bytes]:
    packer = zlib.compressobj(1, wbits=31)
    return (packer.compress(bytes(1 << 20)) for _ in range(1 << 10))


BODIES: dict[str, tuple[int, str, str, Iterator[bytes]]] = {
    "packed": (200, JSON, "gzip", filter(None, bomb())),
    "newlines": (200, JSON, "", repeat(b"\n" * 65536)),
    "values": (200, JSON, "", repeat(b"[[],{},0," * 8192)),
    "events": (200, EVENTS, "", repeat((b"data: " + PART + b"\n\n") * 500)),
    "comments": (200, EVENTS, "", repeat(b": \n" * 20000)),
    "refused": (400, JSON, "", repeat(b" " * 65536)),
}
"""The answers to a call that do not end: status, type, coding, and parts."""

WAYS = {
    **dict.fromkeys(BODIES, 65),
    **dict.fromkeys(("pages", "cursors", "many"), 65),
    "silent": 124,
    "delete": 0,
    "mute": 0,
    "marked": 0,
    "nameless": 0,
}
"""What a server does wrong, by the exit code of a call."""

SCHEMAS: dict[str, dict[str, Any]] = {
    "pattern": {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}},
    "references": {"$ref": "#/$defs/0"}
    | {"$defs": {str(n): {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(40)} | {"40": {}}},
}
"""Schemas of results whose check would not end."""
WAYS |= dict.fromkeys(SCHEMAS, 0)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    is_listed = False

    def handle_error(self, request: Any, address: Any) -> None:
        """A client that has hung up is right."""


class Hostile(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def way(self) -> str:
        return self.path.rpartition("/")[2]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        about, method = {"jsonrpc": "2.0", "id": asked.get("id")}, asked["method"]
        if method == "tools/call" and self.way in BODIES:
            return self.send(*BODIES[self.way])
        if method == "tools/list" and (self.way == "teller" or (self.way == "told" and self.server.is_listed)):
            return self.send(200, JSON, "", [f'{{"x": "{self.headers["Key"]}"'.encode()])
        self.server.is_listed |= method == "tools/list" and self.way == "told"
        about["id"] = None if (method, self.way) == ("server/discover", "nameless") else asked.get("id")
        if (method, self.way) in (("tools/call", "silent"), ("server/discover", "mute")):
            time.sleep(1000)
        results = {"initialize": _begun, "tools/list": self.tools, "tools/call": _called}
        if method in results:
            about["result"] = results[method](asked.get("params", {}))
        else:
            about["error"] = {"code": -32601, "message": "no"}
        mark = b"\xef\xbb\xbf" * (self.way == "marked")
        return self.send(200, JSON, "", [mark + json.dumps(about).encode()])

    def tools(self, params: dict[str, Any]) -> dict[str, Any]:
        tool = {"name": "go", "inputSchema": {"type": "object"}}
        if self.way in SCHEMAS:
            tool["outputSchema"] = SCHEMAS[self.way]
        tool["description"] = "x" * 1_000_000 * (self.way == "pages")
        more = {"nextCursor": str(int(params.get("cursor", 0)) + 1)} if self.way in ("pages", "cursors") else {}
        many = [{**tool, "name": f"go{n}"} for n in range(20_000)] if self.way == "many" else []
        return {"tools": [tool, *many] if self.way != "cursors" else [], **more}

    def do_GET(self) -> None:
        self.send(200, EVENTS, "", [b"id: 1\nretry: 0\ndata:\n\n"])

    def do_DELETE(self) -> None:
        time.sleep(1000)

    def send(self, status: int, kind: str, coding: str, parts: Any) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Encoding", coding or "identity")
        self.send_header("Mcp-Session-Id", "a-session")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in parts:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        pass


def _begun(params: dict[str, Any]) -> dict[str, Any]:
    about = {"name": "hostile", "version": "1.2"}
    return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}


def _called(params: dict[str, Any]) -> dict[str, Any]:
    return {"content": [], "structuredContent": {"a": "a" * 40 + "!"}}
