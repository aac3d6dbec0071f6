"""Progress on a terminal's stderr: which step runs, and how long each took."""

from __future__ import annotations

import os

from pflow.jsontext import decode
from pflow.terminal.colour import colour_of
from pflow.terminal.messages import say, write_stderr

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Progress:
    """Hears the events of a run as lines, and tells a person of them; before each, `end_line` is called."""

    def __init__(self, end_line: Callable[[], None]) -> None:
        self.end_line = end_line
        self.count = 0
        self.open: dict[str, int] = {}
        self.is_mid_line = False
        self.colour = colour_of(2)

    def take(self, lines: bytes) -> None:
        for line in lines.splitlines():
            event: Any = decode(line)
            if event["event"] == "start":
                self._start(event)
            elif event["event"] == "end":
                self._end(event)

    def _start(self, event: dict[str, Any]) -> None:
        self.count += 1
        self.open[_key(event)] = self.count
        self._clear()
        write_stderr(f"{self._number(self.count)} {_name(event)} …")
        self.is_mid_line = True

    def _end(self, event: dict[str, Any]) -> None:
        number = self.open.pop(_key(event), 0)
        self._clear()
        failed = "  " + self.colour.fault(f"failed ({event['exit']})") if "exit" in event else ""
        write_stderr(f"{self._number(number)} {_name(event)}  {_seconds(event['ms'])}{failed}\n")

    def _number(self, number: int) -> str:
        return self.colour.dim(f"[{number}]")

    def _clear(self) -> None:
        self.end_line()
        if self.is_mid_line:
            write_stderr("\r\x1b[K")
            self.is_mid_line = False

    def finish(self) -> None:
        """Take away what is said of the step that runs: something else is shown."""
        if self.is_mid_line:
            self._clear()


def say_places(lines: bytes) -> None:
    """For -v: where each value of a step came from, and where its writes went."""
    for line in lines.splitlines():
        event: Any = decode(line)
        if event["event"] == "end":
            for key, places in event["reads"].items():
                say("pflow run", f"{event['step']} reads {key} from {', '.join(places) or 'the flow itself'}")
            for key, places in event["writes"].items():
                say("pflow run", f"{event['step']} writes {key} to {', '.join(places)}")


def wants_progress(*, quiet: bool) -> bool:
    return os.isatty(2) and not quiet and os.environ.get("TERM", "") not in ("", "dumb")


def _key(event: dict[str, Any]) -> str:
    return f"{event.get('lane', '')} {event['step']}"


def _name(event: dict[str, Any]) -> str:
    visit = f" #{event['visit']}" if event.get("visit", 1) > 1 else ""
    step = str(event["step"])
    return (step if step.rpartition("/")[2] == event["node"] else f"{step} ({event['node']})") + visit


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms:.0f} ms"
