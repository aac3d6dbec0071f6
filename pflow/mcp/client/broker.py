"""The broker: one process holds the sessions with MCP servers, and answers stages and steps on a Unix socket.

`python -m pflow.mcp.client.broker SOCKET OWNER` ends when the process OWNER ends. If OWNER is 0, as for `pflow mcp up`,
it ends after ten minutes without a call. It prints one reply when it listens, or if it cannot listen. Requests and
replies are JSON, each on a line, one after another:

    {"call": {"server", "tool", "arguments", "timeout"}} → {"progress": TEXT}*, then {"result": …}
    {"up": [NAME…]} → {"result": {}}, when these servers have started
    {"status": true} → {"result": {"pid", "servers": [{"name", "pid", "version", "calls"}]}}
    {"down": true} → {"result": {}}, and it ends

or {"error": {"message", "hint", "exit", "details"}}. A client that hangs up cancels its running call.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from signal import ITIMER_VIRTUAL, SIGHUP, SIGINT, SIGTERM, alarm, setitimer
from time import time
from typing import Any

from pflow.errors import BAD_CONFIG, PflowError, not_written, own_error
from pflow.files.reading import file_state
from pflow.mcp.client.servers import load_server, server_file
from pflow.mcp.client.session import Session
from pflow.mcp.client.sockets import PEER, SOCKET, is_peer_ours, is_running, owner_of, was_named
from pflow.mcp.client.transport import MOST
from pflow.process.children import GRACE

IDLE = 600.0
"""Seconds without a call after which a broker without an owner ends."""

_TICK = 0.2
_CPU = 20
"""The most seconds of CPU between two turns of the loop. Code that takes longer, such as a regular expression in the
SDK, cannot be interrupted in Python, so the kernel ends the process."""
_ENDING = 2 * GRACE
"""The seconds within which the sessions have to end."""
_LONGEST = 2 * MOST
_BACKLOG = 512
"""Connections that may wait to be accepted: the branches and items of a run connect at once."""

Reply = dict[str, Any]


class _KeptSession:
    """A session in an asyncio task of its own, because the SDK must close it in the task that opened it."""

    def __init__(self, name: str) -> None:
        self.file = server_file(name)
        self.state = file_state(self.file)
        self.session = Session(load_server(name))
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.done = asyncio.Event()
        self.users = 0
        self.task = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        try:
            async with self.session.open():
                self.begun.set_result(None)
                await self.done.wait()
        except PflowError as error:
            if not self.begun.done():
                self.begun.set_exception(error)

    def is_usable(self) -> bool:
        """Return False once the session is over, or the server's file has changed."""
        return not (self.session.is_over or self.session.peer.has_ended) and self.state == file_state(self.file)


async def _stay_alive() -> None:
    """Let the kernel end this process if the loop gets no turn for too long."""
    while True:  # SIGVTALRM has no handler, so it also ends a loop that is held in C code
        setitimer(ITIMER_VIRTUAL, _CPU)
        await asyncio.sleep(1)


