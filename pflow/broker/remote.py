"""An MCP server that is reached by its URL: headers from the environment, and what HTTP itself answers."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from pflow.broker.program import MOST, too_long
from pflow.broker.servers import Server
from pflow.errors import DENIED, UNAVAILABLE, PflowError
from pflow.kit.web.headers import read_headers
from pflow.values.masks import Secrets

_LOGIN = "--header='Authorization: Bearer env:TOKEN', or -- npx mcp-remote URL, which logs in"
_SECONDS = 30.0


class RemoteServer:
    """The HTTP client of a session. `on_fault` hears of refusals, and of answers that are too long."""

    def __init__(self, server: Server, secrets: Secrets, on_fault: Callable[[PflowError], None]) -> None:
        self.server, self.secrets, self.on_fault = server, secrets, on_fault
        self.pid, self.has_ended = 0, False
        self.said: tuple[str, ...] = ()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[TransportStreams]:
        """Yield the streams of its messages. Raises PflowError (77) if a header names an unset variable."""
        texts = [f"{name}: {value}" for name, value in self.server.headers.items()]
        headers, secrets = read_headers(texts, are_private=True)
        self.secrets.add(secrets)
        timeout = httpx2.Timeout(_SECONDS, read=None)
        hooks = {"response": [self._look_at]}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=hooks) as client,
            streamable_http_client(self.server.url, http_client=client, max_sse_event_size=MOST) as streams,
        ):
            yield streams

    async def _look_at(self, response: httpx2.Response) -> None:
        if response.status_code == 401:
            self.on_fault(
                PflowError(
                    "it asks for a login (HTTP 401)", hint=f"pflow mcp add {self.server.name} {_LOGIN}", exit=DENIED
                )
            )
        elif response.status_code == 403:
            self.on_fault(PflowError("it refuses access (HTTP 403)", exit=DENIED))
        elif response.status_code >= 500:
            self.on_fault(PflowError(f"it answers with HTTP {response.status_code}", exit=UNAVAILABLE))
        else:
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _Bounded(response.stream, self.on_fault)


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, which ends with an error when a line of it gets too long, as no event's may either."""

    def __init__(self, stream: httpx2.AsyncByteStream, on_fault: Callable[[PflowError], None]) -> None:
        self.stream, self.on_fault = stream, on_fault

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self.stream:
            size = len(part) - part.rfind(b"\n") if b"\n" in part else size + len(part)
            if size > MOST:
                self.on_fault(too_long())
                raise httpx2.ReadError("too long")
            yield part

    async def aclose(self) -> None:
        await self.stream.aclose()
