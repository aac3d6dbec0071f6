"""The events of a run, as lines: when a step starts and ends, what it read and wrote; never a value."""

from __future__ import annotations

import time

from pflow.jsontext import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Recorder:
    """Makes the lines of one lane of a run and hands them to `write`.

    The line of a step's end waits for that of the next one's start, so that both go out at once; `flush` sends it.
    What is said of a step (`about`), of its reads and of its writes comes as JSON, made once and used at every visit.
    """

    def __init__(self, write: Callable[[bytes], None], *, prefix: str = "", lane: str = "") -> None:
        self.write = write
        self.prefix = prefix
        self.lane = lane
        self._waiting = ""
        self._stamp = ""

    def inside(self, step: str) -> Recorder:
        """The recorder of a subflow's steps."""
        self.flush()
        return Recorder(self.write, prefix=f"{self.prefix}{step}/", lane=self.lane)

    def about(self, step: str, node: str, version: str) -> str:
        named = {"step": self.prefix + step, "node": node, "version": version}
        if self.lane:
            named["lane"] = self.lane
        return members(named)

    def start(self, about: str, visit: int) -> None:
        stamp = self._stamp if self._waiting else _now()
        line = f'{self._waiting}{{"v":1,"event":"start","time":{stamp},{about},"visit":{visit}}}\n'
        self._waiting = ""
        self.write(line.encode())

    def end(self, about: str, visit: int, reads: str, writes: str, ns: int, more: dict[str, Any] | None) -> None:
        """`ns` is how many nanoseconds it took; `more` holds what not every end has: action, exit, message, tokens."""
        rest = "," + members(more) if more else ""
        us = ns // 1000
        self._stamp = stamp = _now()
        self._waiting += (
            f'{{"v":1,"event":"end","time":{stamp},{about},"visit":{visit},"reads":{reads},"writes":{writes},'
            f'"ms":{us // 1000}.{us % 1000:03}{rest}}}\n'
        )

    def flush(self) -> None:
        if self._waiting:
            self.write(self._waiting.encode())
            self._waiting = ""


def members(of: dict[str, Any]) -> str:
    """An object's members as JSON, without the braces."""
    return str(encode(of), "utf-8")[1:-1]


def _now() -> str:
    """Seconds since the epoch. Of a whole number, because a float takes longer to write."""
    us = time.time_ns() // 1000
    return f"{us // 1_000_000}.{us % 1_000_000:06}"
