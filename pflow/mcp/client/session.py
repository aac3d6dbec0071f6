"""A session with one MCP server. The official SDK speaks the protocol; a call returns data or raises a PflowError."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from math import inf
from typing import Any, TypeVar

import anyio
import httpx2
import mcp_types as types
from anyio.abc import ObjectReceiveStream
from mcp import Client
from mcp.client._transport import TransportStreams
from mcp.client.session import ClientRequestContext
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from pflow import __version__
from pflow.errors import BAD_DATA, FAILED, NOT_FOUND, TIMED_OUT, UNAVAILABLE, PflowError, reason_of, shorten
from pflow.files.schema import first_fault
from pflow.mcp.client.servers import INHERITED, Server
from pflow.mcp.client.transport import MOST, LocalServer, RemoteServer, too_long
from pflow.mcp.schema import as_dict, as_list
from pflow.terminal.messages import silence
from pflow.values.secrets import Secrets
from pflow.web.response import malformed
from pflow.web.route import via

T = TypeVar("T")
Tell = Callable[[str], None]

SILENCE = 60.0
"""Seconds that a server may be silent, unless a call has its own limit."""

_AFTER_FAULT = 3.0
"""Seconds that it may be silent after a fault."""

_CLOSED = ("Connection closed", "SSE stream ", "Session terminated")
"""The beginnings of the SDK's messages for a session that is over. A server may use the same codes for its errors."""

_MOST_PAGES = 1_000
"""The most pages of a list of tools."""

_FEW = 20
"""The most names in a message about what a server asks for."""

_LONGEST = 2_000
"""The most characters of a server's own error message."""


