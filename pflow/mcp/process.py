"""Running a child: fed, heard while it works, bounded in what it prints, and ended as a whole when nobody wants it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import anyio

from pflow.errors import BAD_DATA, PflowError, exit_code
from pflow.mcp.groups import first_of
from pflow.process.children import running_groups, signal_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from pflow.mcp.call import Call

    Line = Callable[[bytes], Awaitable[None]]

GRACE = 3.0
"""Seconds between SIGTERM and SIGKILL: a child gives its own children two, and the official client gives us four."""

MOST = 64 << 20
"""Bytes that a child may print."""

_PART = 1 << 16
_WHOLE_PIPE = 1 << 20
_LONGEST_LINE = 1 << 20
_TICK = 0.02


class Ended:
    """What a child left: its exit code, -n when signal n killed it, and what it printed."""

    def __init__(self, code: int, stdout: bytes) -> None:
        self.code = code
        self.stdout = stdout


async def run_child(call: Call, *, on_stderr: Line, on_event: Line | None = None) -> Ended:
    """Run it to its end. The takers hear its lines as they come; `on_event` those of its trace.

    Raises PflowError: 65 where it prints too much, else where it does not start. Whatever else ends the wait, a
    cancellation above all, ends it and all that it has started first.
    """
    child = _Child(call, with_events=on_event is not None)
    try:
        return await child.talk(on_stderr, on_event)
    except BaseExceptionGroup as group:
        raise first_of(group) from None
    finally:
        with anyio.CancelScope(shield=True):
            await child.end()


class _Child:
    def __init__(self, call: Call, *, with_events: bool) -> None:
        self.rest = memoryview(call.stdin)
        self.stdout = bytearray()
        self.code: int | None = None
        self.waiting: set[anyio.CancelScope] = set()
        self.events: tuple[int, ...] = os.pipe() if with_events else ()
        theirs = self.events[1:]
        environment = {**os.environ, "PFLOW_TRACE": _path_of(*theirs)} if theirs else None
        try:
            self.process = subprocess.Popen(
                # -P: what lies in the working directory is not to be imported in place of pflow.
                [sys.executable, "-P", "-m", "pflow.mcp.child", str(os.getpid()), sys.argv[0], *call.words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=environment,
                start_new_session=True,
                pass_fds=theirs,
            )
        except OSError as error:
            self._close_events()
            why = (error.strerror or str(error)).lower()
            raise PflowError(f"cannot start what was called: {why}", exit=exit_code(error)) from None
        self.files = [file for file in (self.process.stdin, self.process.stdout, self.process.stderr) if file]
        for fd in [*(file.fileno() for file in self.files), *self.events[:1]]:
            os.set_blocking(fd, False)

    def _close_events(self) -> None:
        for fd in self.events:
            os.close(fd)

    async def talk(self, on_stderr: Line, on_event: Line | None) -> Ended:
        stdin, stdout, stderr = [file.fileno() for file in self.files]
        lines = {stderr: _Lines(on_stderr)}
        if on_event is not None:
            lines[self.events[0]] = _Lines(on_event)
        async with anyio.create_task_group() as readers:
            readers.start_soon(self._feed, stdin)
            readers.start_soon(self._hear, stdout, self._take)
            for fd, taker in lines.items():
                readers.start_soon(self._hear, fd, taker.take)
            code = await self._wait()
            self._stop_waiting()
        # All that it wrote is in the pipes. To wait for their other ends to close would be to wait for its daemons.
        for part in _left_in(stdout):
            self._add(part)
        for fd, taker in lines.items():
            for part in _left_in(fd):
                await taker.take(part)
            await taker.finish()
        return Ended(code, bytes(self.stdout))

    async def _wait(self) -> int:
        try:
            end = os.pidfd_open(self.process.pid)
        except (AttributeError, OSError):
            while self.process.poll() is None:
                await anyio.sleep(_TICK)
            return int(self.process.returncode)
        try:
            await anyio.wait_readable(end)
        finally:
            os.close(end)
        return self.process.wait()

    async def _feed(self, fd: int) -> None:
        while self.rest and await self._is_ready(anyio.wait_writable, fd):
            try:
                self.rest = self.rest[os.write(fd, self.rest[:_PART]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                break  # it need not read what it gets
        self.files[0].close()

    async def _hear(self, fd: int, take: Line) -> None:
        """Hand on what comes, part by part; what is being handed on when the child ends is not dropped."""
        while await self._is_ready(anyio.wait_readable, fd):
            try:
                part = os.read(fd, _PART)
            except BlockingIOError:
                continue
            if not part:
                break
            await take(part)

    async def _is_ready(self, wait: Callable[[int], Awaitable[None]], fd: int) -> bool:
        """Wait for a file; False when the child has ended before."""
        with anyio.CancelScope() as waiting:
            if self.code is not None:
                return False
            self.waiting.add(waiting)
            try:
                await wait(fd)
                return True
            finally:
                self.waiting.discard(waiting)
        return False

    def _stop_waiting(self) -> None:
        self.code = self.process.returncode
        for waiting in list(self.waiting):
            waiting.cancel()

    async def _take(self, part: bytes) -> None:
        self._add(part)

    def _add(self, part: bytes) -> None:
        self.stdout += part
        if len(self.stdout) > MOST:
            raise PflowError(f"cannot hand on what came out: it is more than {MOST >> 20} MiB", exit=BAD_DATA)

    async def end(self) -> None:
        """SIGTERM to all of its session, SIGKILL to what is left of it after GRACE."""
        session = self.process.pid
        if self.process.poll() is None:
            signal_session(session, signal.SIGTERM, signal.SIGCONT)  # what is stopped hears nothing before SIGCONT
            with anyio.move_on_after(GRACE):
                while not self._is_gone():
                    await anyio.sleep(_TICK)
            while not self._is_gone():
                signal_session(session, signal.SIGKILL)
                await anyio.sleep(_TICK)
        for file in self.files:
            file.close()
        self._close_events()

    def _is_gone(self) -> bool:
        return self.process.poll() is not None and not running_groups(self.process.pid)


def _path_of(fd: int) -> str:
    """A path that is this very pipe, also for who has not inherited it."""
    return f"/proc/{os.getpid()}/fd/{fd}" if os.path.isdir("/proc/self/fd") else f"/dev/fd/{fd}"


class _Lines:
    """Hands on whole lines; of one without end, a megabyte."""

    def __init__(self, take: Line) -> None:
        self.line = take
        self.rest = b""

    async def take(self, part: bytes) -> None:
        *lines, self.rest = (self.rest + part).split(b"\n")
        for line in lines:
            await self.line(line)
        if len(self.rest) > _LONGEST_LINE:
            await self.finish()

    async def finish(self) -> None:
        rest, self.rest = self.rest, b""
        if rest:
            await self.line(rest)


def _left_in(fd: int) -> Iterator[bytes]:
    """What a pipe holds at this moment: a megabyte at most, whoever still writes to it."""
    for _ in range(_WHOLE_PIPE // _PART):
        try:
            part = os.read(fd, _PART)
        except BlockingIOError:
            return
        if not part:
            return
        yield part
