"""The progress of a run and its batches, on a terminal and in a log."""

from __future__ import annotations

import time

from pflow import TYPE_CHECKING, Any, Callable
from pflow.driver.arguments import PROGRAM
from pflow.terminal import messages
from pflow.terminal.columns import colour_of, duration, rough_time
from pflow.terminal.messages import say
from pflow.values.usage import Usage

if TYPE_CHECKING:
    Clock = Callable[[], float]

PERIOD = 60.0
"""Seconds between two lines in a log."""


class BatchProgress:
    """The progress of one batch.

    `count` is the number of its items, if known, and `before` the number that an earlier part of the run did. `said` is
    the time of the last line about the batch, `label` the step's number and name.
    """

    def __init__(self, step: str, count: int | None, now: float, before: int) -> None:
        self.step = step
        self.count = count
        self.done = self.before = before
        self.failed = 0
        self.usage = Usage()
        self.begun = self.said = now
        self.label = ("", "")

    def words(self, now: float | None = None) -> list[str]:
        """Return `142/200`, `3 failed`, `$0.04`, and while it runs `1m20s left`."""
        count = "" if self.count is None else f"/{self.count:,}"
        parts = [f"{self.done:,}{count}", f"{self.failed:,} failed" if self.failed else "", self.usage.price()]
        return list(filter(None, parts + ([] if now is None else self.pace(now))))

    def pace(self, now: float) -> list[str]:
        left = self.left(now)
        return [] if left is None else [f"{rough_time(left)} left"]

    def left(self, now: float) -> float | None:
        """Return the estimated seconds to the end; None if there is no estimate."""
        rate = self.rate(now)
        return None if self.count is None or not rate or self.done >= self.count else (self.count - self.done) / rate

    def rate(self, now: float) -> float:
        """Return the number of items that end per second."""
        return (self.done - self.before) / max(now - self.begun, 1e-9)


class LogProgress:
    """Progress of batches in a log: nothing in the first minute, then a line a minute."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.clock = clock
        self.batches: dict[str, BatchProgress] = {}

    def show(self, event: dict[str, Any]) -> None:
        now = self.clock()
        batch = self.batch_of(event, now)
        if batch is not None and event["event"] == "item" and now - batch.said >= PERIOD:
            batch.said = now
            say(PROGRAM, f"{batch.step}: {', '.join(batch.words(now))}")

    def batch_of(self, event: dict[str, Any], now: float) -> BatchProgress | None:
        """Count an event in its batch, and return the batch; for a batch in a batch, the outer one."""
        step, kind = str(event["step"]), event["event"]
        outer = next((each for each in self.batches if step.startswith(each + "/")), step)
        if kind == "batch" and outer == step:
            self.batches[step] = BatchProgress(step, event["count"], now, event.get("before", 0))
        batch = self.batches.get(outer)
        if batch is not None:
            batch.usage.add_event(event)
            if kind == "item" and outer == step:
                batch.done += 1
                batch.failed += "exit" in event
            elif kind == "end" and outer == step:
                del self.batches[step]
        return batch


class Progress(LogProgress):
    """Progress on a terminal: the step that runs, its batch, the time of each."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        super().__init__(clock)
        self.count = 0
        self.labels: dict[str, tuple[str, str]] = {}
        self.colour = colour_of(2)

    def show(self, event: dict[str, Any]) -> None:
        now, kind, key = self.clock(), event["event"], f"{event.get('lane', '')} {event['step']}"
        batch = self.batch_of(event, now)
        if batch is not None and (kind in ("batch", "item") or batch.step != event["step"]):
            if batch.step == event["step"]:
                batch.label = self.labels.get(key, ("", batch.step))
            self._draw(batch.label, "  ".join(batch.words(now)))
        elif kind == "start":
            self.count += 1
            self.labels[key] = f"[{self.count}]", _name(event)
            self._draw(self.labels[key], "…")
        elif kind == "end":
            number, name = self.labels.get(key, ("[0]", _name(event)))
            told = [duration(event["ms"]), *(batch.words() if batch else [])]
            told += ["cached"] * (event.get("cache", {}).get("verdict") == "hit")
            told += [self.colour.fault(f"failed ({event['exit']})")] if "exit" in event else []
            messages.write_line(f"{self.colour.dim(number)} {name}  {'  '.join(told)}")

    def _draw(self, label: tuple[str, str], words: str) -> None:
        number, name = label
        messages.draw_line(f"{name} {words}" if words == "…" else f"{name}  {words}", number)


def _name(event: dict[str, Any]) -> str:
    """Return `ask (llm)`, `ask (llm) #2`, or `llm` if the step has its node's name."""
    step, node = str(event["step"]), event["node"]
    visit = f" #{event['visit']}" if event["visit"] > 1 else ""
    return (step if step.rpartition("/")[2] == node else f"{step} ({node})") + visit