class Session:
    """A session with one server, as long as `open` lasts; several calls may run at once.

    It raises PflowErrors: 1 for a tool's own error, with its `result` in `details`, 65 for an answer that is too long
    or breaks the protocol, 69 for a server that cannot be reached, ends, is silent or sends garbage, 77 if it asks for
    a login, 78 if it cannot be started, 124 at a call's own limit, 127 for a tool that no longer exists. The server's
    secrets are masked in all of them.
    """

    def __init__(self, server: Server) -> None:
        silence("mcp")
        self.server = server
        self.is_over = False
        self.calls = 0
        self.tools: dict[str, types.Tool] = {}
        self.left_out: dict[str, str] = {}
        self.secrets = Secrets()
        self.secrets.add([value for name, value in server.env.items() if name not in INHERITED])
        self.peer = (
            RemoteServer(server, self.secrets, self._note_fault)
            if server.url
            else LocalServer(server, self._note_fault)
        )
        self._fault: PflowError | None = None
        self._asked = ""
        self._scopes: dict[anyio.CancelScope, float | None] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Begin the session and list the tools; on leaving, end it and a started server. Raises PflowError."""
        act = f"cannot use the MCP server '{self.server.name}'"
        scope = anyio.CancelScope(deadline=anyio.current_time() + SILENCE)
        self._scopes[scope] = None
        try:
            with scope:
                async with self._client() as self.client:
                    await self._list()
                    scope.deadline = inf
                    del self._scopes[scope]
                    yield
            if scope.cancelled_caught:
                raise self._silence_error()
        except Exception as error:
            failed = self._as_error(error)
            if failed.exit == FAILED:  # an error in answer to the handshake is not a tool's
                failed.exit = UNAVAILABLE
            raise failed.within(act) from None
        finally:
            self.is_over = True

    @property
    def info(self) -> dict[str, str]:
        """The server's own name and version, and the version of the protocol."""
        about = self.client.server_info
        name, version = (about.name, about.version) if about else ("", "")
        return {"name": name, "version": version, "protocol": self.client.protocol_version}

    async def _list(self) -> None:
        """Read all pages of the server's tools."""
        tools: list[types.Tool] = []
        cursor: str | None = None
        size = 0
        for _ in range(_MOST_PAGES):
            page = await self.client.list_tools(cursor=cursor, cache_mode="bypass")
            tools += page.tools
            size += len(page.model_dump_json())
            if size > MOST:
                raise too_long()
            if len(tools) > MOST_TOOLS:
                raise PflowError(f"it has more than {MOST_TOOLS:,} tools", exit=BAD_DATA)
            if page.next_cursor in (None, "", cursor):
                self.tools = {tool.name: tool for tool in tools}
                return
            cursor = page.next_cursor
        raise PflowError("its list of tools has no end", exit=BAD_DATA)

    async def call(self, tool: str, arguments: dict[str, Any], limit: float | None, tell: Tell) -> dict[str, Any]:
        """Call a tool by the server's name for it, and return its reply as `reply_of` does.

        `limit` is in seconds. `tell` gets the progress. A cancelled call is cancelled at the server too.
        """
        act = f"cannot call '{tool}' of the MCP server '{self.server.name}'"
        self.calls += 1
        self._asked = ""
        try:
            if tool not in self.tools:
                await self._wait_for(self._list(), limit)
            if tool not in self.tools:
                hint = f"pflow mcp refresh {self.server.name} takes its present tools"
                raise PflowError("it has no such tool any more", hint=hint, exit=NOT_FOUND)
            answer = self.client.call_tool(tool, arguments, progress_callback=self._progress(tell))
            result = await self._wait_for(answer, limit)
        except Exception as error:
            raise self._as_error(error).within(act) from None
        said, reply = reply_of(result)
        if result.is_error:
            value = reply["result"]
            failed = self._server_error(said or (value and json.dumps(value)) or "it gives no reason").within(act)
            failed.details = self.secrets.masked({"result": value})
            raise failed
        return reply

    def _client(self) -> Client:
        about = types.Implementation(name="pflow", version=__version__)
        return Client(self._transport(), client_info=about, elicitation_callback=self._decline)

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[TransportStreams]:
        async with self.peer.run() as (messages, answers):
            yield MendedMessages(messages, self.left_out), answers

    async def _wait_for(self, answer: Awaitable[T], limit: float | None) -> T:
        """Wait for an answer for at most `limit` seconds, or until the server has been silent for too long."""
        with anyio.CancelScope(deadline=anyio.current_time() + (limit or SILENCE)) as scope:
            self._scopes[scope] = limit
            try:
                found = await answer
            finally:
                del self._scopes[scope]
            self._fault = None
            return found
        if limit and self._fault is None:
            raise PflowError(f"it took longer than {limit:g} s", exit=TIMED_OUT)
        raise self._silence_error()

    def _note_fault(self, fault: PflowError) -> None:
        """Remember a fault, and shorten the wait: the server may still answer, but soon or not at all."""
        fault.message = self.secrets.mask(fault.message)
        self._fault = fault
        soon = anyio.current_time() + _AFTER_FAULT
        for scope in self._scopes:
            scope.deadline = min(scope.deadline, soon)

    def _progress(self, tell: Tell) -> ProgressFnT:
        """Return the callback for progress. A server that reports progress is alive, so calls without a limit go on."""

        async def report(progress: float, total: float | None, message: str | None) -> None:
            for scope, limit in self._scopes.items():
                if limit is None:
                    scope.deadline = anyio.current_time() + SILENCE
            steps = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
            tell(shorten(self.secrets.mask(f"{steps} {message or ''}".rstrip()), _LONGEST))

        return report

    async def _decline(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Decline a server's question to a person, since a run may have none, and remember what was asked."""
        if isinstance(params, types.ElicitRequestURLParams):
            self._asked = "a visit to a page"
        else:
            names = [*params.requested_schema.get("properties", {})][:_FEW]
            self._asked = ", ".join(f"'{shorten(name)}'" for name in names)
        return types.ElicitResult(action="decline")

    def _silence_error(self) -> PflowError:
        self.is_over = True  # the next call gets a new session, in which the server may answer again
        return self._fault or PflowError(f"it has been silent for {SILENCE:g} s", exit=UNAVAILABLE)

    def _server_error(self, said: str) -> PflowError:
        """Return an error in a server's own words."""
        asked = f"; it asked for {self._asked}, which pflow declines" if self._asked else ""
        return PflowError(shorten(self.secrets.mask(said), _LONGEST) + asked, exit=FAILED)

    def _as_error(self, error: BaseException) -> PflowError:
        while isinstance(error, BaseExceptionGroup):  # anyio's task groups raise these, also for a single error
            error = error.exceptions[0]
        if isinstance(error, PflowError):
            return error
        if isinstance(error, MCPError) and not error.message.startswith(_CLOSED):
            if error.code == types.PARSE_ERROR:
                return self._fault or PflowError(self._shown(error.message), exit=UNAVAILABLE)
            if self._fault is None or not (self.server.url or error.code == types.INTERNAL_ERROR):
                return self._server_error(error.message)
        elif isinstance(error, ValidationError | RuntimeError):
            why = first_fault(error) if isinstance(error, ValidationError) else str(error)
            return PflowError(f"its answer is not as the protocol says: {self._shown(why)}", exit=BAD_DATA)
        self.is_over = True
        if self._fault is not None:
            return self._fault
        if isinstance(error, httpx2.HTTPError | OSError):
            what = malformed(error) or f"cannot reach it{via(self.server.url)}: {self._shown(reason_of(error))}"
            return PflowError(what, exit=UNAVAILABLE)
        said = f"; it said: {self._shown(self.peer.last_line)}" if self.peer.last_line else ""
        return PflowError(f"it has ended{said}", exit=UNAVAILABLE)

    def _shown(self, text: str) -> str:
        return shorten(self.secrets.mask(text).partition("\n")[0], 200)


def list_tools(server: Server) -> dict[str, Any]:
    """Start or reach a server, and return its `info` and its `tools`, as the protocol's JSON. Raises PflowError.

    `left_out` has the reason for each tool that cannot be used, by its name.
    """

    async def ask() -> dict[str, Any]:
        session = Session(server)
        async with session.open():
            tools = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in session.tools.values()]
            about = {"info": session.secrets.masked(session.info), "tools": _masked(tools, session.secrets)}
            return {**about, "left_out": session.left_out}

    return anyio.run(ask)


