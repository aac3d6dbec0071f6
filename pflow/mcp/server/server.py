"""The MCP server on stdin and stdout. The official SDK speaks the protocol; this module lists and calls the tools."""

import json
import logging
import os
import select
import signal
import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from pflow import __version__
from pflow.errors import BAD_STDIN, USAGE, Attempt, PflowError, result_of
from pflow.files.beneath import ROOT
from pflow.mcp.client.sockets import begin_run
from pflow.mcp.server.calls import ToolCalls
from pflow.mcp.server.tools import OWN_TOOLS, OfferedTools, State, own_tools, state_of_files
from pflow.process.signals import ClosedPipe, die_of
from pflow.terminal.messages import write_stderr
from pflow.text.printable import clean

Context = ServerRequestContext[Any, Any]

EVERY = 2.0
"""Seconds between two checks for changed tools."""

_LONGEST_NAME = 300
"""The most characters of an unknown name in an error."""

_LONGEST_LINE = 390
"""The most characters of a line on stderr. Even escaped it is below 4096 bytes, which a writable pipe takes at once."""

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_INSTRUCTIONS = """\
Each tool is a node of pflow or a saved flow, which is a workflow of nodes. Arguments are values: they are never taken \
for templates, flags or commands. pflow_list finds a tool, pflow_plan makes a flow of a sentence, and pflow_check says \
what is wrong with one; only what a person has saved can be run."""


class McpServer:
    """The server of one client, from its first message until it hangs up."""

    def __init__(self, offered_tools: OfferedTools, own: dict[str, types.Tool]) -> None:
        self.calls = ToolCalls(offered_tools, own, write_line)
        self.session: ServerSession | None = None
        self.listed: State | None = None
        self.bus = InMemorySubscriptionBus()
        self.server: Server[Any] = Server(
            "pflow",
            version=__version__,
            title="pflow",
            instructions=f"{_INSTRUCTIONS} Paths begin in {os.getcwd()}, and none leads out of it.",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self.bus),
        )

    async def serve(self) -> None:
        options = self.server.create_initialization_options(NotificationOptions(tools_changed=True))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._end_at_signal)
            tasks.start_soon(self._watch)
            async with stdio_server() as (read, write):
                sender, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
                tasks.start_soon(_refuse_broken, read, sender, write)
                await self.server.run(messages, write, options)
            tasks.cancel_scope.cancel()

    async def _end_at_signal(self) -> None:
        # Under nohup SIGHUP is ignored, and has to stay ignored.
        heeded = [each for each in _SIGNALS if signal.getsignal(each) != signal.SIG_IGN]
        with anyio.open_signal_receiver(*heeded) as signals:
            async for signum in signals:
                await self.calls.children.end()
                die_of(signum)  # a plain exit would hang: the SDK's thread waits in a read of stdin

    async def _watch(self) -> None:
        """Notify the client when tools have changed since it last listed them."""
        while True:
            await anyio.sleep(EVERY)
            if self.listed is not None and self.listed != (state := state_of_files()):
                self.listed = state
                await self.bus.publish(ToolsListChanged())
                if self.session is not None:
                    await self.session.send_notification(types.ToolListChangedNotification())

    async def _list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self.session = context.session
        self.listed = state_of_files()
        offered = self.calls.offered_tools.tools().values()
        return types.ListToolsResult(tools=[*self.calls.own.values(), *(each.tool for each in offered)])

    async def _call(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in self.calls.own and params.name not in self.calls.offered_tools.tools():
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:_LONGEST_NAME]}")
        wants_progress = bool(context.meta and "progress_token" in context.meta)
        tell = context.session.report_progress if wants_progress else None
        return await self.calls.call(params.name, params.arguments or {}, tell)


async def _refuse_broken(read: ReadStream[Any], good: WriteStream[Any], write: WriteStream[Any]) -> None:
    """Pass on readable messages, and answer others with an error: the SDK would drop them, and the client wait."""
    async with good:
        async for message in read:
            if not isinstance(message, ValidationError):
                await good.send(message)
            elif (fault := message.errors()[0])["input"] != "\n":
                await write.send(SessionMessage(_refusal(fault["msg"], fault["input"])))


def _refusal(why: str, line: Any) -> types.JSONRPCError:
    """Return the error for a line that is not JSON or nests too deeply, or for JSON that is not a message."""
    code, id = types.INVALID_REQUEST, line.get("id") if isinstance(line, dict) else None
    if isinstance(line, str):
        # The SDK's parser gives up at fewer levels than json, so json may still find the id of the request.
        wrong = (ValueError, RecursionError, TypeError, KeyError)
        code, id = types.PARSE_ERROR, result_of(lambda: json.loads(line)["id"], of=wrong, otherwise=None)
    error = types.ErrorData(code=code, message=f"cannot read the message: {why}")
    return types.JSONRPCError(jsonrpc="2.0", id=id if isinstance(id, str | int) else None, error=error)


class _OneLineHandler(logging.Handler):
    """A handler that writes a line for each record of the SDK's log, without tracebacks or control characters."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        _say(record.getMessage() + (f": {type(error).__name__}: {error}" if error else ""))


def _say(text: str) -> None:
    write_line(f"pflow mcp serve: {clean(' '.join(text.split()))}")


def write_line(line: str) -> None:
    """Write a shortened line to stderr, unless that would block: a client that does not read it must not stop us."""
    poll = select.poll()
    poll.register(2, select.POLLOUT)
    if poll.poll(0):
        write_stderr((line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…") + "\n")


def serve(only: list[str], root: str | None, *, is_all: bool, read_only: bool) -> None:
    """Serve until the client hangs up, in the directory `root`, outside of which calls may use no files.

    Raises PflowError (2, 64, 66, 77, 127); ClosedPipe for a closed stdout.
    """
    _enter(root)
    logging.getLogger().addHandler(_OneLineHandler(logging.WARNING))
    begin_run()
    offered_tools = OfferedTools(only, is_all=is_all, read_only=read_only, reserved=tuple(OWN_TOOLS), say=_say)
    if sys.stdin is None:
        raise PflowError("cannot serve: stdin is closed", hint="an MCP client must start it", exit=BAD_STDIN)
    if sys.stdin.isatty():
        _say("an MCP client starts this, and speaks to it on stdin; ^C ends it")
    try:
        anyio.run(McpServer(offered_tools, own_tools(only, read_only=read_only)).serve)
    except BaseExceptionGroup as group:
        # anyio's task groups raise groups of exceptions, but a person needs only one cause.
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise (ClosedPipe() if isinstance(first, BrokenPipeError) else first) from None


def _enter(root: str | None) -> None:
    """Make the root the working directory and the bounds of calls."""
    with Attempt(f"cannot serve the files below '{root or '.'}'", hint="--root takes a directory"):
        os.chdir(root or ".")
        os.environ[ROOT] = os.getcwd()
    if root is None and os.environ[ROOT] == "/":  # desktop programs start their servers in /
        hint = "--root DIR limits the files that a client may reach; --root=/ allows all"
        what = "cannot serve: the working directory is /, and every file lies below it"
        raise PflowError(what, hint=hint, exit=USAGE)
