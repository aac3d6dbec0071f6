"""A real server of OpenAI's protocol on 127.0.0.1, whose models each behave in one way, well or badly.

From pytest: `with OpenAIServer(directory) as server`. From a shell: `python -m tests.peers.openai_server DIR 3>&- &`,
then wait for DIR/port. Both write DIR/llm, for LLM_USER_PATH, and a line of DIR/requests.jsonl for each request, before
its answer. The program stops with the process that started it, when its stdin is a pipe that closes, or after ten
minutes.
"""

from __future__ import annotations

import gzip
import json
import re
import select
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.peers.lifetime import serve_until_left

KEY = "sk-peer-0123456789abcdef"
REPLY = "Oak, ash and elm."


class Call(BaseHTTPRequestHandler):
    """One request, and the ways to answer it; the connection closes after the answer."""

    server: Listener
    body: dict[str, Any]
    more: Mapping[str, str] = {}

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_HEAD(self) -> None:
        """Of what type a file is that nobody reads, `d` with more words; 404 where its name does not say.

        `untyped` is there and has no type.
        """
        if self.path == "/untyped":
            self.send_response(200)
            self.end_headers()
            return
        kind = guess_type(self.path)[0]
        self._send(200 if kind else 404, f"{kind}; charset=x" if self.path.startswith("/d.") else str(kind), {})

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.model = str(self.body.get("model"))
        self.nth = self.server.record(self.path, dict(self.headers), self.body)
        try:
            (MODELS.get(self.model) or transcript(self.model) or unknown_model)(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def fail(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        self._send(status, "application/json", headers or {})
        self._write(json.dumps({"error": {"message": message, "type": "error", "code": None}}))

    def answer(self, text: str, finish: str | None = "stop", **usage: Any) -> None:
        """The whole answer, in the protocol that was asked for; without `finish` a stream ends early."""
        send = {"/v1/responses": self._respond, "/v1/completions": self._complete}.get(self.path, self._chat)
        send(_pieces(text), finish, usage)

    def begin(self) -> None:
        self._send(200, "text/event-stream" if self.body.get("stream") else "application/json", {**self.more})

    def say(self, piece: str) -> None:
        self.event(self._chunk({"delta": {"content": piece}, "finish_reason": None}))

    def event(self, data: dict[str, Any]) -> None:
        self._write(f"data: {json.dumps(data)}\n\n")

    def wait_until(self, done: Callable[[], bool]) -> bool:
        """Wait for `done`; False when the client hung up, or the server stops, before it."""
        while not done():
            readable, _, _ = select.select([self.connection], [], [], 0.01)
            if self.server.stopping.is_set() or (readable and not self.connection.recv(1, socket.MSG_PEEK)):
                return False
        return True

    def _chat(self, pieces: list[str], finish: str | None, more: dict[str, Any]) -> None:
        self.begin()
        if not self.body.get("stream"):
            message = {"role": "assistant", "content": "".join(pieces)}
            choice = {"index": 0, "message": message, "finish_reason": finish}
            self._write(json.dumps({**self._chunk(choice, "chat.completion"), "usage": self._usage(pieces, more)}))
            return
        for piece in pieces:
            self.say(piece)
        self.finish_stream(finish, pieces, more)

    def finish_stream(self, finish: str | None, pieces: list[str], more: dict[str, Any] | None = None) -> None:
        if finish is None:
            return
        self.event(self._chunk({"delta": {}, "finish_reason": finish}))
        if (self.body.get("stream_options") or {}).get("include_usage"):
            self.event({**self._chunk(None), "usage": self._usage(pieces, more or {})})
        self._write("data: [DONE]\n\n")

    def _complete(self, pieces: list[str], finish: str | None, more: dict[str, Any]) -> None:
        self.begin()
        for piece in pieces:
            self.event(self._chunk({"index": 0, "text": piece, "finish_reason": None}, "text_completion"))
        if finish:
            last = self._chunk({"index": 0, "text": "", "finish_reason": finish}, "text_completion")
            self.event({**last, "usage": self._usage(pieces, more)})
            self._write("data: [DONE]\n\n")

    def _respond(self, pieces: list[str], finish: str | None, more: dict[str, Any]) -> None:
        self.begin()
        for piece in pieces:
            self._typed("response.output_text.delta", delta=piece, item_id="m", output_index=0, content_index=0)
        if finish is None:
            return
        tokens = self._usage(pieces, more)
        usage = {"input_tokens": tokens["prompt_tokens"], "output_tokens": tokens["completion_tokens"]}
        response = {"id": "r", "object": "response", "model": self.model, "output": [], "usage": usage}
        if finish == "stop":
            self._typed("response.completed", response={**response, "status": "completed"})
        elif finish == "failed":
            error = {"code": "server_error", "message": "out of luck"}
            self._typed("response.failed", response={**response, "status": "failed", "error": error})
        else:
            response |= {"status": "incomplete", "incomplete_details": {"reason": finish}}
            self._typed("response.incomplete", response=response)

    def _typed(self, kind: str, **data: Any) -> None:
        self._write(f"event: {kind}\n")
        self.event({"type": kind, "sequence_number": 0, **data})

    def _chunk(self, choice: dict[str, Any] | None, kind: str = "chat.completion.chunk") -> dict[str, Any]:
        choices = [{"index": 0, **choice}] if choice else []
        return {"id": "c", "object": kind, "created": 1, "model": self.model, "choices": choices}

    def _usage(self, pieces: list[str], more: dict[str, Any]) -> Any:
        asked = len(json.dumps(self.body.get("messages") or self.body).split())
        said = {"prompt_tokens": asked, "completion_tokens": len(pieces), "total_tokens": asked + len(pieces)}
        return more.get("whole", said | more)

    def _send(self, status: int, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _write(self, text: str) -> None:
        self.wfile.write(text.encode())
        self.wfile.flush()


def _pieces(text: str) -> list[str]:
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + [words[-1]] if text else []


def echo(call: Call) -> None:
    call.answer(last_words(call.body))


def last_words(body: dict[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or f"[{part['type']}]" for part in content)


def replying(text: str, finish: str | None = "stop", **usage: Any) -> Callable[[Call], None]:
    return lambda call: call.answer(text, finish, **usage)


def failing(status: int, message: str, **headers: str) -> Callable[[Call], None]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda call: call.fail(status, message, named)


def nth(number: int, then: Callable[[Call], None], else_: Callable[[Call], None]) -> Callable[[Call], None]:
    return lambda call: (then if call.nth == number else else_)(call)


def once(first: Callable[[Call], None], then: Callable[[Call], None]) -> Callable[[Call], None]:
    return nth(1, first, then)


def unknown_model(call: Call) -> None:
    call.fail(404, f"The model `{call.model}` does not exist")


def unauthorized(call: Call) -> None:
    call.fail(401, f"Incorrect API key provided: {call.headers['Authorization'].removeprefix('Bearer ')}.")


def stall(call: Call) -> None:
    call.wait_until(lambda: False)


def stall_midway(call: Call) -> None:
    call.begin()
    call.say("Oak, ")
    call.wait_until(lambda: False)


def slow_stream(call: Call) -> None:
    """The first word at once, the others when DIR/go is there."""
    call.begin()
    pieces = _pieces(REPLY)
    call.say(pieces[0])
    if call.wait_until((call.server.directory / "go").exists):
        for piece in pieces[1:]:
            call.say(piece)
        call.finish_stream("stop", pieces)


def torn(call: Call) -> None:
    """The connection breaks inside the body."""
    call._send(200, "text/event-stream", {"Content-Length": "100000"})
    call.say("Oak, ")


def garbled(call: Call) -> None:
    call.begin()
    call._write('data: {"choices": [\n\n')


def bomb(call: Call) -> None:
    """Half a gigabyte, packed."""
    call._send(200, "text/event-stream", {"Content-Encoding": "gzip"})
    call.wfile.write(gzip.compress(b"data: " + bytes(1 << 29), 1))


def proxied(call: Call) -> None:
    """Says the cost in a header, as litellm's proxy does."""
    call.more = {"x-litellm-response-cost": "0.25"}
    call.answer(REPLY)


def silent(call: Call) -> None:
    """Says nothing of tokens, whether that is asked for or not."""
    call.body.pop("stream_options", None)
    call.answer(REPLY)


def refuse(call: Call) -> None:
    call.begin()
    call.event(call._chunk({"delta": {"refusal": "I will not say."}, "finish_reason": None}))
    call.finish_stream("stop", [])


def overloaded_midway(call: Call) -> None:
    call.begin()
    call.say("Oak, ")
    call.event({"error": {"message": "overloaded", "code": 502}})


def wrote(status: int, body: Any, kind: str = "application/json") -> Callable[[Call], None]:
    """Answers with a body of another form."""

    def write(call: Call) -> None:
        call._send(status, kind, {})
        call._write(body if isinstance(body, str) else json.dumps(body))

    return write


def nonsense(call: Call) -> None:
    """Ten megabytes of what looks like JSON and is none, until the client hangs up."""
    call.begin()
    for _ in range(1000):
        call.say('{"nodes": [{"id": ' * 555)
    call.finish_stream("stop", [])


def nonsense_in_one_piece(call: Call) -> None:
    call.begin()
    call.say("[{" * 5_000_000)
    call.finish_stream("stop", [])


def form(call: Call) -> None:
    """Answers a schema with an object that fits it, and anything else with a sentence."""
    asked = call.body.get("response_format", {}).get("json_schema", {})
    call.answer(json.dumps(_filled(asked["schema"])) if asked else REPLY)


def _filled(schema: dict[str, Any]) -> Any:
    if "properties" in schema:
        return {name: _filled(member) for name, member in schema["properties"].items()}
    kinds = {"array": [], "boolean": True, "integer": 40, "number": 4.5, "object": {}}
    return kinds.get(schema.get("type", "string"), "oak")


def transcript(name: str) -> Callable[[Call], None] | None:
    """A model that says what transcripts/NAME.json has: a list of answers, one a try, of which the last repeats.

    A request with findings in it is the next try. An object has such a list for each sentence that holds its member's
    name. An answer is a text, an object (said as JSON), or {"behave": NAME} for one of MODELS.
    """
    file = TRANSCRIPTS / f"{name}.json"
    if not file.exists():
        return None
    said = json.loads(file.read_text())

    def play(call: Call) -> None:
        messages = call.body["messages"]
        asked = next(str(each["content"]) for each in messages if each["role"] == "user")
        answers = (
            said if isinstance(said, list) else next((said[key] for key in said if key in asked), ["I do not know."])
        )
        tries = call.server.count_try(call.model, is_next=re.search(r"\bP[FL]\d\d: ", asked) is not None)
        answer = answers[min(tries, len(answers) - 1)]
        if isinstance(answer, dict) and "behave" in answer:
            MODELS[answer["behave"]](call)
        else:
            call.answer(answer if isinstance(answer, str) else json.dumps(answer))

    return play


TRANSCRIPTS = Path(__file__).parent / "transcripts"
TREE = '{"name": "oak", "height": 40}'
TOO_LONG = '{"type": "error", "code": "context_length_exceeded", "message": "too long"}'
RATE_LIMITED = failing(429, "slow down", Retry_After="0")

MODELS: dict[str, Callable[[Call], None]] = {
    "echo": echo,
    "reply": replying(REPLY),
    "whole": replying(REPLY),
    "empty": replying(""),
    "long": replying(REPLY, "length"),
    "many": replying("word " * 2000),
    "silent": silent,
    "priced": replying(REPLY, cost=0.25),
    "priced-in-parts": replying(REPLY, cost={"input_tokens_cost": 0.05, "total_cost": 0.25}),
    "priced-by-two": replying(REPLY, cost=0.05, is_byok=True, cost_details={"upstream_inference_cost": 0.2}),
    "proxied": proxied,
    "misused": replying(REPLY, whole="x"),
    "misbilled": replying(REPLY, prompt_tokens=-1, completion_tokens=float("nan"), cost=-0.5),
    "see": echo,
    "tools": echo,
    "form": form,
    "json": replying(TREE),
    "json-native": replying(TREE),
    "json-list": replying(f'{{"items": [{TREE}, {{"name": "ash", "height": 30}}]}}'),
    "json-fenced": replying(f"Here it is:\n```json\n{TREE}\n```\nAnything else?"),
    "problems": replying('{"problems": [{"file": "a b.py", "line": 3, "problem": "x may be unset"}]}'),
    "no-problems": replying('{"problems": []}'),
    "json-misfit": replying('{"name": 7}'),
    "json-cut": replying('{"name": "o', "length"),
    "json-once": once(replying("an oak"), replying(TREE)),
    "rate-limited": RATE_LIMITED,
    "rate-limited-once": once(RATE_LIMITED, replying(REPLY)),
    "rate-limited-minute": failing(429, "slow down", Retry_After="60"),
    "broken": failing(500, "the server\nis broken"),
    "conflict-once": once(failing(409, "busy"), replying(REPLY)),
    "second-rate-limited": nth(2, RATE_LIMITED, replying(REPLY)),
    "third-torn": nth(3, torn, replying(REPLY)),
    "broken-once": once(failing(503, "starting"), replying(REPLY)),
    "bad-request": failing(400, "this prompt is too long"),
    "forbidden": failing(403, "not in your country"),
    "missing": unknown_model,
    "unauthorized": unauthorized,
    "keyed": replying(REPLY),
    "nokey": replying(REPLY),
    "cut": replying("Oak, ash", None),
    "cut-once": once(replying("", None), replying(REPLY)),
    "torn": torn,
    "garbled": garbled,
    "bomb": bomb,
    "overloaded-midway": overloaded_midway,
    "stall": stall,
    "stall-midway": stall_midway,
    "slow-stream": slow_stream,
    "no-credit": wrote(200, {"error": {"message": "Insufficient credits", "code": 402}}),
    "no-credit-list": wrote(200, [{"error": {"message": "top up", "status": "PAYMENT_REQUIRED"}}]),
    "no-credit-flat": wrote(200, {"code": 402, "msg": "top up"}),
    "no-credit-choice": wrote(200, {"choices": [{"index": 0, "error": {"code": 402, "message": "top up"}}]}),
    "responses-no-credit": wrote(200, {"error": {"message": "top up", "code": "insufficient_quota"}}),
    "responses-too-long": wrote(200, f"event: error\ndata: {TOO_LONG}\n\n", "text/event-stream"),
    "event-too-long": wrote(200, f"event: error\ndata: {TOO_LONG}\n\n", "text/event-stream"),
    "event-overloaded": wrote(200, 'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error"}}\n\n'),
    "page": wrote(200, "<html><head><title>Log in</title></head></html>", "text/html"),
    "plain": wrote(200, "sorry, the account is out of credits", "text/plain"),
    "gateway": wrote(502, "<html><head><title>502 Bad Gateway</title></head></html>", "text/html"),
    "no-route": wrote(405, ""),
    "wrong-key": wrote(400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid one."}}]),
    "filtered": replying("", "content_filter"),
    "nonsense": nonsense,
    "nonsense-one-piece": nonsense_in_one_piece,
    "refuse": refuse,
    "completion": replying(REPLY),
    "completion-cut": replying("Oak, ash", None),
    "responses": replying(REPLY),
    "responses-cut": replying("Oak, ash", None),
    "responses-long": replying(REPLY, "max_output_tokens"),
    "responses-failed": replying("", "failed"),
}

# What llm is told of a model besides its name and address.
TRAITS: dict[str, dict[str, Any]] = {
    "whole": {"can_stream": False},
    "see": {"vision": True},
    "form": {"supports_schema": True, "vision": True},
    "json-native": {"supports_schema": True},
    "json-list": {"supports_schema": True},
    "unauthorized": {"api_key_name": "peer"},
    "keyed": {"api_key_name": "peer"},
    "nokey": {"api_key_name": "nobody-has-this-key"},
    **{name: {"completion": True} for name in MODELS if name.startswith("completion")},
    **{name: {"responses": True} for name in MODELS if name.startswith("responses")},
}


class Listener(ThreadingHTTPServer):
    """The listening socket, and what its calls share."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, directory: Path) -> None:
        super().__init__(("127.0.0.1", 0), Call)
        self.directory = directory
        self.stopping = threading.Event()
        self._seen: Counter[str] = Counter()
        self._tries: Counter[str] = Counter()
        self._lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        return

    def record(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> int:
        """Note a request; how many this model has had."""
        headers = {name.lower(): value for name, value in headers.items()}
        if "authorization" in headers:
            headers["authorization"] = headers["authorization"].partition(" ")[0] + " ***"
        with self._lock, open(self.directory / "requests.jsonl", "a") as log:
            log.write(json.dumps({"path": path, "headers": headers, "body": body}) + "\n")
            self._seen[str(body.get("model"))] += 1
            return self._seen[str(body.get("model"))]

    def count_try(self, model: str, *, is_next: bool) -> int:
        """Return how many tries of a model came before this one, since it was first asked."""
        with self._lock:
            self._tries[model] = self._tries[model] + 1 if is_next else 0
            return self._tries[model]


class OpenAIServer:
    """The server as a context manager; `llm_user_path` makes its models llm's."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.llm_user_path = directory / "llm"

    def __enter__(self) -> OpenAIServer:
        self._listener = Listener(self.directory)
        self.port = self._listener.server_address[1]
        self._write_settings()
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.stopping.set()
        self._listener.shutdown()
        self._listener.server_close()

    def requests(self, model: str | None = None) -> list[dict[str, Any]]:
        """The requests so far, of one model or of all."""
        log = self.directory / "requests.jsonl"
        lines = log.read_text().splitlines() if log.exists() else []
        return [request for request in map(json.loads, lines) if model in (None, request["body"].get("model"))]

    def _write_settings(self) -> None:
        self.llm_user_path.mkdir(parents=True, exist_ok=True)
        base = {"api_base": f"http://127.0.0.1:{self.port}/v1"}
        models = [{"model_id": name, "model_name": name, **base, **TRAITS.get(name, {})} for name in MODELS]
        for file in sorted(TRANSCRIPTS.glob("*.json")):
            traits = {"supports_schema": True} if file.stem.endswith("-native") else {}
            models.append({"model_id": file.stem, "model_name": file.stem, **base, **traits})
        models.append({"model_id": "refused", "model_name": "refused", "api_base": "http://127.0.0.1:1/v1"})
        (self.llm_user_path / "extra-openai-models.yaml").write_text(json.dumps(models, indent=1))
        (self.llm_user_path / "keys.json").write_text(json.dumps({"peer": KEY}))
        (self.llm_user_path / "keys.json").chmod(0o600)  # as llm does


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with OpenAIServer(directory) as server:
        serve_until_left(directory, server.port)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
