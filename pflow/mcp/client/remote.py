"""An MCP server that is reached by its URL: headers from the environment, and what HTTP itself answers."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from pflow.errors import UNAVAILABLE, PflowError
from pflow.mcp.client.program import GRACE, MESSAGE, MOST, too_long
from pflow.mcp.client.servers import Server
from pflow.values.secrets import Secrets
from pflow.web.bounded import limit_body
from pflow.web.headers import read_headers
from pflow.web.reasons import meaning_of_status
from pflow.web.route import route

_LOGIN = "--header='Authorization: Bearer env:TOKEN', or -- npx mcp-remote URL, which logs in"
_SECONDS = 30.0
_PACE = 1.0
"""Seconds between two requests for a stream: the SDK asks again at once where the server says so."""


class RemoteServer:
    """The HTTP client of a session. `on_fault` hears of refusals, and of answers that are too long."""

    def __init__(self, server: Server, secrets: Secrets, on_fault: Callable[[PflowError], None]) -> None:
        self.server, self.secrets, self.on_fault = server, secrets, on_fault
        self.pid, self.has_ended, self.said = 0, False, ""
        self._next = 0.0

    @asynccontextmanager
    async def run(self) -> AsyncIterator[TransportStreams]:
        """Yield the streams of its messages. Raises PflowError (77) if a header names an unset variable."""
        texts = [f"{name}: {value}" for name, value in self.server.headers.items()]
        headers, secrets = read_headers(texts, are_private=True)
        self.secrets.add(secrets)
        timeout = httpx2.Timeout(_SECONDS, read=None)
        hooks: dict[str, list[Any]] = {"request": [self._pace], "response": [self._look_at]}
        connection = route(self.server.url)
        with anyio.CancelScope() as closing:
            async with (
                httpx2.AsyncClient(**connection, headers=headers, timeout=timeout, event_hooks=hooks) as client,
                streamable_http_client(self.server.url, http_client=client, max_sse_event_size=MOST) as streams,
            ):
                try:
                    yield streams
                finally:  # the SDK's last request asks the server to end the session
                    closing.deadline = anyio.current_time() + GRACE

    async def _pace(self, request: httpx2.Request) -> None:
        if request.method == "GET":
            now = anyio.current_time()
            at, self._next = max(now, self._next), max(now, self._next) + _PACE
            await anyio.sleep(at - now)

    async def _look_at(self, response: httpx2.Response) -> None:
        status = response.status_code
        refusals = {401: "it asks for a login", 403: "it refuses access"}
        if status in refusals:
            hint = f"pflow mcp add {self.server.name} {_LOGIN}" if status == 401 else ""
            why = f"{refusals[status]} (HTTP {status})"
            self.on_fault(PflowError(why, hint=hint, exit=meaning_of_status(status).exit))
        elif status >= 500:
            self.on_fault(PflowError(f"it answers with HTTP {status}", exit=UNAVAILABLE))
        is_stream = "event-stream" in response.headers.get("content-type", "")
        limit_body(response, MOST, self._too_long, line=MESSAGE * is_stream)

    def _too_long(self) -> Exception:
        self.on_fault(too_long())
        return httpx2.ReadError("too long")
