"""An MCP server that is a program: it is started in its kept place, and its messages are lines of its stdout."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from signal import SIGCONT, SIGKILL, SIGTERM
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from pflow.errors import BAD_CONFIG, BAD_DATA, UNAVAILABLE, PflowError, reason_of, shorten
from pflow.files.beneath import CONFINED
from pflow.mcp.client.servers import Server
from pflow.process.children import running_groups, signal_session
from pflow.process.confine import restrict
from pflow.process.guard import Guard
from pflow.values.json_values import has_too_many_values

MOST = 50 << 20
"""The most bytes of a server's answer."""

GRACE = 0.7
"""Seconds that a server has to end once its stdin is closed, and once more after SIGTERM."""

MESSAGE = 1024
"""The bytes that any message counts for at least: each one takes time."""

Streams = tuple[ObjectReceiveStream[SessionMessage | Exception], ObjectSendStream[SessionMessage]]

_LONGEST_LINE = 1 << 16
_TICK = 0.02


class Program:
    """A server's process. `said` is the last line of its stderr.

    `on_fault` gets each line of its stdout that is not a message as an error (69), and an answer that is too long as
    one (65), after which nothing else is read.
    """

    def __init__(self, server: Server, on_fault: Callable[[PflowError], None]) -> None:
        self.server, self.on_fault = server, on_fault
        self.pid, self.has_ended = 0, False
        self.said = ""
        self._awaited: set[Any] = set()
        self._unasked = 0

    @asynccontextmanager
    async def run(self) -> AsyncIterator[Streams]:
        """Start it, and yield the streams of its messages; end it and all that it started.

        Raises PflowError (78) if it does not start.
        """
        sender, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answers, receiver = anyio.create_memory_object_stream[SessionMessage](0)
        with Guard() as guard:
            process, stderr = await self._start()
            guard.watch(process.pid)
            self.pid = process.pid
            tasks = [
                asyncio.create_task(each)
                for each in (self._read(process, sender), self._listen(stderr), self._write(process, receiver, sender))
            ]
            try:
                yield messages, answers
            finally:
                with anyio.CancelScope(shield=True):
                    await _end(process)
                for task in tasks:
                    task.cancel()
                for stream in (sender, messages, answers, receiver):
                    stream.close()

    async def _start(self) -> tuple[Process, int]:
        words, folder = self.server.run, self.server.directory
        stderr, theirs = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=PIPE, stdout=PIPE, stderr=theirs, limit=MOST, env=self.server.env, cwd=folder,
                start_new_session=True, preexec_fn=restrict if os.environ.get(CONFINED) else None,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            os.close(stderr)
            why = f"'{folder}' is no directory" if not os.path.isdir(folder) else f"'{words[0]}': {reason_of(error)}"
            is_resolved = words != self.server.command  # by npx or uvx, whose caches are emptied now and then
            act = "refresh {}" if is_resolved else "add {} -- COMMAND"
            hint = f"pflow mcp {act.format(self.server.name)}"
            raise PflowError(f"cannot start it: {why}", hint=hint, exit=BAD_CONFIG) from None
        finally:
            os.close(theirs)
        return process, stderr

    async def _read(self, process: Process, sender: ObjectSendStream[SessionMessage | Exception]) -> None:
        """Pass on the messages of its stdout, whose end ends the session."""
        assert process.stdout
        async with sender:
            try:
                while self._unasked <= MOST and (line := await process.stdout.readline()):
                    with suppress(anyio.BrokenResourceError):
                        await self._pass_on(line, sender)
                if self._unasked > MOST:
                    self.on_fault(PflowError("it sends more and more that nobody asked for", exit=BAD_DATA))
            except ValueError:
                self.on_fault(too_long())
            finally:
                self.has_ended = True

    async def _pass_on(self, line: bytes, sender: ObjectSendStream[SessionMessage | Exception]) -> None:
        """Pass on a line's message. Raises ValueError if it is too large."""
        self._unasked += max(len(line), MESSAGE)
        if has_too_many_values(line):
            raise ValueError
        try:
            message = _message(line)
        except (ValueError, RecursionError):
            shown = shorten(line[:200].decode(errors="replace").strip())
            self.on_fault(PflowError(f"it writes what is not a message: '{shown}'", exit=UNAVAILABLE))
            return
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id in self._awaited:
            self._awaited.remove(message.id)
            self._unasked = 0
        await sender.send(SessionMessage(message))

    async def _listen(self, stderr: int) -> None:
        """Read its stderr, and remember the last line. If it writes a lot, read slowly, so that it has to wait."""
        rest, heard = b"", 0
        with open(stderr, "rb", buffering=0) as file:
            part = b"-"
            while part:
                await anyio.wait_readable(file)
                part = file.read(_LONGEST_LINE)
                whole, _, rest = (rest + part).rpartition(b"\n")
                rest = rest[-_LONGEST_LINE:]
                self.said = whole.strip().rpartition(b"\n")[2].decode(errors="replace").strip() or self.said
                heard += len(part)
                if heard > _LONGEST_LINE:
                    await asyncio.sleep(_TICK)

    async def _write(
        self,
        process: Process,
        receiver: ObjectReceiveStream[SessionMessage],
        sender: ObjectSendStream[SessionMessage | Exception],
    ) -> None:
        """Write our messages to its stdin. If it does not read them, the session ends."""
        assert process.stdin
        try:
            async for each in receiver:
                if isinstance(each.message, JSONRPCRequest):
                    self._awaited.add(each.message.id)
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
        except OSError:
            await sender.aclose()


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


async def _end(process: Process) -> None:
    """Close its stdin, as the protocol says, and end its session if it does not end by itself."""
    assert process.stdin
    process.stdin.close()
    await _wait_for_end(process.pid)
    await end_session(process.pid, GRACE)
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _TICK)


async def end_session(session: int, grace: float) -> None:
    """Send SIGTERM to all processes of a session, and SIGKILL to the rest after `grace` seconds."""
    signal_session(session, SIGTERM, SIGCONT)  # a stopped process gets SIGTERM after SIGCONT
    await _wait_for_end(session, grace)
    signal_session(session, SIGKILL)


async def _wait_for_end(session: int, grace: float = GRACE) -> None:
    with anyio.move_on_after(grace):
        while running_groups(session):
            await asyncio.sleep(_TICK)
