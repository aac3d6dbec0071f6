"""The children of the server: their lines are passed on at once, and a cancelled call ends all that it started."""

import asyncio
import os
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from tempfile import NamedTemporaryFile
from typing import IO

import anyio
from anyio.from_thread import run_sync as run_in_loop
from anyio.to_thread import run_sync as run_in_thread

from pflow.errors import CANNOT_WRITE, PflowError
from pflow.mcp.child import talk
from pflow.process import children
from pflow.process.children import Program
from pflow.text.printable import clean

AT_ONCE = 8
"""Children that run at the same time; further calls wait."""

GRACE = 1.5 * children.GRACE
"""Seconds from SIGTERM to SIGKILL: a child gives its own children GRACE, the official client gives us twice that."""

MOST = 1 << 26
"""The most bytes of a child's document, which is held here whole before it is cut."""

_REMEMBERED = 40
"""Lines of a child's stderr that are remembered."""

_LONGEST_LINE = 1 << 24
_TICK = 0.05

OnEvent = Callable[[bytes], Awaitable[None]]


class Children:
    """The running children. `on_line` gets each line of what they write on stderr, printable."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self.on_line = on_line
        self.limiter = anyio.CapacityLimiter(AT_ONCE)
        self.running: set[Program] = set()

    async def run(
        self, words: list[str], stdin: bytes, on_event: OnEvent | None = None
    ) -> tuple[int, bytes, deque[str]]:
        """Run pflow with these words; return its exit code, -n if signal n killed it, its stdout and its last lines.

        `on_event` gets the lines of its trace. A cancelled call ends all that it started. Raises OSError and ValueError
        if it does not start, PflowError (73) if it writes too much.
        """
        # -P: a module in the working directory must not be imported in place of pflow.
        argv = [sys.executable, "-P", "-m", "pflow.commands.main", *words]
        document, rest, said = bytearray(), b"", deque[str](maxlen=_REMEMBERED)

        def take(part: bytes) -> None:
            document.extend(part)
            if len(document) > MOST:
                raise PflowError(f"cannot take its output: it is longer than {MOST:,} bytes", exit=CANNOT_WRITE)

        def hear(part: bytes) -> None:
            nonlocal rest
            *lines, rest = (rest + part).split(b"\n")
            rest = rest[-_LONGEST_LINE:]
            run_in_loop(relay, lines)

        def relay(lines: list[bytes]) -> None:
            for line in lines:
                said.append(clean(str(line, "utf-8", "backslashreplace")))
                self.on_line(said[-1])

        async with self.limiter, _trace(on_event) as env:
            with Program(argv, input=stdin, on_stdout=take, on_stderr=hear, env=env) as program:
                self.running.add(program)
                try:
                    code = await talk(program, GRACE)
                finally:
                    self.running.discard(program)
        relay([rest] if rest else [])  # a last line without an end
        return code, bytes(document), said

    async def end(self) -> None:
        """End all of them."""
        await run_in_thread(children.end, self.running, GRACE)


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
