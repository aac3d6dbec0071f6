"""HTTP for all models: the limits and errors of each request, and answers in the one form that the openai client reads.

llm's plugins have clients of their own and report little: llm-gemini drops the status, most others the words of a
refusal.
"""

import json
import re
import sys
import threading
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import httpx2

from pflow.errors import result_of
from pflow.models.ending import Ending
from pflow.models.errors import ErrorInAnswer
from pflow.process.signals import time_left

_LIBRARIES = ("httpx", "httpx2")

_PIECE, _PIECES = 1 << 16, 16
"""The size and the number of the pieces that are read of a refusal: enough for its words."""

_asking = threading.local()


class ErrorResponse(Exception):
    """A response whose status is an error: the library's object, and its text as `body`."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.status_code = response.status_code
        self.body = response.text
        if delay := re.search(r'"retryDelay": *"([\d.]+)s"', self.body):  # Gemini has no header
            response.headers.setdefault("retry-after", delay[1])
        super().__init__(self.body or response.reason_phrase)


@contextmanager
def reporting_to(ending: Ending) -> Iterator[None]:
    """Store in `ending` the headers of each response that this thread gets here, and the error for its status."""
    for library in filter(None, map(sys.modules.get, _LIBRARIES)):
        _make_report(library)
    before, _asking.ending = current_ending(), ending
    try:
        yield
    finally:
        _asking.ending = before


def current_ending() -> Ending | None:
    """Return the ending of the answer for which this thread waits; None if it waits for none."""
    return getattr(_asking, "ending", None)


def _make_report(library: Any) -> None:
    """Make a library's transport report to the ending of its thread.

    The method of its class is replaced, since hooks, mounts and transports belong to a client, and llm's plugins make
    clients of their own.
    """
    send = library.HTTPTransport.handle_request
    if getattr(send, "reports", False):
        return

    def handle_request(transport: Any, request: Any) -> Any:
        ending = current_ending()
        if ending is None:
            return send(transport, request)
        if (left := time_left(ending.time_limit)) is not None:
            limits = request.extensions.get("timeout") or {}
            kinds = ("connect", "read", "write", "pool")
            request.extensions["timeout"] = {each: min(limits.get(each) or left, left) for each in kinds}
        response = send(transport, request)
        ending.headers, ending.error = response.headers, None
        response.headers["x-should-retry"] = "false"  # anthropic's client asks again by itself, unseen
        if response.status_code >= 400:
            response = _read(library, response)
            ending.error = ErrorResponse(response)
        else:
            response.stream = in_place_of(response.stream, _in_time(response.stream), library)
        return response

    handle_request.reports = True  # type: ignore[attr-defined]
    library.HTTPTransport.handle_request = handle_request


def _read(library: Any, response: Any) -> Any:
    """Return the response with no more than the beginning of its body, unpacked."""
    body = b"".join(islice(response.iter_bytes(_PIECE), _PIECES))
    response.close()
    headers = [(name, value) for name, value in response.headers.items() if name not in _OF_THE_BODY]
    return library.Response(response.status_code, headers=headers, content=body, extensions=response.extensions)


_OF_THE_BODY = ("content-encoding", "content-length", "transfer-encoding")


def in_place_of(stream: Any, parts: Iterator[bytes], library: Any) -> Any:
    """Return a stream of these parts in place of `stream`.

    A second iteration goes on where the first one stopped, since a body that is read anew might never end.
    """

    class Stream(library.SyncByteStream):  # type: ignore[misc]
        def __iter__(self) -> Iterator[bytes]:
            return parts

        def close(self) -> None:
            stream.close()

    return Stream()


def _in_time(stream: Any) -> Iterator[bytes]:
    """Yield the parts of a stream; end at the time limit even if a server sends only signs of life."""
    for part in stream:
        yield part
        time_left()


_ALIVE = ("ping", "keepalive", "keep-alive", "keep_alive", "heartbeat")
"""The names and texts of events that only say that the server is alive."""

_GARBLED = object()
"""The value of data that is not JSON."""

_DATA = rb"$|:|[\[{]|(data|event|id|retry)\b"
"""How JSON or events begin, in a body that is declared as text."""

_PAGE = 100
"""The number of parts that are read of a page, for its words."""

_TEXTS = ("content", "reasoning", "reasoning_content", "refusal")
"""The members of a message whose text comes in pieces, to be joined."""

_SAYING = ("text", "thinking", "reasoning", "summary", "content", "value")
"""The members of a part of an answer that may hold its text."""


def tidy(response: httpx2.Response) -> None:
    """Turn a response into the form for which the client asked, whatever the server writes. This is a hook."""
    if not response.is_success:
        return
    ending = current_ending()
    is_stream = ending is not None and "stream" in ending.sent
    is_text = response.headers.get("content-type", "").startswith(("text/plain", "text/html"))
    parts = _checked(response.stream, _DATA if is_text else b"(?!<)")
    if not response.request.url.path.endswith("/responses"):
        parts = as_stream(parts) if is_stream else as_whole(parts)
    elif is_stream:
        parts = _as_event(parts)
    response.headers["content-type"] = "text/event-stream" if is_stream else "application/json"
    response.stream = in_place_of(response.stream, parts, httpx2)


def _checked(stream: Any, beginning: bytes) -> Iterator[bytes]:
    """Yield the parts of a body without its byte order mark.

    Raises ErrorInAnswer for a body that does not begin as `beginning` says, such as a page.
    """
    parts = iter(stream)
    first = next(parts, b"").removeprefix(BOM_UTF8)
    if len(first) > 5 and not re.match(beginning, first.lstrip()):  # a shorter part may end within `event`
        raise ErrorInAnswer(b"".join([first, *islice(parts, _PAGE)]))
    yield from chain([first], parts)


def _as_event(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the parts of a stream; a body that is JSON instead, as an error is, becomes one event."""
    first = next(parts, b"")
    value = _decoded(str(b"".join([first, *parts]), "utf-8", "replace")) if first[:1] in (b"{", b"[") else _GARBLED
    value = value[0] if isinstance(value, list) and value else value
    yield first if value is _GARBLED else f"data: {json.dumps(value)}\n\n".encode()
    yield from parts


