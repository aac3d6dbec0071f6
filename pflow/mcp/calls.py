"""Calls of tools, several at once: each ends with a result, and one that is cancelled ends what it began."""

from __future__ import annotations

import json
import os
import select
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from pflow.errors import BUG, USAGE, PflowError, bug_error
from pflow.mcp import child, own_tools
from pflow.mcp.arguments import call_of
from pflow.mcp.catalogue import Catalogue
from pflow.mcp.offered import Offered
from pflow.mcp.process import Child
from pflow.mcp.result import Result, done, failed, result_of
from pflow.mcp.schema import check_arguments
from pflow.run.runs import parse_event
from pflow.stage.trace import write_lines
from pflow.terminal.columns import clean
from pflow.terminal.messages import write_stderr

T = TypeVar("T")
Tell = Callable[[float, float | None, str], Awaitable[None]]
"""Hears how far a call is: steps done, of how many, and in words."""

AT_ONCE = 8
"""Children that run at the same time; further calls wait."""

MOST = 1 << 20
"""Bytes of a flow's text, or of a sentence, that are accepted."""

_REMEMBERED = 40
"""Lines of a child's stderr."""

_LONGEST_LINE = 390
"""Characters of a line on stderr: escaped, they still fit into a page, which a pipe that can be written takes."""


class Calls:
    """Takes calls from one client."""

    def __init__(self, catalogue: Catalogue, own_names: set[str]) -> None:
        self.catalogue = catalogue
        self.own_names = own_names
        self.limiter = anyio.CapacityLimiter(AT_ONCE)
        self.reading = threading.Lock()
        self.scopes: set[anyio.CancelScope] = set()

    async def read(self, work: Callable[[], T]) -> T:
        """Do what reads flows and nodes: in a thread, so that other calls go on, and never two at once."""

        def alone() -> T:
            with self.reading:
                return work()

        return await anyio.to_thread.run_sync(alone, abandon_on_cancel=True)

    async def has(self, name: str) -> bool:
        return name in self.own_names or name in await self.read(self.catalogue.tools)

    async def call(self, name: str, arguments: dict[str, Any], tell: Tell | None) -> Result:
        """The result of a call of a tool that there is; a failure is a result too."""
        with anyio.CancelScope() as scope:
            self.scopes.add(scope)
            try:
                return await self._call(name, arguments, tell)
            except PflowError as error:
                return failed(error)
            except Exception as error:
                return failed(bug_error(error))
            finally:
                self.scopes.discard(scope)
        return failed(PflowError("cannot finish: the server ends", exit=143))

    async def end(self) -> None:
        """End every call, and wait until what it began is gone."""
        for scope in list(self.scopes):
            scope.cancel()
        while self.scopes:
            await anyio.sleep(0.02)

    async def _call(self, name: str, arguments: dict[str, Any], tell: Tell | None) -> Result:
        if name not in self.own_names:
            return await self._run(await self.read(lambda: self.catalogue.find(name)), arguments, tell)
        check_arguments(name, own_tools.OWN_TOOLS[name].input_schema, arguments)
        if name == own_tools.RUN:
            offered = await self.read(lambda: self.catalogue.find(arguments["name"]))
            return await self._run(offered, arguments.get("inputs", {}), tell)
        if name == own_tools.CHECK:
            return await self._judge(child.CHECK, arguments["flow"])
        if name == own_tools.PLAN:
            return await self._judge(child.PLAN, arguments["sentence"])
        return done(await self.read(lambda: own_tools.answer(name, self.catalogue, arguments)))

    async def _run(self, offered: Offered, arguments: dict[str, Any], tell: Tell | None) -> Result:
        words, stdin = await self.read(lambda: call_of(offered, arguments))
        said: deque[str] = deque(maxlen=_REMEMBERED)
        started = Child(words, stdin, _relay(said), _Progress(offered.steps, tell).take if tell else None)
        async with self.limiter:
            code = await started.run()
        stdout = bytes(started.stdout)
        return await anyio.to_thread.run_sync(result_of, offered, arguments, code, stdout, list(said))

    async def _judge(self, kind: str, text: Any) -> Result:
        """What a child makes of a client's text, which may take long."""
        stdin = json.dumps(text).encode()
        if len(stdin) > MOST:
            raise PflowError(f"cannot {kind}: it is longer than {MOST:,} bytes", exit=USAGE)
        said: deque[str] = deque(maxlen=_REMEMBERED)
        started = Child([kind], stdin, _relay(said))
        async with self.limiter:
            code = await started.run()
        try:
            about = json.loads(started.stdout)
        except ValueError:
            why = said[-1] if said else f"it ended with {code}"
            raise PflowError(f"cannot {kind}: {why}", exit=BUG) from None
        if error := about.get("error"):
            raise PflowError(error["message"], hint=error["hint"], exit=error["exit"])
        return done(about)


class _Progress:
    """The events of a run as progress: half a step when one starts, the other half when it ends.

    Steps of subflows count with the step that they are in. A loop has no total: nobody knows how long it goes on.
    """

    def __init__(self, steps: int, tell: Tell) -> None:
        self.steps, self.tell = steps, tell
        self.done = 0.0

    async def take(self, line: bytes) -> None:
        if os.environ.get("PFLOW_TRACE", "0") not in ("", "0"):  # the server was asked for a trace
            write_lines("pflow mcp serve", line + b"\n")
        event = parse_event(line)
        if event is None or event["event"] not in ("start", "end") or "/" in _step_of(event):
            return
        self.done += 0.5
        total = float(self.steps) if self.done <= self.steps else None
        await self.tell(self.done, total, clean(_in_words(event)))


def _in_words(event: dict[str, Any]) -> str:
    step, node = _step_of(event), str(event.get("node", ""))
    name = node if step in (node, "") else f"{step} ({node})"
    if event["event"] == "start":
        return f"{name} …"
    return f"{name} failed ({event['exit']})" if event.get("exit") else f"{name} done"


def _step_of(event: dict[str, Any]) -> str:
    return str(event.get("step", event.get("id", "")))


def _relay(said: deque[str]) -> Callable[[bytes], None]:
    """What a child says goes to our stderr; its last lines are kept."""

    def take(line: bytes) -> None:
        said.append(clean(str(line, "utf-8", "backslashreplace")))
        write_line(said[-1])

    return take


def write_line(line: str) -> None:
    """Write a line to stderr, shortened, and only while somebody reads it: the server never waits for that."""
    poll = select.poll()
    poll.register(2, select.POLLOUT)
    if poll.poll(0):
        write_stderr((line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…") + "\n")