class Broker:
    """Keeps sessions, by the names of their servers, until the process `owner` ends (0: there is no owner)."""

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.path = ""
        self.kept: dict[str, _KeptSession] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()
        self.connections = 0
        self.last = 0.0

    async def serve(self, path: str) -> None:
        """Serve on a socket until the end. Raises OSError if the socket cannot be made."""
        loop = asyncio.get_running_loop()
        for signum in (SIGTERM, SIGHUP, SIGINT):
            loop.add_signal_handler(signum, self.ended.set)
        _sweep(path)
        self.path = path
        os.umask(0o077)  # the socket must be private from the moment it exists
        server = await asyncio.start_unix_server(self._talk, path, limit=_LONGEST, backlog=_BACKLOG)
        watching = [asyncio.create_task(each) for each in (self._watch(), _stay_alive())]
        _report_start({"result": {}})
        await self.ended.wait()
        alarm(round(2 * _ENDING))  # end even if a server or a thread of the SDK hangs
        for task in watching:
            task.cancel()
        with suppress(FileNotFoundError):
            os.unlink(path)
        server.close()
        for kept in self.kept.values():
            kept.done.set()
        await asyncio.wait([*watching, *self.tasks, *(kept.task for kept in self.kept.values())], timeout=_ENDING)

    async def _watch(self) -> None:
        """Set `ended` when the owner has ended, or after a long silence."""
        loop = asyncio.get_running_loop()
        if self.owner:
            try:
                loop.add_reader(os.pidfd_open(self.owner), self.ended.set)
            except ProcessLookupError:
                self.ended.set()
            except (AttributeError, OSError):  # only Linux has pidfds, since 5.3
                while is_running(self.owner):
                    await asyncio.sleep(_TICK)
                self.ended.set()
            return
        self.last = loop.time()
        while self.connections or loop.time() < self.last + IDLE:
            await asyncio.sleep(_TICK if IDLE < 60 else 1)
        self.ended.set()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, request by request."""
        self.connections += 1
        try:
            peer = writer.get_extra_info("socket")
            if is_peer_ours(peer) and was_named(peer, self.path):
                await self._serve_requests(reader, writer)
        except (OSError, ValueError):
            pass  # the client has hung up, or its line is over the limit of the reader
        finally:
            self.connections -= 1
            self.last = asyncio.get_running_loop().time()
            writer.close()

    async def _serve_requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        def send(reply: Reply) -> None:
            writer.write(json.dumps(reply).encode() + b"\n")

        line = await reader.readline()
        while line:
            following = asyncio.create_task(reader.readline())
            handling = asyncio.create_task(self._handle(line, send))
            await asyncio.wait([following, handling], return_when=asyncio.FIRST_COMPLETED)
            if not handling.done() and not await following:  # an empty line: the client has hung up
                handling.cancel()
                await asyncio.wait([handling])
                return
            send(await handling)
            await writer.drain()
            line = await following

    async def _handle(self, line: bytes, send: Callable[[Reply], None]) -> Reply:
        try:
            request = json.loads(line)
            act = next(act for act in (self._call, self._up, self._status, self._down) if act.__name__[1:] in request)
            return {"result": await act(request[act.__name__[1:]], lambda text: send({"progress": text}))}
        except Exception as error:
            return _failed(own_error(error))

    async def _call(self, about: Reply, tell: Callable[[str], None]) -> Reply:
        async with self._using(about["server"]) as session:
            return await session.call(about["tool"], about["arguments"], about.get("timeout"), tell)

    async def _up(self, names: list[str], tell: Callable[[str], None]) -> Reply:
        for name in names:
            async with self._using(name):
                pass
        return {}

    async def _status(self, about: object, tell: Callable[[str], None]) -> Reply:
        sessions = [kept.session for kept in self.kept.values() if kept.begun.done() and kept.is_usable()]
        servers = [
            {"name": each.server.name, "pid": each.peer.pid, "version": each.info["version"], "calls": each.calls}
            for each in sessions
        ]
        return {"pid": os.getpid(), "servers": servers}

    async def _down(self, about: object, tell: Callable[[str], None]) -> Reply:
        self.ended.set()
        return {}

    @asynccontextmanager
    async def _using(self, name: str) -> AsyncIterator[Session]:
        """Yield the session with a server: a new one if none is open or the server's file has changed."""
        kept = self.kept.get(name)
        if kept is None or not kept.is_usable():
            if self.owner and load_server(name).is_kept:
                what = f"cannot use the MCP server '{name}': its state matters, and nobody keeps it"
                raise PflowError(what, hint=f"pflow mcp up {name}", exit=BAD_CONFIG)
            if kept is not None:
                self._retire(kept)
            kept = self.kept[name] = _KeptSession(name)
        kept.users += 1
        try:
            await asyncio.shield(kept.begun)
            yield kept.session
        finally:
            kept.users -= 1
            if self.kept.get(name) is not kept and not kept.users:
                kept.done.set()

    def _retire(self, kept: _KeptSession) -> None:
        """End a session when its last call ends."""
        self.tasks.add(kept.task)
        kept.task.add_done_callback(self.tasks.discard)
        if not kept.users:
            kept.done.set()


def _sweep(path: str) -> None:
    """Remove the sockets that killed processes have left: our own path, those of ended owners, old client sockets.

    The process that starts a broker holds a lock, and has made sure that no broker listens on our path.
    """
    folder = os.path.dirname(path)
    for name in os.listdir(folder):
        other = os.path.join(folder, name)
        is_left = name.endswith(SOCKET) and (other == path or (owner_of(other) and not is_running(owner_of(other))))
        with suppress(FileNotFoundError):
            if is_left or (name.startswith(PEER) and os.stat(other).st_mtime < time() - IDLE):
                os.unlink(other)


def _failed(error: PflowError) -> Reply:
    return {"error": {"message": error.message, "hint": error.hint, "exit": error.exit, "details": error.details}}


def _report_start(reply: Reply) -> None:
    """Print one line for the process that started us, then replace our standard files by /dev/null."""
    with suppress(OSError):
        os.write(1, json.dumps(reply).encode() + b"\n")
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)


def main(path: str, owner: str) -> None:
    """Serve on the socket `path` for the process `owner`."""
    # We may outlive the script that runs `pflow mcp up`, so we must not keep its locks, pipes and directory in use.
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir("/")
    try:
        asyncio.run(Broker(int(owner)).serve(path))
    except OSError as error:
        _report_start(_failed(not_written(f"cannot make the socket '{path}'", error)))


if __name__ == "__main__":
    main(*sys.argv[1:])
