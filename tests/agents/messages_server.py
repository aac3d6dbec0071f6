"""A server of Anthropic's messages API on 127.0.0.1, which answers what a test tells it to, turn by turn."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Turn = dict[str, Any]


def says(text: str, **more: Any) -> Turn:
    return {"content": {"type": "text", "text": ""}, "delta": {"type": "text_delta", "text": text}, **more}


def uses(tool: str, **input: Any) -> Turn:
    delta = {"type": "input_json_delta", "partial_json": json.dumps(input)}
    return {"content": {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}, "delta": delta}


def fails(status: int, kind: str, message: str, **headers: str) -> Turn:
    return {"status": status, "error": {"type": kind, "message": message}, "headers": headers}


STALLS: Turn = {"stalls": True}


class MessagesServer(ThreadingHTTPServer):
    """Takes one of `turns` a request, the last one for all that follow; `requests` has headers and body of each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Call)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.turns: list[Turn] = [says("Done.")]
        self.requests: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.is_stalled = threading.Event()

    def __enter__(self) -> MessagesServer:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()


class _Call(BaseHTTPRequestHandler):
    server: MessagesServer

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
        turns = self.server.turns
        turn = turns.pop(0) if len(turns) > 1 else turns[0]
        if turn.get("stalls"):
            self.server.is_stalled.set()
            self.rfile.read(1)  # until it hangs up
        elif "status" in turn:
            self._send(turn["status"], "application/json", turn["headers"])
            self.wfile.write(json.dumps({"type": "error", "error": turn["error"]}).encode())
        else:
            self._send(200, "text/event-stream", {})
            self._stream(turn, str(body["model"]), f"msg_{len(self.server.requests)}")

    def _send(self, status: int, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _stream(self, turn: Turn, model: str, id: str) -> None:
        usage = {"input_tokens": 100, "output_tokens": 1}
        about = {"id": id, "type": "message", "role": "assistant", "model": model, "content": [], "usage": usage}
        stop = "tool_use" if turn["content"]["type"] == "tool_use" else "end_turn"
        self._event("message_start", message={**about, "stop_reason": None, "stop_sequence": None})
        self._event("content_block_start", index=0, content_block=turn["content"])
        self._event("content_block_delta", index=0, delta=turn["delta"])
        self._event("content_block_stop", index=0)
        end = {"stop_reason": turn.get("stop", stop), "stop_sequence": None}
        self._event("message_delta", delta=end, usage={"output_tokens": 20})
        self._event("message_stop")

    def _event(self, kind: str, **members: Any) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode())
