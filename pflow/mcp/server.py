"""The MCP server on stdin and stdout: the official SDK speaks, and hands on what is asked."""

from __future__ import annotations

import logging
import signal
import sys

import anyio
import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from pflow import __version__
from pflow.errors import BAD_STDIN, PflowError
from pflow.mcp import fixed
from pflow.mcp.calls import Calls
from pflow.mcp.catalogue import Catalogue
from pflow.mcp.groups import first_of
from pflow.mcp.stderr import say
from pflow.process.signals import die_of
from pflow.process.stdout import ClosedPipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession

    from pflow.mcp.fixed import Fixed
    from pflow.mcp.offered import Offered
    from pflow.mcp.result import Result

    Context = ServerRequestContext[Any, Any]

PROGRAM = "pflow mcp serve"
EVERY = 2.0
"""Seconds between two looks for what has changed."""

_LONGEST_NAME = 300
"""Signs of a name that is none, as it is said."""

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_INSTRUCTIONS = """\
Each tool is a node of pflow or a saved flow, which is a workflow of nodes. What is given to one are values: they are
never taken for templates, flags or commands. pflow_list finds a tool, pflow_plan makes a flow of a sentence, and \
pflow_check tells what is wrong with one; only what a person has saved can be run."""


class McpServer:
    """Serves one client, from its first word until it hangs up."""

    def __init__(self, catalogue: Catalogue, fixed_names: set[str]) -> None:
        self.catalogue = catalogue
        self.fixed_names = fixed_names
        self.calls = Calls(catalogue, fixed_names)
        self.session: ServerSession | None = None
        self.bus = InMemorySubscriptionBus()
        self.server: Server[Any] = Server(
            "pflow",
            version=__version__,
            title="pflow",
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self.bus),
        )

    async def serve(self) -> None:
        options = self.server.create_initialization_options(NotificationOptions(tools_changed=True))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._end_of_signal)
            tasks.start_soon(self._watch)
            async with stdio_server() as (read, write):
                await self.server.run(read, write, options)
            tasks.cancel_scope.cancel()

    async def _end_of_signal(self) -> None:
        heard = [each for each in _SIGNALS if signal.getsignal(each) != signal.SIG_IGN]  # nohup's stays ignored
        with anyio.open_signal_receiver(*heard) as signals:
            async for signum in signals:
                await self.calls.end()
                die_of(signum)  # what reads stdin waits in a thread, which nothing else ends

    async def _watch(self) -> None:
        """Tell the client when the tools have changed since it last listed them."""
        while True:
            await anyio.sleep(EVERY)
            if await self.calls.read(self.catalogue.has_changed):
                await self._tell_changed()

    async def _tell_changed(self) -> None:
        await self.bus.publish(ToolsListChanged())
        if self.session is not None:
            await self.session.send_notification(types.ToolListChangedNotification())

    async def _list(self, context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self.session = context.session
        tools = await self.calls.read(self.catalogue.tell)
        own = [_fixed_tool(name, self.catalogue.read_only) for name in fixed.FIXED if name in self.fixed_names]
        return types.ListToolsResult(tools=[*own, *map(_tool, tools.values())])

    async def _call(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if not await self.calls.has(params.name):
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:_LONGEST_NAME]}")
        wants_progress = bool(context.meta and "progress_token" in context.meta)
        tell = context.session.report_progress if wants_progress else None
        return _as_result(await self.calls.call(params.name, params.arguments or {}, tell))


def _as_result(result: Result) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(text=text) for text in result.texts],
        structured_content=result.structured,
        is_error=result.is_error,
        _meta=result.meta or None,
    )


def _tool(offered: Offered) -> types.Tool:
    return types.Tool(
        name=offered.name,
        title=offered.title,
        description=offered.description,
        input_schema=offered.input_schema,
        output_schema=offered.output_schema,
        annotations=_annotations(offered.title, offered.hints),
    )


def _fixed_tool(name: str, read_only: bool) -> types.Tool:
    about: Fixed = fixed.FIXED[name]
    hints = fixed.run_hints(read_only=read_only) if name == fixed.RUN else about.hints
    return types.Tool(
        name=name,
        title=about.title,
        description=about.description,
        input_schema=about.input_schema,
        output_schema=about.output_schema,
        annotations=_annotations(about.title, hints),
    )


def _annotations(title: str, hints: dict[str, bool]) -> types.ToolAnnotations:
    return types.ToolAnnotations.model_validate({"title": title, **hints})


class _OneLine(logging.Handler):
    """What the SDK logs, as a line of ours: no traceback, no sign that a terminal would obey."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        say(PROGRAM, record.getMessage() + (f": {type(error).__name__}: {error}" if error else ""))


def serve(only: list[str], *, read_only: bool) -> None:
    """Serve until the client hangs up.

    Raises PflowError: 127 for a name of `only` that is none, 64 for a closed stdin; ClosedPipe for a closed stdout.
    """
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:  # as some clients leave it: no child had an exit code
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    logging.getLogger().addHandler(_OneLine(logging.WARNING))
    names = fixed.names(only, read_only=read_only)
    catalogue = Catalogue(only, read_only=read_only, reserved=tuple(fixed.FIXED), say=lambda text: say(PROGRAM, text))
    if sys.stdin is None:
        raise PflowError("cannot serve: stdin is closed", hint="a client speaks there", exit=BAD_STDIN)
    if sys.stdin.isatty():
        say(PROGRAM, "an MCP client starts this, and speaks to it on stdin; ^C ends it")
    try:
        anyio.run(McpServer(catalogue, names).serve)
    except BaseExceptionGroup as group:
        first = first_of(group)
        raise (ClosedPipe() if isinstance(first, BrokenPipeError) else first) from None
