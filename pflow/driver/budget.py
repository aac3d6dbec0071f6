"""The budget of a run: a limit on all its calls of models, counted in its driver, try by try."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Iterable
from pflow.errors import OVER_BUDGET, PflowError
from pflow.interface.interface import spell_flag
from pflow.record.log import RunLog
from pflow.stage.trace import event_line
from pflow.words.budget import BUDGET
from pflow.words.usage import Usage, dollars

if TYPE_CHECKING:
    from pflow.words.budget import Amounts, Question

    Event = dict[str, Any]


class Budget:
    """The limits of a run, and what it has `used`, its earlier parts included.

    Both are in the events of its log, each call before it begins, so kill -9 makes a run forget none.
    """

    def __init__(self, limits: Amounts, used: Amounts, log: RunLog | None) -> None:
        self.limits = limits
        self.used = used
        self.log = log
        self.is_priced = "cost" in limits
        self._note()

    def charge(self, question: Question) -> Amounts:
        """Count a call, or what one spent; return what is left. Raises PflowError (79) if the budget is reached."""
        if "call" in question:
            for name, limit in self.limits.items():
                if self.used[name] >= limit:
                    raise self._reached(name, limit, question["call"])
            self.used["calls"] += 1
        if "spent" in question:
            spent = Usage(question["spent"])
            self.used["tokens"] += sum(spent.tokens.values())
            self.used["cost"] += spent.cost or 0
        if question:
            self._note()
        return {name: max(limit - self.used[name], 0) for name, limit in self.limits.items()}

    def _note(self) -> None:
        if self.log is not None:
            self.log.line(event_line("budget", {"used": self.used, "limits": self.limits}))

    def _reached(self, name: str, limit: float, model: str) -> PflowError:
        error = over_budget(name, self.used[name], limit, model, "the run")
        if self.log is not None and self.log.journal is not None:
            error.hint = f"pflow resume {os.path.basename(self.log.directory)} {spell_flag(BUDGET[name])}=… goes on"
        return error


def over_budget(name: str, used: float, limit: float, model: str, whose: str) -> PflowError:
    """Return the failure (79) of a call of a model that an amount has no room for."""
    what = f"spent {dollars(used)} of {dollars(limit)}" if name == "cost" else f"used {used:,} of {limit:,} {name}"
    hint = f"{spell_flag(BUDGET[name])} allows more"
    error = PflowError(f"cannot ask '{model}': {whose} has {what}", hint=hint, exit=OVER_BUDGET, is_permanent=True)
    error.ends_run = True
    return error


def budget_of(limits: Amounts, log: RunLog | None, events: Iterable[Event] = ()) -> Budget | None:
    """Return the budget of a run; None without limits. `events` are those of its earlier parts."""
    used, before = read_budget(events)
    limits = before | limits
    return Budget(limits, used, log) if limits else None


def read_budget(events: Iterable[Event]) -> tuple[Amounts, Amounts]:
    """Return what a run has used so far, and its limits. A part with limits has counted all parts before it."""
    used: Amounts = {"calls": 0, "tokens": 0, "cost": 0.0}
    limits: Amounts = {}
    is_counted = False
    for event in events:
        if event["event"] == "resume":
            is_counted = False
        elif event["event"] == "budget":
            used, limits, is_counted = dict(event["used"]), event["limits"], True
        elif not is_counted:
            spent = Usage()
            spent.add_event(event)
            used["calls"] += spent.calls
            used["tokens"] += sum(spent.tokens.values())
            used["cost"] += spent.cost or 0
    return used, limits
