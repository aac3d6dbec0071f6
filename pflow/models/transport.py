"""The HTTP of all models: the refusal behind an error, what an answer's headers say, and the time it may take.

llm's plugins make their own clients and tell little of it: llm-gemini drops the status, most others a refusal's words.
"""

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from pflow.models.ending import Ending
from pflow.process.signals import time_left

_LIBRARIES = ("httpx", "httpx2")

_PIECE, _PIECES = 1 << 16, 16
"""How much of a refusal's words is read."""

_asking = threading.local()


class Refused(Exception):
    """An answer whose status is an error; `response` is the library's, `body` its text."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.status_code = response.status_code
        self.body = response.text
        if delay := re.search(r'"retryDelay": *"([\d.]+)s"', self.body):  # where Gemini says it
            response.headers.setdefault("retry-after", delay[1])
        super().__init__(self.body or response.reason_phrase)


@contextmanager
def reporting_to(ending: Ending) -> Iterator[None]:
    """Let `ending` have the `headers` of the answer that this thread gets, and the `error` that it is by its status."""
    for library in filter(None, map(sys.modules.get, _LIBRARIES)):
        _make_report(library)
    before, _asking.ending = current_ending(), ending
    try:
        yield
    finally:
        _asking.ending = before


def current_ending() -> Ending | None:
    """Return the ending of the answer that this thread waits for."""
    return getattr(_asking, "ending", None)


def _make_report(library: Any) -> None:
    """Make a library's transport tell the thread's ending.

    Its method is replaced: hooks, mounts and transports are handed to a client, and llm's plugins make their own.
    """
    send = library.HTTPTransport.handle_request
    if getattr(send, "reports", False):
        return

    def handle_request(transport: Any, request: Any) -> Any:
        ending = current_ending()
        if ending is None:
            return send(transport, request)
        if (left := time_left(ending.most)) is not None:
            limits = request.extensions.get("timeout") or {}
            kinds = ("connect", "read", "write", "pool")
            request.extensions["timeout"] = {each: min(limits.get(each) or left, left) for each in kinds}
        response = send(transport, request)
        ending.headers, ending.error = response.headers, None
        response.headers["x-should-retry"] = "false"  # anthropic's client would wait and ask again by itself
        if response.status_code >= 400:
            response = _read(library, response)
            ending.error = Refused(response)
        else:
            response.stream = in_place_of(response.stream, _in_time(response.stream), library)
        return response

    handle_request.reports = True  # type: ignore[attr-defined]
    library.HTTPTransport.handle_request = handle_request


def _read(library: Any, response: Any) -> Any:
    """Return a response with the beginning of its body, unpacked."""
    body = b"".join(islice(response.iter_bytes(_PIECE), _PIECES))
    response.close()
    headers = [(name, value) for name, value in response.headers.items() if name not in _OF_THE_BODY]
    return library.Response(response.status_code, headers=headers, content=body, extensions=response.extensions)


_OF_THE_BODY = ("content-encoding", "content-length", "transfer-encoding")


def in_place_of(stream: Any, parts: Iterator[bytes], library: Any) -> Any:
    """Return a stream with these parts, whose second iteration goes on with the first: read anew, it may never end."""

    class Stream(library.SyncByteStream):  # type: ignore[misc]
        def __iter__(self) -> Iterator[bytes]:
            return parts

        def close(self) -> None:
            stream.close()

    return Stream()


def _in_time(stream: Any) -> Iterator[bytes]:
    """Yield the parts of a stream, which ends in time, also if it sends nothing that makes a part."""
    for part in stream:
        yield part
        time_left()
