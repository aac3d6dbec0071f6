"""The transports to an MCP server: a program, whose stdin and stdout have a message on each line, or a URL."""

import asyncio
import errno
import json
import math
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
from anyio import from_thread, to_thread
from anyio.abc import ObjectReceiveStream
from anyio.to_thread import run_sync
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from pflow.errors import BAD_CONFIG, BAD_DATA, UNAVAILABLE, PflowError, reason_of, result_of, shorten
from pflow.mcp.client.servers import Server
from pflow.process import children
from pflow.process.children import Program, end, wait_for_end
from pflow.values.json_input import has_too_many_values
from pflow.values.secrets import Secrets
from pflow.web.address import read_headers
from pflow.web.reasons import meaning_of_status
from pflow.web.response import limit_body
from pflow.web.route import route

MOST = 50 << 20
"""The most bytes of a server's answer."""

GRACE = children.GRACE / 3
"""The seconds in which a server has to end after its stdin is closed, and again after SIGTERM."""

MESSAGE = 1024
"""The least number of bytes that a message counts for, since even a short one takes time."""

_ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT
_LONGEST_LINE = 1 << 16
_TICK = 0.02


class LocalServer:
    """A server's process. `last_line` is the last line of its stderr.

    `on_fault` gets an error for each line of its stdout that is not a message (69), and for an answer that is too long
    (65). After the latter nothing more is read.
    """

    def __init__(self, server: Server, on_fault: Callable[[PflowError], None]) -> None:
        self.server, self.on_fault = server, on_fault
        self.pid, self.last_line = 0, ""
        self._is_read = False
        self._line, self._rest, self._heard = bytearray(), b"", 0
        self._awaited: set[Any] = set()
        self._unasked = 0

    @property
    def has_ended(self) -> bool:
        """True when the process has ended, or its stdout is no longer read."""
        if not self.pid or self._is_read:
            return self._is_read
        # Ask the kernel: the reader notices the end later, and a call in between would fail.
        return result_of(os.waitid, os.P_PID, self.pid, _ENDED, of=ChildProcessError, otherwise=True) is not None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[TransportStreams]:
        """Start the server and yield the streams of its messages; at the end, end it and all its children.

        Raises PflowError (78) if it does not start.
        """
        self._sender, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answers, receiver = anyio.create_memory_object_stream[SessionMessage](0)
        with self._start() as program:
            self.pid, stdin = program.pid, program.hand_over_stdin()
            reading = asyncio.create_task(self._read(program))
            writing = asyncio.create_task(self._write(stdin, receiver))
            try:
                yield messages, answers
            finally:
                with anyio.CancelScope(shield=True):
                    writing.cancel()
                    await asyncio.wait([writing])
                    os.close(stdin)  # the protocol asks a server to end when its stdin closes
                    for stream in (messages, answers, receiver):
                        stream.close()
                    await to_thread.run_sync(wait_for_end, [program], GRACE)
                    # A server that ended by itself may have left processes in the background.
                    await to_thread.run_sync(end, [program], GRACE)
                    await asyncio.wait([reading])

    def _start(self) -> Program:
        words, folder = self.server.run, self.server.directory
        try:
            program = os.path.join(folder, words[0]) if "/" in words[0] else words[0]
            if not shutil.which(program, path=self.server.env.get("PATH", os.defpath)):
                code = errno.EACCES if os.path.isfile(program) else errno.ENOENT
                raise OSError(code, os.strerror(code))
            env, take, hear = self.server.env, self._take_stdout, self._take_stderr
            return Program(words, input=b"", on_stdout=take, on_stderr=hear, env=env, directory=folder)
        except (OSError, ValueError) as error:
            why = f"'{folder}' is no directory" if not os.path.isdir(folder) else f"'{words[0]}': {reason_of(error)}"
            is_resolved = words != self.server.command  # the program may have been removed from the cache of npx or uvx
            act = "refresh {}" if is_resolved else "add {} -- COMMAND"
            hint = f"pflow mcp {act.format(self.server.name)}"
            raise PflowError(f"cannot start it: {why}", hint=hint, exit=BAD_CONFIG) from None

    async def _read(self, program: Program) -> None:
        """Pass on the messages on the server's stdout until it ends; then end the session."""
        async with self._sender:
            try:
                await talk(program, GRACE)
                await self._pass_on([bytes(self._line)] if self._line else [])
            except PflowError as fault:
                self.on_fault(fault)
            finally:
                self._is_read = True

    def _take_stdout(self, part: bytes) -> None:
        """Take a part of stdout, in a thread, and wait until its messages are passed on."""
        *lines, rest = part.split(b"\n")
        if lines:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        self._line += rest
        if len(self._line) > MOST:
            raise too_long()
        from_thread.run(self._pass_on, lines)

    def _take_stderr(self, part: bytes) -> None:
        """Take a part of stderr, and remember the last line. Slow down a server that writes a lot by reading slowly."""
        whole, _, rest = (self._rest + part).rpartition(b"\n")
        self._rest = rest[-_LONGEST_LINE:]
        self.last_line = whole.strip().rpartition(b"\n")[2].decode(errors="replace").strip() or self.last_line
        self._heard += len(part)
        if self._heard > _LONGEST_LINE:
            time.sleep(_TICK)

    async def _pass_on(self, lines: list[bytes]) -> None:
        """Pass on the messages in lines. Raises PflowError (65) if one is too large, or too many are not answers."""
        for line in lines:
            self._unasked += max(len(line), MESSAGE)
            if has_too_many_values(line):
                raise too_long()
            try:
                message = _message(line)
            except (ValueError, RecursionError):
                shown = shorten(line[:200].decode(errors="replace").strip())
                self.on_fault(PflowError(f"it writes what is not a message: '{shown}'", exit=UNAVAILABLE))
                continue
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id in self._awaited:
                self._awaited.remove(message.id)
                self._unasked = 0
            with suppress(anyio.BrokenResourceError):
                await self._sender.send(SessionMessage(message))
            if self._unasked > MOST:
                raise PflowError("it sends more and more that nobody asked for", exit=BAD_DATA)

    async def _write(self, stdin: int, receiver: ObjectReceiveStream[SessionMessage]) -> None:
        """Write our messages to the server's stdin. If that is closed, the session ends."""
        try:
            async for each in receiver:
                if isinstance(each.message, JSONRPCRequest):
                    self._awaited.add(each.message.id)
                rest = each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                while rest:
                    await anyio.wait_writable(stdin)
                    rest = rest[os.write(stdin, rest) :]
        except OSError:
            await self._sender.aclose()


