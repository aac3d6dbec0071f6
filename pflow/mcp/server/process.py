"""The children of the server: their lines are passed on at once, and a cancelled call ends all that it started."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from signal import SIGCONT, SIGKILL, SIGTERM
from tempfile import NamedTemporaryFile
from typing import IO

import anyio

from pflow.errors import CANNOT_WRITE, PflowError
from pflow.process.children import running_groups, signal_session

AT_ONCE = 8
"""Children that run at the same time; further calls wait."""

GRACE = 3.0
"""Seconds between SIGTERM and SIGKILL: a child gives its own children two, and the official client gives us four."""

MOST = 1 << 26
"""The most bytes of a child's document, which is held here whole before it is cut."""

_LONGEST_LINE = 1 << 24
_TICK = 0.05

OnLine = Callable[[bytes], None]
OnEvent = Callable[[bytes], Awaitable[None]]


class Children:
    """The running children."""

    def __init__(self) -> None:
        self.limiter = anyio.CapacityLimiter(AT_ONCE)
        self.sessions: set[int] = set()

    async def run(
        self, words: list[str], stdin: bytes, on_line: OnLine, on_event: OnEvent | None = None
    ) -> tuple[int, bytes]:
        """Run pflow with these words, and return its exit code (-n if signal n killed it) and its stdout.

        `on_line` gets the lines of its stderr, `on_event` those of its trace. A cancelled call ends all that it
        started. Raises OSError and ValueError if it does not start, PflowError (73) if it writes too much.
        """
        # -P: a module in the working directory must not be imported in place of pflow.
        argv = [sys.executable, "-P", "-m", "pflow.commands.main", str(os.getpid()), *words]
        async with self.limiter, _trace(on_event) as env:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=_LONGEST_LINE, env=env, start_new_session=True
            )
            self.sessions.add(process.pid)
            try:
                return await _talk(process, stdin, on_line)
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await _end_session(process.pid)
                raise
            finally:
                self.sessions.discard(process.pid)

    async def end(self) -> None:
        """End all of them."""
        await asyncio.gather(*map(_end_session, self.sessions))


async def _talk(process: Process, stdin: bytes, on_line: OnLine) -> tuple[int, bytes]:
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdin.write(stdin)  # the rest goes out as the child reads
    process.stdin.close()
    relaying = asyncio.create_task(_relay(process.stderr, on_line))
    try:
        stdout = await _read(process.stdout)
        await asyncio.wait([relaying], timeout=1)  # a daemon may keep stderr open
        return process.returncode if process.returncode is not None else await process.wait(), stdout
    finally:
        relaying.cancel()


async def _read(stdout: asyncio.StreamReader) -> bytes:
    """Read stdout to its end. Raises PflowError (73) if that is too much."""
    document = bytearray()
    while part := await stdout.read(1 << 16):
        document += part
        if len(document) > MOST:
            raise PflowError(f"cannot take its output: it is longer than {MOST:,} bytes", exit=CANNOT_WRITE)
    return bytes(document)


async def _relay(stderr: asyncio.StreamReader, on_line: OnLine) -> None:
    while True:
        try:
            line = await stderr.readline()
        except ValueError:  # it is longer than the limit
            continue
        if not line:
            return
        on_line(line.rstrip(b"\n"))


@asynccontextmanager
async def _trace(on_event: OnEvent | None) -> AsyncIterator[dict[str, str] | None]:
    """Yield the environment of a child whose events are passed on; None, our own, if a user traces to a file."""
    if on_event is None or os.environ.get("PFLOW_TRACE", "0") not in ("", "0"):
        yield None
        return
    with NamedTemporaryFile(prefix="pflow-mcp-") as file:
        ended = asyncio.Event()
        following = asyncio.create_task(_follow(file, on_event, ended))
        try:
            yield {**os.environ, "PFLOW_TRACE": file.name}
            ended.set()
            await following
        finally:
            following.cancel()


async def _follow(file: IO[bytes], on_event: OnEvent, ended: asyncio.Event) -> None:
    is_last = False
    while not is_last:
        with anyio.move_on_after(_TICK):
            await ended.wait()
        is_last = ended.is_set()
        for line in file:
            await on_event(line)


async def _end_session(session: int) -> None:
    signal_session(session, SIGTERM, SIGCONT)  # a stopped process gets SIGTERM after SIGCONT
    with anyio.move_on_after(GRACE):
        while running_groups(session):
            await asyncio.sleep(_TICK)
    signal_session(session, SIGKILL)
