"""The budget of a run or a map: the limits of its calls to models, what they used, and what calls in flight reserve."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Callable, Iterable, Sequence
from pflow.errors import OVER_BUDGET, PflowError
from pflow.interface.interface import spell_flag
from pflow.record.log import RunLog
from pflow.stage.trace import event_line
from pflow.values.usage import BUDGET, Calls, Usage, dollars

if TYPE_CHECKING:
    from pflow.values.usage import Amounts

    Event = dict[str, Any]
    Reservation = tuple[str, Sequence[int], Amounts]
    """The model of a call, the processes down to the one that makes it, and what is reserved for it."""


class Budget:
    """The limits of a run or a map, and the amounts `used`.

    These include the amounts of its earlier parts and those that calls in flight reserve. A call reserves an estimate
    for its question plus an upper bound for its answer, or the most that any answer of this model has used if that is
    more. It begins only if that much is left. Providers may bill more than the bound, so a model gets one call at a
    time until its first answer. If an answer leaves out an amount, the amount that the call reserved is counted; so are
    all amounts of a call whose process died. `note` is called before each call begins and after it has ended, so that
    no call is forgotten after kill -9.
    """

    def __init__(
        self, limits: Amounts, used: Amounts | None = None, seen: dict[str, Amounts] | None = None, *,
        whose: str = "the run", again: str = "", note: Callable[[Budget], None] = lambda budget: None,
    ) -> None:  # fmt: skip
        """`again` is the command that goes on with the run, if there is one."""
        self.limits = limits
        self.used: Amounts = {"calls": 0, "tokens": 0, "cost": 0.0, **(used or {})}
        self.whose = whose
        self.again = again
        self.note = note
        self.is_priced = "cost" in limits
        self._reserved: dict[int, Reservation] = {}
        self.seen: dict[str, Amounts] = {**(seen or {})}
        """The most that an answer of each model used, in earlier parts too."""
        self._stopped: PflowError | None = None
        """The failure of a call that ends the run; after it no call begins."""
        self._tickets = 0
        self.note(self)

    def calls(self) -> Calls:
        """Return the calls of models that these limits hold for."""
        return Calls(self.answer, is_priced=self.is_priced)

    def answer(self, name: str, question: dict[str, Any]) -> Any:
        """Answer a question of Calls (pflow.values.usage) by the method `name`. Raises PflowError (79)."""
        return getattr(self, name)(question)

    def begin(self, question: dict[str, Any]) -> int | None:
        """Reserve the amounts that a call may use; return its ticket, or None if it has to wait for one in flight.

        Raises PflowError (79) if it may use more than is left.
        """
        if self._stopped is not None:
            raise self._stopped
        model, most = question["model"], self._most(question)
        if self._is_first(question) and any(each == model for each, _, _ in self._reserved.values()):
            return None
        for name in self.limits:
            if most[name] > self._left(name):
                if self._reserved:  # calls in flight mostly use less than they reserve
                    return None
                raise self._refused(name, model, most[name])
        self._tickets += 1
        self._reserved[self._tickets] = (model, question.get("owner", ()), most)
        self._add(most)  # counted as used already, so that `_left` need not add up the calls in flight
        return self._tickets

    def reserved(self, question: dict[str, Any]) -> Amounts:
        """Return the amounts reserved for a call."""
        return self._reserved[question["ticket"]][2]

    def end(self, about: dict[str, Any]) -> Amounts:
        """Count the amounts that a call used, and return them: those it `spent`, or if unknown those it reserved."""
        if about["ticket"] not in self._reserved:  # its process died, and `lost` has counted it already
            return {"calls": 0, "tokens": 0, "cost": 0}
        model, _, most = self._reserved.pop(about["ticket"])
        usage = Usage(about["spent"])
        told = {"calls": usage.calls or None, "cost": usage.cost}
        told["tokens"] = sum(usage.tokens.values()) if usage.tokens else None
        reserved = most if usage.calls or about.get("is_untold") else {"calls": most["calls"]}
        took = {name: reserved.get(name, 0) if amount is None else amount for name, amount in told.items()}
        # With OVER_BUDGET there is nothing to remember: the amounts themselves refuse the next call.
        if about.get("ends_run") and about["exit"] != OVER_BUDGET:
            self._stopped = PflowError(about["message"], hint=about["hint"], exit=about["exit"], is_permanent=True)
            self._stopped.ends_run = True
        if usage.calls:  # a failed call says nothing about its model's bills: the next call is made alone too
            seen = self.seen.setdefault(model, {})
            seen |= {name: max(seen.get(name, 0), amount or 0) for name, amount in told.items()}
        self._add({name: amount - most.get(name, 0) for name, amount in took.items()})
        return took

    def spent(self, about: dict[str, Any]) -> None:
        """Count the usage of a node that calls models without asking the budget first."""
        usage = Usage(about["spent"])
        self._add({"tokens": sum(usage.tokens.values()), "cost": usage.cost or 0})

    def lost(self, owner: int) -> list[int]:
        """Count the calls of a process that died, each as much as it reserved; return their tickets."""
        tickets = [ticket for ticket, call in self._reserved.items() if owner in call[1]]
        for ticket in tickets:
            self.end({"ticket": ticket, "spent": {}, "is_untold": True})
        return tickets

    def _most(self, question: dict[str, Any]) -> Amounts:
        """Return the most that a call may use of each amount."""
        asked: Amounts = {"calls": 1, **question.get("most", {})}
        seen = self.seen.get(question["model"], {})
        for name in self.limits.keys() - {"calls"}:
            if question.get("is_capped"):
                most, left = asked.get(name, float("inf")), self._left(name)
                asked[name] = min(most, left) if left > 0 else most
            else:
                asked[name] = max(asked.get(name, 0), seen.get(name, 0))
        return asked

    def _is_first(self, question: dict[str, Any]) -> bool:
        """Return True until the model's first answer shows if its provider bills more than is reserved."""
        is_known = question["model"] in self.seen or question.get("is_capped")
        return not is_known and bool(self.limits.keys() - {"calls"})

    def _left(self, name: str) -> float:
        return round(self.limits[name] - self.used[name], 12)  # sums of floats: 0.1 + 0.2 is over 0.3

    def _add(self, more: Amounts) -> None:
        for name, amount in more.items():
            self.used[name] = round(self.used[name] + amount, 12)
        self.note(self)

    def _refused(self, name: str, model: str, most: float) -> PflowError:
        """Return the failure (79) of a call that would exceed the limit of an amount."""
        used, limit, left, flag = self.used[name], self.limits[name], self._left(name), spell_flag(BUDGET[name])
        what = f"{self.whose} has {'spent' if name == 'cost' else 'used'} {_words(name, used, limit)}"
        hint = f"{self.again} {flag}=… goes on" if self.again else f"{flag} allows more"
        if name != "calls" and left > 0:
            what = f"a call may take {_words(name, most)}, and {self.whose} has {_words(name, left, limit)} left"
            hint += "; a smaller --max-tokens of its step takes less"
        error = PflowError(f"cannot ask '{model}': {what}", hint=hint, exit=OVER_BUDGET, is_permanent=True)
        error.ends_run = True
        return error


