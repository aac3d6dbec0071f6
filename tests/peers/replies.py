"""A server on 127.0.0.1 that answers each POST with the next of its replies, and keeps what was asked."""

import json
from http.server import BaseHTTPRequestHandler

from tests.peers.serving import Serving

CHUNK = {"id": "a", "object": "chat.completion.chunk", "created": 1, "model": "m"}
COMPLETION = {**CHUNK, "object": "chat.completion"}


def chunk(content=None, end=None, **more):
    """Return a chunk of a stream."""
    delta = {} if content is None else {"content": content}
    return {**CHUNK, "choices": [{"index": 0, "delta": delta, "finish_reason": end}], **more}


def token(text, likely, **others):
    """Return a chunk of one token with the logarithm of its likeliness, and of those of `others` in its place."""
    event, top = chunk(text), [{"token": each, "logprob": logprob} for each, logprob in others.items()]
    event["choices"][0]["logprobs"] = {"content": [{"token": text, "logprob": likely, "top_logprobs": top}]}
    return event


def whole(content, end="stop", **more):
    """Return the reply of a whole answer."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": end}
    return 200, {**COMPLETION, "choices": [choice], **more}


class Replies(Serving):
    """Replies are lists of events, or statuses with a body and headers; the last one is for all further requests.

    A function makes one from the request. `owner` is what it says of the owner of its models, to whom has its `key`;
    without one it has no list. `listed` counts the requests for it.
    """

    def __init__(self, *replies, owner="me", key="DUMMY_KEY"):
        super().__init__(_Reply)
        self.replies, self.asked, self.owner, self.key, self.listed = list(replies), [], owner, key, 0

    def model(self, name):
        return f"http://127.0.0.1:{self.server_port}/v1#{name}"

    def next(self, asked):
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        reply = reply(asked) if callable(reply) else reply
        if isinstance(reply, list):
            return 200, "".join(f"data: {json.dumps(each)}\n\n" for each in reply) + "data: [DONE]\n\n", {}
        return (*reply, {})[:3]


class _Reply(BaseHTTPRequestHandler):
    def do_GET(self):
        data = json.dumps({"data": [{"id": "m", "owned_by": self.server.owner}]}).encode()
        self.server.listed += 1
        is_known = self.headers["Authorization"] == f"Bearer {self.server.key}"
        self.send_response((200 if self.server.owner else 501) if is_known else 401)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        status, body, headers = self.server.next(asked)
        kind = "application/json" if isinstance(body, dict) else "text/event-stream"
        body = json.dumps(body) if isinstance(body, dict) else body
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass
