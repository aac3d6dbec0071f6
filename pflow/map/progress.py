"""The progress of a map: a line on a terminal, a line a minute in a log, or JSON lines; and its status file."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable

from pflow.driver.progress import PERIOD, BatchProgress
from pflow.map.ledger import LedgerEntry
from pflow.map.states import DONE
from pflow.record.log import write_status
from pflow.terminal import messages
from pflow.terminal.columns import rough_time
from pflow.terminal.messages import say, write_stderr

_OFTEN = 1.0
"""Seconds between two status files, and between two drawings of the line."""
_LONG = 10.0
"""Seconds of waiting that a log is told at once."""


class MapProgress(BatchProgress):
    """The progress of a map whose run has this `directory`; `form` is json, none or empty. -q shows nothing."""

    def __init__(
        self, directory: str, form: str, total: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__("map", total, clock(), 0)
        self.directory = directory
        self.clock = clock
        self.form = "" if messages.is_quiet or form == "none" else form or "line"
        self.is_drawn = self.form == "line" and os.isatty(2) and os.environ.get("TERM", "") not in ("", "dumb")
        self.due = self.begun
        self.said -= PERIOD if self.form == "json" else 0
        self.waits = self._told = ""
        self.begun_items = 0
        self.marks = deque([(self.begun, 0)])
        """The times of the last minute, and how many items had been run then."""

    def note(self, entry: LedgerEntry, is_new: bool) -> None:
        """Count an item that is settled; `is_new` if it was run just now."""
        self.done += 1
        self.before += not is_new
        self.failed += entry.status != DONE
        self.begun_items += entry.status != DONE and entry.has_begun
        self.usage.add(entry.usage if is_new else {})

    def rate(self, now: float) -> float:
        """Return how many items were run in a second, over the last minute."""
        began, before = self.marks[0]
        return (self.done - self.before - before) / max(now - began, 1e-9)

    def pace(self, now: float) -> list[str]:
        rate = self.rate(now)
        pace = [f"{rate * 60:,.0f}/min", *super().pace(now)] if rate else []
        return [*pace, self.waits] if self.waits else pace

    def show(self, what: str = "", seconds: float = 0) -> None:
        """Show how far the map is, if it is time for that, and what it waits for (`429 from HOST, next try in`)."""
        now = self.clock()
        is_due = now >= self.due
        self.waits = f"{what} {rough_time(seconds)}" if seconds else what
        if is_due:
            self.due = now + _OFTEN
            self.marks.append((now, self.done - self.before))
            while self.marks[1][0] <= now - PERIOD:
                self.marks.popleft()
            self._write_status()
        if self.is_drawn:
            if is_due or not messages.is_drawn:
                messages.draw("  ".join(self.words(now)))
        elif is_due and (now - self.said >= PERIOD or (seconds >= _LONG and what != self._told)):
            self.said, self._told = now, what
            self._say(now)

    def _say(self, now: float) -> None:
        if self.form == "json":
            left = self.left(now)
            pace = {"per_minute": round(self.rate(now) * 60, 1), "left_s": left and round(left)}
            about = {**self._counts(), "cost": self.usage.cost, **pace, "waits": self.waits or None}
            write_stderr(json.dumps({**about, "time": time.time()}) + "\n")
        elif self.form:
            say("pflow map", ", ".join(self.words(now)))

    def _counts(self) -> dict[str, int | None]:
        return {"done": self.done - self.failed, "failed": self.failed, "total": self.count}

    def _write_status(self) -> None:
        left = None if self.count is None else self.count - self.done
        counts = {**self._counts(), "begun": self.begun_items, "left": left, "usage": self.usage.total()}
        write_status(self.directory, {**counts, "time": time.time()})

    def finish(self) -> None:
        """Show the last counts."""
        messages.clear()
        self._write_status()
        self.waits = ""
        if self.form == "json":
            self._say(self.clock())