def as_stream(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the events of an answer in the client's form, then an empty part for each part after the end.

    A connection that breaks once the answer has stated the reason for its end is no failure.
    """
    half, is_ended = "", False
    try:
        for chunk in _chunks(parts):
            if isinstance(chunk, str):
                chunk = chunk.replace("\n", "\ndata: ")
            for choice in chunk["choices"][:1] if isinstance(chunk, dict) else ():
                half = _join_halves(choice.get("delta", choice), half)
                is_ended = is_ended or choice.get("finish_reason") is not None
            yield f"data: {json.dumps(chunk) if isinstance(chunk, dict) else chunk}\n\n".encode()
    except httpx2.TransportError:
        if not is_ended:
            raise
    yield b"data: [DONE]\n\n"
    yield from (b"" for _ in parts)


def as_whole(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Yield an answer in one piece; put it together if it came as a stream."""
    body = b"".join(parts)
    value = _decoded(str(body, "utf-8"))
    if value is _GARBLED:
        chunks = list(_chunks(iter([body])))
        value = _united(chunks) if chunks and all(isinstance(each, dict) for each in chunks) else _GARBLED
    elif isinstance(value, dict) and isinstance(value.get("choices"), list):
        for choice in value["choices"]:
            if isinstance(choice, dict) and isinstance(choice.get("message"), dict):
                _flatten(choice["message"])
    yield body if value is _GARBLED else json.dumps(value).encode()


def _united(chunks: list[Any]) -> dict[str, Any]:
    """Return the whole answer that came in chunks."""
    choices = [choice for chunk in chunks for choice in chunk["choices"][:1]]
    members = [(name, said) for choice in choices for name, said in choice.get("delta", {}).items() if said]
    pieces = [(name, said) for name, said in members if isinstance(said, str)]
    joined = {name: "".join(said for each, said in pieces if each == name) for name in _TEXTS}
    message = dict(members) | json.loads(json.dumps(joined))  # joins surrogates that came apart
    reason = next((said for choice in reversed(choices) if (said := choice.get("finish_reason"))), None)
    whole = {name: said for chunk in chunks for name, said in chunk.items() if said}
    return {**whole, "choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def _chunks(parts: Iterable[bytes]) -> Iterator[dict[str, Any] | str]:
    """Yield the chunks in the events of an answer, up to its end."""
    for name, text, value in _events(parts):
        if text.strip().startswith("[DONE]"):
            return
        if (chunk := _chunk(name, text, value)) is not None:
            yield chunk


def _events(parts: Iterable[bytes]) -> Iterator[tuple[str, str, Any]]:
    """Yield the name, text and value of each event with data. A line of JSON without `data:` is an event too."""
    name, pending = "", list[str]()
    lines = _lines(parts)
    for line in lines:
        field, _, said = line.partition(":")
        if line[:1] in ("{", "[") and not pending:
            value = _decoded(line)
            if value is _GARBLED and not line.startswith("[DONE]"):  # JSON over several lines
                line = "\n".join([line, *lines])
                value = _decoded(line)
            yield name, line, value
        elif field == "data":
            pending.append(said.removeprefix(" "))
            value = _decoded(pending[0]) if len(pending) == 1 else _GARBLED
            if value is not _GARBLED or pending[0].strip().startswith("[DONE]"):  # not all servers add an empty line
                yield name, pending.pop(), value
        elif field == "event":
            name = said.strip()
        elif not line:
            if pending:
                text = "\n".join(pending)
                yield name, text, _decoded(text)
            name, pending = "", []


def _lines(parts: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines of a body, and its last one even if it has no end."""
    rest = bytearray()
    for part in parts:
        rest += part
        if b"\n" in part or b"\r" in part:
            lines = rest.splitlines(keepends=True)
            rest = bytearray() if lines[-1].endswith(b"\n") else lines.pop()  # a \n may follow its \r
            yield from (str(line, "utf-8").rstrip("\r\n") for line in lines)
    yield from str(rest, "utf-8", "replace").splitlines()


def _decoded(text: str) -> Any:
    return result_of(json.loads, text, of=ValueError, otherwise=_GARBLED)


def _chunk(name: str, text: str, value: Any) -> dict[str, Any] | str | None:
    """Return an event as a chunk of OpenAI's protocol; None for a sign of life, and its text for anything else."""
    is_alive = name in _ALIVE or text.strip().strip('"').lower() in ("", "null", *_ALIVE) or text.startswith(":")
    if is_alive or (isinstance(value, dict) and value.get("type") in _ALIVE):
        return None
    if isinstance(value, list) and value:  # Gemini sends a failure in a list
        value = value[0]
    said = value if isinstance(value, dict) else {"message": text}
    if name == "error" or "error" in (said.get("object"), said.get("type")):
        said = said if said.get("error") else {"error": said}
    elif not isinstance(value, dict):  # unchanged, so that the client finds it garbled
        return text
    if said.get("error"):
        return {**said, "choices": []}
    choices = said.get("choices")
    choices = [each for each in choices if isinstance(each, dict)] if isinstance(choices, list) else []
    for choice in choices:
        if choice.get("finish_reason") in ("", "null"):  # some servers send these before the end
            choice["finish_reason"] = None
        if "text" in choice:  # a completion of OpenAI's oldest protocol, which has no messages
            continue
        delta = choice.get("delta") or choice.get("message")
        choice["delta"] = _flatten(delta) if isinstance(delta, dict) else {}
        calls = choice["delta"].get("tool_calls")
        for number, call in enumerate(calls if isinstance(calls, list) else []):
            if isinstance(call, dict):  # the calls in a whole message, unlike those in a chunk, have no numbers
                call.setdefault("index", number)
    return {**said, "choices": choices}


def _flatten(message: dict[str, Any]) -> dict[str, Any]:
    """Replace the parts in a message's content by their text, and put its thoughts into a member of their own."""
    content = message.get("content")
    if not isinstance(content, list | dict):
        return message
    texts, thoughts, refusals = [], [], []
    for part in content if isinstance(content, list) else [content]:
        about = part if isinstance(part, dict) else {"text": part}
        kind = str(about.get("type") or "text")
        if about.get("thought") or kind.startswith(("think", "reason", "thought", "redacted")):
            thoughts.append(_said(about))
        elif kind.endswith("text"):
            texts.append(_said(about))
        elif kind == "refusal":
            refusals.append(str(about.get("refusal") or ""))
    message["content"] = "".join(texts)
    for member, found in (("reasoning_content", thoughts), ("refusal", refusals)):
        if found and not message.get(member):
            message[member] = "".join(found)
    return message


def _said(part: Any) -> str:
    if isinstance(part, list):
        return "".join(map(_said, part))
    if isinstance(part, dict):
        return next((_said(part[name]) for name in _SAYING if part.get(name)), "")
    return part if isinstance(part, str) else ""


def _join_halves(delta: dict[str, Any], half: str) -> str:
    """Put `half`, the first surrogate of a character, before the text. Return the half that ends the text, or "".

    Servers that cut their text between the two send them in two chunks.
    """
    text = delta.get("content") or ""
    if not isinstance(text, str) or not (half or text):
        return half
    text = json.loads(json.dumps(half + text))
    ahead = text[-1] if "\ud800" <= text[-1] < "\udc00" and half != text else ""
    delta["content"] = text.removesuffix(ahead) if ahead else text
    return ahead