def _masked(about: Any, secrets: Secrets, member: str = "") -> Any:
    """Mask the secrets in the tools' descriptions, but not in names and choices, which calls send unchanged."""
    if isinstance(about, dict):
        return {name: _masked(each, secrets, name) for name, each in about.items()}
    if isinstance(about, list):
        return [_masked(each, secrets, member) for each in about]
    return secrets.masked(about) if member in ("description", "title", "default") else about


MOST_TOOLS = 10_000
"""The most tools of a server."""

_PATIENCE = 1.0
"""Seconds to wait for the answer to the SDK's first request, which servers of older protocols may leave unanswered."""
_UNKNOWN = types.JSONRPCError(
    jsonrpc="2.0", id=1, error=types.ErrorData(code=types.METHOD_NOT_FOUND, message="it does not say")
)


class MendedMessages(ObjectReceiveStream[Any]):
    """A stream of a server's messages, repaired so that the SDK accepts them.

    The SDK refuses a whole list for one malformed tool: so such a tool is repaired, or left out with the reason in
    `left_out`, and an overlong list is cut. The schemas of results are removed: the SDK would check each result against
    them, and a server's `pattern` or `$ref` could run for ever, since nothing interrupts `re`. Older servers do not
    answer the SDK's first request, `server/discover`, or answer without its id. Then the SDK, which would wait for ten
    seconds, gets an error as the answer.
    """

    def __init__(self, messages: Any, left_out: dict[str, str]) -> None:
        self.messages = messages
        self.left_out = left_out
        self.patience = _PATIENCE

    async def aclose(self) -> None:
        await self.messages.aclose()

    async def receive(self) -> SessionMessage | Exception:
        item: SessionMessage | Exception = SessionMessage(_UNKNOWN)
        with anyio.move_on_after(self.patience):
            item = await self.messages.receive()
        message = getattr(item, "message", None)
        if self.patience < inf and isinstance(message, types.JSONRPCError) and message.id is None:
            item = SessionMessage(_UNKNOWN)
        self.patience = inf
        if isinstance(message, types.JSONRPCResponse):
            self._mend(message.result)
        return item

    def _mend(self, result: dict[str, Any]) -> None:
        """Repair the members of a result, since the SDK refuses a whole result for one wrong member."""
        if isinstance(tools := result.get("tools"), list):
            del tools[MOST_TOOLS + 1 :]
            tools[:] = filter(None, [self._tool(each) for each in tools])
        if isinstance(content := result.get("content"), str | dict | list):
            result["content"] = [_block(each) for each in (content if isinstance(content, list) else [content])]
        if result.get("isError", "") is None:
            del result["isError"]
        if (value := result.get("structuredContent")) is not None:
            result["content"] = result.get("content") or []
            result["structuredContent"] = value if isinstance(value, dict) else {"result": value}

    def _tool(self, tool: Any) -> dict[str, Any] | None:
        """Return the members of a tool that we use, in the protocol's form; None for a tool without a name."""
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str) or not name.strip():
            self.left_out[""] = "it has no name"
            return None
        schema = tool.get("inputSchema")
        kind = as_dict(schema).get("type", "object")
        if not isinstance(schema, dict | None) or "object" not in (as_list(kind) or [kind]):
            self.left_out[name] = "its inputSchema is not that of an object"
        schema = {key: each for key, each in as_dict(schema).items() if key != "$schema"} | {"type": "object"}
        schema["properties"] = {key: as_dict(each) for key, each in as_dict(schema.get("properties")).items()}
        schema["required"] = [each for each in as_list(schema.get("required")) if isinstance(each, str)]
        hints = {key: each for key, each in as_dict(tool.get("annotations")).items() if isinstance(each, bool)}
        texts = {key: tool[key] for key in ("name", "description", "title") if isinstance(tool.get(key), str)}
        return {**texts, "annotations": {**hints, "title": None}, "inputSchema": schema}