def _message(line: bytes) -> JSONRPCMessage:
    """Return the message in a line. Raises ValueError or RecursionError if it has none."""
    with suppress(ValueError):
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    # JavaScript may cut a text between the halves of an emoji, and programs on Windows may write other encodings.
    text = json.dumps(json.loads(line.decode("utf-8-sig", "replace")), ensure_ascii=False)
    return jsonrpc_message_adapter.validate_json(text.encode(errors="replace"), by_name=False)


def too_long() -> PflowError:
    """Return the failure of an answer over the limit."""
    return PflowError(f"its answer is longer than {MOST >> 20} MB", exit=BAD_DATA)


_LOGIN = "--header='Authorization: Bearer env:TOKEN', or -- npx mcp-remote URL, which logs in"
_SECONDS = 30.0
_PACE = 1.0
"""The least seconds between two requests for a stream: a server told the SDK to ask again at once, which took a whole
CPU."""


class RemoteServer:
    """The HTTP client of a session. `on_fault` gets an error for each refusal, and for an answer that is too long."""

    def __init__(self, server: Server, secrets: Secrets, on_fault: Callable[[PflowError], None]) -> None:
        self.server, self.secrets, self.on_fault = server, secrets, on_fault
        self.pid, self.has_ended, self.last_line = 0, False, ""
        self._next = 0.0

    @asynccontextmanager
    async def run(self) -> AsyncIterator[TransportStreams]:
        """Yield the streams of its messages. Raises PflowError (77) if a header names an unset variable."""
        texts = [f"{name}: {value}" for name, value in self.server.headers.items()]
        headers, secrets = read_headers(texts, are_private=True)
        self.secrets.add(secrets)
        timeout = httpx2.Timeout(_SECONDS, read=None)
        hooks: dict[str, list[Any]] = {"request": [self._pace], "response": [self._check_response]}
        connection = route(self.server.url)
        with anyio.CancelScope() as closing:
            async with (
                httpx2.AsyncClient(**connection, headers=headers, timeout=timeout, event_hooks=hooks) as client,
                streamable_http_client(self.server.url, http_client=client, max_sse_event_size=MOST) as streams,
            ):
                try:
                    yield streams
                finally:  # at the end the SDK asks the server to end the session, and might wait for ever
                    closing.deadline = anyio.current_time() + GRACE

    async def _pace(self, request: httpx2.Request) -> None:
        if request.method == "GET":
            now = anyio.current_time()
            at, self._next = max(now, self._next), max(now, self._next) + _PACE
            await anyio.sleep(at - now)

    async def _check_response(self, response: httpx2.Response) -> None:
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


async def talk(program: Program, grace: float) -> int:
    """Talk to a program until it ends, and return its exit code. A cancelled wait ends the program and its children.

    The callbacks of the program are called in a thread.
    """
    threads = anyio.CapacityLimiter(math.inf)
    talking = asyncio.ensure_future(run_sync(program.talk, limiter=threads))
    try:
        return await asyncio.shield(talking)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await run_sync(end, [program], grace, limiter=threads)
            await asyncio.gather(talking, return_exceptions=True)
        raise
