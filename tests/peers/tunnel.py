"""A server on 127.0.0.1 that is its own proxy: what comes through its CONNECT it answers itself, through TLS."""

from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self


class TunnelServer(ThreadingHTTPServer):
    """The server as a context manager. `requests` has what it was asked; whoever waits for `stopping` is let go."""

    daemon_threads = True

    def __init__(self, call: type[TunnelCall]) -> None:
        super().__init__(("127.0.0.1", 0), call)
        self.address = f"127.0.0.1:{self.server_address[1]}"
        self.requests: list[str] = []
        self.stopping = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        return

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stopping.set()
        self.shutdown()
        self.server_close()


class TunnelCall(BaseHTTPRequestHandler):
    """CONNECT, and then what comes through it."""

    certificate: Path
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_CONNECT(self) -> None:
        self.send_response(200)
        self.end_headers()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        self.connection = context.wrap_socket(self.connection, server_side=True)
        self.close_connection = False  # older clients ask in HTTP/1.0
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)
