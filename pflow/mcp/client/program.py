"""An MCP server that is a program: it is started in its kept place, and its messages are lines of its stdout."""

import asyncio
import errno
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio import from_thread, to_thread
from anyio.abc import ObjectReceiveStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from pflow.errors import BAD_CONFIG, BAD_DATA, UNAVAILABLE, PflowError, reason_of, result_of, shorten
from pflow.mcp.child import talk
from pflow.mcp.client.servers import Server
from pflow.process import children
from pflow.process.children import Program, end, wait_for_end
from pflow.values.json_input import has_too_many_values

MOST = 50 << 20
"""The most bytes of a server's answer."""

GRACE = children.GRACE / 3
"""Seconds that a server has to end once its stdin is closed, and once more after SIGTERM."""

MESSAGE = 1024
"""The bytes that any message counts for at least: each one takes time."""

_ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT
_LONGEST_LINE = 1 << 16
_TICK = 0.02


class LocalServer:
    """A server's process. `said` is the last line of its stderr.

    `on_fault` gets each line of its stdout that is not a message as an error (69), and an answer that is too long as
    one (65), after which nothing else is read.
    """

    def __init__(self, server: Server, on_fault: Callable[[PflowError], None]) -> None:
        self.server, self.on_fault = server, on_fault
        self.pid, self.said = 0, ""
        self._is_read = False
        self._line, self._rest, self._heard = bytearray(), b"", 0
        self._awaited: set[Any] = set()
        self._unasked = 0

    @property
    def has_ended(self) -> bool:
        """True once its process has ended, or nothing is read from it any more."""
        if not self.pid or self._is_read:
            return self._is_read
        return result_of(os.waitid, os.P_PID, self.pid, _ENDED, of=ChildProcessError, otherwise=True) is not None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[TransportStreams]:
        """Start it, and yield the streams of its messages; end it and all that it started.

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
                    os.close(stdin)  # which ends it, as the protocol says
                    for stream in (messages, answers, receiver):
                        stream.close()
                    await to_thread.run_sync(wait_for_end, [program], GRACE)
                    await to_thread.run_sync(end, [program], GRACE)
                    await asyncio.wait([reading])

    def _start(self) -> Program:
        words, folder = self.server.run, self.server.directory
        try:
            program = os.path.join(folder, words[0]) if "/" in words[0] else words[0]
            if not shutil.which(program, path=self.server.env.get("PATH", os.defpath)):
                code = errno.EACCES if os.path.isfile(program) else errno.ENOENT
                raise OSError(code, os.strerror(code))
            env, take, hear = self.server.env, self._take, self._hear
            return Program(words, input=b"", on_stdout=take, on_stderr=hear, env=env, directory=folder)
        except (OSError, ValueError) as error:
            why = f"'{folder}' is no directory" if not os.path.isdir(folder) else f"'{words[0]}': {reason_of(error)}"
            is_resolved = words != self.server.command  # by npx or uvx, whose caches are emptied now and then
            act = "refresh {}" if is_resolved else "add {} -- COMMAND"
            hint = f"pflow mcp {act.format(self.server.name)}"
            raise PflowError(f"cannot start it: {why}", hint=hint, exit=BAD_CONFIG) from None

    async def _read(self, program: Program) -> None:
        """Pass on the messages of its stdout until it ends, which ends the session."""
        async with self._sender:
            try:
                await talk(program, GRACE)
                await self._pass_on([bytes(self._line)] if self._line else [])
            except PflowError as fault:
                self.on_fault(fault)
            finally:
                self._is_read = True

    def _take(self, part: bytes) -> None:
        """Take a part of its stdout, in a thread, and wait until its messages are passed on."""
        *lines, rest = part.split(b"\n")
        if lines:
            lines[0] = bytes(self._line) + lines[0]
            self._line.clear()
        self._line += rest
        if len(self._line) > MOST:
            raise too_long()
        from_thread.run(self._pass_on, lines)

    def _hear(self, part: bytes) -> None:
        """Take a part of its stderr, and remember the last line. If it writes a lot, read slowly: it has to wait."""
        whole, _, rest = (self._rest + part).rpartition(b"\n")
        self._rest = rest[-_LONGEST_LINE:]
        self.said = whole.strip().rpartition(b"\n")[2].decode(errors="replace").strip() or self.said
        self._heard += len(part)
        if self._heard > _LONGEST_LINE:
            time.sleep(_TICK)

    async def _pass_on(self, lines: list[bytes]) -> None:
        """Pass on the messages of lines. Raises PflowError (65) if one is too large, or nobody asked for them."""
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
        """Write our messages to its stdin. If it does not read them, the session ends."""
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
    """Read a line's message. Raises ValueError or RecursionError if it has none.

    JavaScript cuts a text between the halves of an emoji, and programs of Windows have encodings of their own.
    """
    with suppress(ValueError):
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    text = json.dumps(json.loads(line.decode("utf-8-sig", "replace")), ensure_ascii=False)
    return jsonrpc_message_adapter.validate_json(text.encode(errors="replace"), by_name=False)


def too_long() -> PflowError:
    """Return the failure of an answer over the limit."""
    return PflowError(f"its answer is longer than {MOST >> 20} MB", exit=BAD_DATA)
