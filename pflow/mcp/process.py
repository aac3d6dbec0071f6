"""Running a child of the server in a thread: its lines are passed on as they come, and a cancelled call ends it."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from pflow.errors import BAD_DATA, PflowError, exit_code
from pflow.process import children

GRACE = 3.0
"""Seconds between SIGTERM and SIGKILL: a child gives its own children two, and the official client gives us four."""

MOST = 64 << 20
"""Bytes that a child may print."""

_LONGEST_LINE = 1 << 20
_TICK = 0.02
_NO_MORE = b"\0"
"""The line that we write ourselves after a child's last event."""


class _Lines:
    """Splits what comes into whole lines; a line without end is cut at a megabyte."""

    def __init__(self) -> None:
        self.rest = b""

    def take(self, part: bytes) -> list[bytes]:
        *lines, self.rest = (self.rest + part).split(b"\n")
        return lines + self.finish() if len(self.rest) > _LONGEST_LINE else lines

    def finish(self) -> list[bytes]:
        rest, self.rest = self.rest, b""
        return [rest] if rest else []


@dataclass
class Child:
    """A child: the words for `pflow.mcp.child`, its stdin, and what gets the lines of its stderr and its trace."""

    words: list[str]
    stdin: bytes
    on_line: Callable[[bytes], None]
    on_event: Callable[[bytes], Awaitable[None]] | None = None
    stdout: bytearray = field(default_factory=bytearray)
    _pid: int = 0
    _is_cancelled: bool = False

    async def run(self) -> int:
        """Run it to its end; its exit code, -n when signal n killed it. A cancelled call ends all that it started.

        Raises PflowError: 65 where it prints too much, else where it does not start.
        """
        if self.on_event is None:
            return await self._run_cancellable(None)
        with tempfile.TemporaryDirectory(prefix="pflow-mcp-") as folder:
            fifo = os.path.join(folder, "events")
            os.mkfifo(fifo, 0o600)
            fd = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_hear, fd, self.on_event)
                    code = await self._run_cancellable({**os.environ, "PFLOW_TRACE": fifo})
                    await anyio.wait_writable(fd)
                    os.write(fd, b"\n" + _NO_MORE + b"\n")
            except BaseExceptionGroup as group:
                raise first_of(group) from None
            finally:
                os.close(fd)
        return code

    async def _run_cancellable(self, environment: dict[str, str] | None) -> int:
        try:
            return await anyio.to_thread.run_sync(self._run, environment, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            self._is_cancelled = True
            with anyio.CancelScope(shield=True):
                await _end_session(self._pid)
            raise

    def _run(self, environment: dict[str, str] | None) -> int:
        # -P: what lies in the working directory is not to be imported in place of pflow.
        argv = [sys.executable, "-P", "-m", "pflow.mcp.child", str(os.getpid()), sys.argv[0], *self.words]
        lines = _Lines()
        try:
            code = children.run(
                [*argv],
                input=self.stdin,
                env=environment,
                on_stdout=self._add,
                on_stderr=lambda part: self._tell(lines.take(part)),
                on_start=self._started,
            )
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise PflowError(f"cannot start what was called: {why}", exit=exit_code(error)) from None
        self._tell(lines.finish())
        return code

    def _started(self, pid: int) -> None:
        self._pid = pid
        if self._is_cancelled:
            raise PflowError("cannot go on: the call is cancelled")

    def _add(self, part: bytes) -> None:
        self.stdout += part
        if len(self.stdout) > MOST:
            raise PflowError(f"cannot hand on what came out: it is more than {MOST >> 20} MiB", exit=BAD_DATA)

    def _tell(self, lines: list[bytes]) -> None:
        for line in lines:
            self.on_line(line)


async def _hear(fd: int, on_event: Callable[[bytes], Awaitable[None]]) -> None:
    lines = _Lines()
    while True:
        await anyio.wait_readable(fd)
        for line in lines.take(os.read(fd, 1 << 16)):
            if line == _NO_MORE:
                return
            if line:
                await on_event(line)


async def _end_session(session: int) -> None:
    if session:  # else it ends as soon as it has started
        children.signal_session(session, signal.SIGTERM, signal.SIGCONT)  # a stopped process gets SIGTERM after SIGCONT
        with anyio.move_on_after(GRACE):
            while children.running_groups(session):
                await anyio.sleep(_TICK)
        children.signal_session(session, signal.SIGKILL)


def first_of(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first exception in groups of groups."""
    first = group.exceptions[0]
    return first_of(first) if isinstance(first, BaseExceptionGroup) else first