def _block(said: Any) -> dict[str, Any]:
    """Return a block of a reply in the protocol's form; a text block if it does not fit."""
    block = {name: each for name, each in as_dict(said).items() if each is not None}
    if block.get("type") in ("image", "audio"):
        block.setdefault("mimeType", "application/octet-stream")
    for each in (block, {**block, "annotations": None}):
        with suppress(ValidationError):
            types.CallToolResult.model_validate({"content": [each]})
            return each
    text = as_dict(said).get("text", said)
    text = "" if text is None else text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    return {"type": "text", "text": text}


def reply_of(result: types.CallToolResult) -> tuple[str, dict[str, Any]]:
    """Return a result's texts, joined by newlines, and the values that a node writes.

    `result` is the structured content, else the texts; `files` are the images, audio and blobs, in base64; `links` are
    the resource links. From structured content `{"result": …}` the value is taken, since frameworks wrap values in it
    that are no objects.
    """
    texts, files, links = [], [], []
    for block in result.content:
        about = block.resource if isinstance(block, types.EmbeddedResource) else block
        if isinstance(about, types.TextContent | types.TextResourceContents):
            texts.append(about.text)
        elif isinstance(about, types.ResourceLink):
            links.append(about.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"type"}))
        elif isinstance(about, types.BlobResourceContents):
            kind = about.mime_type or "application/octet-stream"
            files.append({"uri": str(about.uri), "type": kind, "data": about.blob})
        else:
            files.append({"type": about.mime_type, "data": about.data})
    said, value = "\n".join(texts), result.structured_content
    if isinstance(value, dict) and list(value) == ["result"]:
        value = value["result"]
    return said, {"result": said if value is None else value, "files": files, "links": links}
