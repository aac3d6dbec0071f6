"""A server on 127.0.0.1 of the protocols that llm's plugins speak: Anthropic's, Google's (through TLS) and Ollama's.

`with PluginServers() as servers`: `servers.environment` leads llm-anthropic, llm-gemini and llm-ollama there, and
`requests` has the path of each question. A question is itself the scene that it gets, in JSON (any other gets REPLY):

    say      the pieces of the answer         end      the reason at its end, in the protocol's word; null: none is said
    thoughts pieces before the answer         tool     the name of a tool that is called after it
    more     members of the last event; null removes one        then     a text sent after the pieces, instead of an end
    status   a refusal, with `body` (JSON or text) and `headers`      stall    true: nothing more comes
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.peers.tunnel import TunnelCall, TunnelServer

CERTIFICATE = Path(__file__).parent / "google.pem"
REPLY = ["Oak, ", "ash ", "and elm."]
Scene = dict[str, Any]


def anthropic(scene: Scene, model: str, whole: bool) -> Iterator[str]:
    """The events of an answer, which the plugin always wants."""
    usage = {"input_tokens": 12, "output_tokens": 1, "cache_read_input_tokens": 4}
    message = {"id": "m", "type": "message", "role": "assistant", "model": model, "content": [], "usage": usage}
    end = {"stop_reason": scene["end"], "stop_sequence": None, **scene.get("more", {})}

    def event(kind: str, **data: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

    yield event("message_start", message={**message, "stop_reason": None, "stop_sequence": None})
    yield event("ping")
    kinds = [("thinking", "thinking", {"signature": ""}, scene.get("thoughts", []))]
    kinds += [("text", "text", {}, scene["say"])]
    for index, (kind, member, more, pieces) in enumerate(each for each in kinds if each[-1]):
        yield event("content_block_start", index=index, content_block={"type": kind, member: "", **more})
        for piece in pieces:
            yield event("content_block_delta", index=index, delta={"type": f"{kind}_delta", member: piece})
    if "tool" in scene:
        index = sum(bool(each[-1]) for each in kinds)
        block = {"type": "tool_use", "id": "t", "name": scene["tool"], "input": {}}
        yield event("content_block_start", index=index, content_block=block)
    if scene["end"] is not None:
        yield event("message_delta", delta=end, usage={"output_tokens": 5})
        yield event("message_stop")


def google(scene: Scene, model: str, whole: bool) -> Iterator[str]:
    """An array that grows by an object a piece, which the plugin always wants."""
    usage = {"promptTokenCount": 12, "candidatesTokenCount": 5, "totalTokenCount": 17, "cachedContentTokenCount": 4}
    about = {"modelVersion": model, "responseId": "r"}
    parts: list[Any] = [{"text": each, "thought": True} for each in scene.get("thoughts", [])]
    parts += [{"text": each} for each in scene["say"]]
    if "tool" in scene:
        parts.append({"functionCall": {"name": scene["tool"], "args": {}}})
    events: list[Any] = [{"candidates": [{"content": {"parts": [each]}, "index": 0}], **about} for each in parts]
    if scene["end"] is not None:
        last = {"candidates": [{"content": {"parts": []}, "finishReason": scene["end"], "index": 0}]}
        last = {**last, "usageMetadata": usage, **about, **scene.get("more", {})}
        events.append({name: value for name, value in last.items() if value is not None})
    for number, each in enumerate(events):
        yield ("," if number else "[") + json.dumps(each) + "\r\n"
    yield "]" if scene["end"] is not None else ""


def ollama(scene: Scene, model: str, whole: bool) -> Iterator[str]:
    """A line of JSON a piece, or one."""
    say = ["".join(scene["say"])] if whole else scene["say"]
    messages = [{"role": "assistant", "content": "", "thinking": each} for each in scene.get("thoughts", [])]
    messages += [{"role": "assistant", "content": each} for each in say]
    if "tool" in scene:
        calls = [{"function": {"name": scene["tool"], "arguments": {}}}]
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
    about = {"model": model, "created_at": "2026-11-01T00:00:00Z"}
    end = {"done": True, "done_reason": scene["end"], "prompt_eval_count": 12, "eval_count": 5, **scene.get("more", {})}
    last = messages.pop() if whole else {"role": "assistant", "content": ""}
    for message in messages:
        yield json.dumps({**about, "message": message, "done": False}) + "\n"
    if scene["end"] is not None:
        yield json.dumps({**about, "message": last, **end}) + "\n"


class Call(TunnelCall, BaseHTTPRequestHandler):
    """One request. Every body is chunked, so an end in the middle of an answer may be a clean one."""

    server: PluginServers
    certificate = CERTIFICATE

    def do_GET(self) -> None:
        listed = [{"model": name, "name": name, "digest": name} for name in ("oak:latest", "oak:cloud")]
        self._answer(200, {}, [json.dumps({"models": listed})])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/show":
            self._answer(200, {}, [json.dumps({"capabilities": ["completion", "thinking"], "model_info": {}})])
            return
        speak, said, whole = self._asked(body)
        scene = {"say": REPLY, **(json.loads(said) if said.startswith("{") else {})}
        self.server.requests.append(self.path)
        if "status" in scene:
            words = scene.get("body", "")
            words = words if isinstance(words, str) else json.dumps(words)
            self._answer(scene["status"], scene.get("headers", {}), [words])
            return
        usual = {anthropic: "end_turn", google: "STOP", ollama: "stop"}[speak]
        pieces = speak({"end": None if "then" in scene else usual, **scene}, str(body.get("model", "gemini")), whole)
        self._answer(200, scene.get("headers", {}), [*pieces, scene.get("then", "")], stall=scene.get("stall", False))

    def _asked(self, body: Any) -> tuple[Any, str, bool]:
        """Who speaks, the question, and whether its answer is one piece."""
        if self.path.startswith("/v1beta/"):
            return google, body["contents"][-1]["parts"][-1]["text"], False
        content = body["messages"][-1]["content"]
        if self.path.startswith("/v1/messages"):
            return anthropic, content if isinstance(content, str) else content[-1]["text"], False
        return ollama, content, not body["stream"]

    def _answer(self, status: int, headers: dict[str, str], pieces: list[str], *, stall: bool = False) -> None:
        kind = "text/event-stream" if pieces[0].startswith("event:") else "application/json"
        headers = {"Content-Type": kind, "Transfer-Encoding": "chunked", **headers}
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in pieces:
            data = piece.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if data else b"")
        if stall:
            self.server.stopping.wait(60)
        self.wfile.write(b"0\r\n\r\n")


class PluginServers(TunnelServer):
    """The server as a context manager."""

    def __init__(self) -> None:
        super().__init__(Call)
        keys = dict.fromkeys(("ANTHROPIC_API_KEY", "LLM_GEMINI_KEY"), "peer-0123456789")
        places = dict.fromkeys(("ANTHROPIC_BASE_URL", "OLLAMA_HOST", "HTTPS_PROXY"), f"http://{self.address}")
        self.environment = {**keys, **places, "SSL_CERT_FILE": str(CERTIFICATE), "NO_PROXY": "127.0.0.1"}