def _words(name: str, *amounts: float) -> str:
    """Return `2 of 3 calls`, `4,106 tokens` or `$0.4108`, exact enough to show that a call needs more than is left."""
    each = [dollars(amount, 4) if name == "cost" else f"{amount:,.0f}" for amount in amounts]
    return " of ".join(each) + (f" {name}" if name != "cost" else "")


def limited_calls(limits: Amounts, log: RunLog | None, events: Iterable[Event] = ()) -> Calls | None:
    """Return the calls of a run under its budget; None without limits. `events` are those of its earlier parts."""
    used, before, seen = read_budget(events)
    limits = before | limits
    if not limits:
        return None
    if log is None:
        return Budget(limits, used, seen).calls()

    def note(budget: Budget) -> None:
        log.write_line(event_line("budget", {"used": budget.used, "limits": limits, "seen": budget.seen}))

    again = f"pflow resume {os.path.basename(log.directory)}" if log.journal is not None else ""
    return Budget(limits, used, seen, again=again, note=note).calls()


def read_budget(events: Iterable[Event]) -> tuple[Amounts, Amounts, dict[str, Amounts]]:
    """Return the amounts that a run has used so far, its limits, and the most that an answer of each model used.

    A `budget` event has the sum up to it; the usage of later parts that ran without limits is added.
    """
    used: Amounts = {"calls": 0, "tokens": 0, "cost": 0.0}
    limits: Amounts = {}
    seen: dict[str, Amounts] = {}
    is_counted = False
    for event in events:
        if event["event"] == "resume":
            is_counted = False
        elif event["event"] == "budget":
            used, limits, seen, is_counted = dict(event["used"]), event["limits"], event.get("seen", {}), True
        elif not is_counted:
            spent = Usage()
            spent.add_event(event)
            used["calls"] += spent.calls
            used["tokens"] += sum(spent.tokens.values())
            used["cost"] += spent.cost or 0
    return used, limits, seen
