"""A server on 127.0.0.1 that speaks as much of GitHub's REST API as the seeds use: an issue, and comments on it.

https://docs.github.com/en/rest/issues
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TITLE = "Touch events"
BODY = "Button component touch events not working properly on mobile devices"
LABELS = [{"name": "bug"}, {"name": "mobile"}]


class Call(BaseHTTPRequestHandler):
    server: GitHubServer

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_GET(self) -> None:
        number = self._number("/issues/")
        self.server.asked.append(self.path)
        self._answer({"number": number, "title": TITLE, "body": BODY, "labels": LABELS} if number else None)

    def do_POST(self) -> None:
        comment = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(self.path)
        self.server.comments.append(comment["body"])
        self._answer({"url": f"{self.path}/{len(self.server.comments)}"})

    def _number(self, after: str) -> int | None:
        number = self.path.rpartition(after)[2]
        return int(number) if number.isdecimal() else None

    def _answer(self, found: Any) -> None:
        data = json.dumps(found).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class GitHubServer(ThreadingHTTPServer):
    """The server as a context manager; it ends with the process at the latest. `asked` and `comments` are what came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Call)
        self.asked: list[str] = []
        self.comments: list[str] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> GitHubServer:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()
