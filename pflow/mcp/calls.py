"""Calls of tools, several at once: each ends with its result, and a call that nobody waits for ends what it began."""

from __future__ import annotations

import json
import os
import threading
from collections import deque

import anyio
import anyio.to_thread

from pflow.errors import BUG, USAGE, PflowError, bug_error
from pflow.mcp import child, fixed
from pflow.mcp.call import Call, call_of
from pflow.mcp.process import run_child
from pflow.mcp.progress import Progress
from pflow.mcp.result import LIMIT, Result, done, failed, result_of
from pflow.mcp.stderr import tell
from pflow.terminal.columns import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any, TypeVar

    from pflow.mcp.catalogue import Catalogue
    from pflow.mcp.offered import Offered

    T = TypeVar("T")
    Tell = Callable[[float, float | None, str], Awaitable[None]]
    """Hears how far a call is: steps done, of how many, and in words."""

AT_ONCE = 8
"""Children that run at the same time; further calls wait."""

MOST = 1 << 20
"""Bytes of a flow's text, or of a sentence, that are looked at."""

_REMEMBERED = 40
"""Lines of a child's stderr."""


class Calls:
    """Takes calls. `limit` is how many bytes of JSON a result may have."""

    def __init__(self, catalogue: Catalogue, fixed_names: set[str], *, limit: int = LIMIT) -> None:
        self.catalogue = catalogue
        self.fixed_names = fixed_names
        self.limit = limit
        self.at_once = anyio.CapacityLimiter(AT_ONCE)
        self.reading = threading.Lock()
        self.scopes: set[anyio.CancelScope] = set()

    async def read(self, work: Callable[[], T]) -> T:
        """Do what reads flows and nodes: in a thread, so that others are heard meanwhile, and never two at once."""

        def alone() -> T:
            with self.reading:
                return work()

        return await anyio.to_thread.run_sync(alone, abandon_on_cancel=True)

    async def has(self, name: str) -> bool:
        return name in self.fixed_names or name in await self.read(self.catalogue.tools)

    async def call(self, name: str, arguments: dict[str, Any], tell: Tell | None) -> Result:
        """The result of a call of a tool that there is; whatever goes wrong is one, too."""
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
        if name not in self.fixed_names:
            return await self._run(await self.read(lambda: self.catalogue.find(name)), arguments, tell)
        fixed.check_arguments(name, fixed.FIXED[name].input_schema, arguments)
        if name == fixed.RUN:
            offered = await self.read(lambda: self.catalogue.find(arguments["name"]))
            return await self._run(offered, arguments.get("inputs", {}), tell)
        if name == fixed.CHECK:
            return await self._read(child.CHECK, arguments["flow"])
        if name == fixed.PLAN:
            return await self._read(child.PLAN, arguments["sentence"])
        return done(await self.read(lambda: fixed.answer(name, self.catalogue, arguments)), self.limit)

    async def _run(self, offered: Offered, arguments: dict[str, Any], tell: Tell | None) -> Result:
        call = await self.read(lambda: call_of(offered, arguments))
        said: deque[str] = deque(maxlen=_REMEMBERED)
        hear = None
        if tell is not None:
            progress, tell_client = Progress(offered.steps), tell

            async def hear(line: bytes) -> None:
                _hand_on_trace(line)
                if news := progress.take(line):
                    await tell_client(*news)

        async with self.at_once:
            ended = await run_child(call, on_stderr=_relay(said), on_event=hear)
        return await anyio.to_thread.run_sync(result_of, offered, arguments, ended, list(said), self.limit)

    async def _read(self, kind: str, text: Any) -> Result:
        """What a child makes of a client's text: it may take its time, and holds up no other call."""
        given = json.dumps(text).encode()
        if len(given) > MOST:
            raise PflowError(f"cannot {kind}: it is longer than {MOST:,} bytes", exit=USAGE)
        said: deque[str] = deque(maxlen=_REMEMBERED)
        async with self.at_once:
            ended = await run_child(Call([kind], given), on_stderr=_relay(said))
        try:
            about = json.loads(ended.stdout)
        except ValueError:
            why = said[-1] if said else f"it ended with {ended.code}"
            raise PflowError(f"cannot {kind}: {why}", exit=BUG) from None
        if error := about.get("error"):
            raise PflowError(error["message"], hint=error["hint"], exit=error["exit"])
        return done(about, self.limit)


def _relay(said: deque[str]) -> Callable[[bytes], Awaitable[None]]:
    """What a child says goes to our stderr; its last lines are kept."""

    async def take(line: bytes) -> None:
        text = clean(str(line, "utf-8", "backslashreplace"))
        said.append(text)
        tell(text)

    return take


def _hand_on_trace(line: bytes) -> None:
    """The trace that PFLOW_TRACE asked the server for: its children write theirs to us."""
    if os.environ.get("PFLOW_TRACE", "0") not in ("", "0"):
        from pflow.stage.trace import write_lines

        write_lines("pflow mcp serve", line + b"\n")
