"""Deadlines that stand inside one another: a step's within its flow's, and so on."""

from __future__ import annotations

import time

from pflow.process.signals import Interrupted, call_after, stop_timer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class Deadline:
    """So many seconds from now. Who set it takes it away; once it has passed, Interrupted carries it to them."""

    __slots__ = ("at", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.at = time.monotonic() + seconds


class TimedOut(Interrupted):
    """A deadline has passed."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__(0, f"it took longer than the {deadline.seconds:g} s of its timeout")
        self.deadline = deadline


_open: list[Deadline] = []


def set_deadline(seconds: float) -> Deadline:
    """Raise TimedOut in the main thread once so many seconds have passed, unless it is taken away before."""
    deadline = Deadline(seconds)
    _open.append(deadline)
    _arm()
    return deadline


def take_away(deadline: Deadline) -> None:
    stop_timer()
    _open.remove(deadline)
    _arm()


def forget_deadlines() -> None:
    """In a child process: they are the parent's to watch."""
    _open.clear()
    stop_timer()


def _arm() -> None:
    if _open:
        nearest = min(_open, key=lambda deadline: deadline.at)
        call_after(max(nearest.at - time.monotonic(), 0.000_001), lambda: _time_out(nearest))


def _time_out(deadline: Deadline) -> NoReturn:
    raise TimedOut(deadline)
