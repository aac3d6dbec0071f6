"""The limiter of a map lets calls of models begin: so many at once, so many a second, and within the budget."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Any

from pflow.driver.budget import Budget
from pflow.errors import BAD_CONFIG, DENIED, TRY_AGAIN, UNAVAILABLE, PflowError
from pflow.values.usage import BYTES

START = 8
"""Calls in flight before the first answer."""
MOST = 256
"""The most calls, and items that only wait, in flight, unless --jobs says more."""
_FIRST_RATE = 100.0
"""Calls a second at first; twice as many after each second without a refusal. A faster start had twice as many refused.
"""
_LATE = 0.1
"""The most seconds of delay that the limiter makes up for by beginning the next calls early."""
_STEP, _STEADY = 0.0001, 60
"""The rate grows by this part with each call, twice as fast after each so many calls without a refusal."""
_TRUST, _SURE = 0.01, 14
"""A refusal adds 1 to the doubt that refusals come from a rate limit, and an answer takes `_TRUST` away. A true
limit is found before the doubt reaches `_SURE`; after that, refusals count as random."""
_PATIENCE = 600.0
"""Seconds of nothing but refusals after which the map stops; its items stay to do."""
_LONGEST_WAIT = 3600
"""Seconds: if a provider asks for more, the map stops."""
_HOPELESS = (DENIED, BAD_CONFIG, UNAVAILABLE)
_DENIED = 3
"""Refused keys, unknown models and missing servers in a row that stop the map."""


class _Model:
    """The calls of one model: at most `window` at once, `rate` a second, and none before `blocked_until`.

    The window and the rate grow with each success, and shrink once for all refusals of the calls in flight. Between two
    refusals a provider has taken as many calls as its limit allows: that is the rate, from the first refusal on.
    If refusals still go on, they are random, and lower the rate no more; it is then at least one call in each wait.
    """

    def __init__(self, window: float, now: float) -> None:
        self.window = window
        self.rate: float | None = None
        self.waiting: deque[tuple[dict[str, Any], Callable[[Any], None]]] = deque()
        """The calls that wait, each with the function that takes its ticket."""
        self.in_flight = 0
        self.begun = self.due = self.blocked_until = self.refused_at = now
        self.recent: deque[float] = deque(maxlen=32)
        self.sent = self.steady = self.denied = 0
        self.wait, self.doubt = 0.5, 0.0
        self.refused_since: float | None = None
        self.refusal = ""

    def answered(self, most: int) -> None:
        is_full = self.waiting or self.in_flight + 1 >= self.window
        if is_full and self.window < most:
            self.window = min(self.window + 1, most)
        self.denied, self.wait, self.refused_since = 0, 0.5, None
        self.doubt = max(self.doubt - _TRUST, 0)

    def refused(self, at: float, now: float, retry_after: float | None) -> None:
        """Take note that a call which began `at` was refused."""
        self.refused_since = now if self.refused_since is None else self.refused_since
        self.sent -= at >= self.begun
        self.blocked_until = max(self.blocked_until, now + (self.wait if retry_after is None else retry_after))
        if at < self.refused_at:
            return
        # Refusals without an answer between them count once.
        self.doubt = min(self.doubt + (self.wait == 0.5), _SURE + 4)
        took = max(now - self.begun, 0.001)
        if self.rate is None:
            self.window = min(self.window, self.in_flight + 1) * 0.7
            self.rate = len(self.recent) / max(now - self.recent[0], 0.1)
            self.begun, self.sent = now, 0
        else:
            self.window *= 0.97
            lower = max(self.sent / took * 0.98, self.rate / 2)
            wait = max(self.wait if retry_after is None else retry_after, 1)
            # `took` includes the waits, so a provider that refuses at random would lower the rate to nothing.
            self.rate = lower if self.doubt < _SURE else max(self.rate, 1 / wait)
            if took > 60:  # old calls count less and less
                self.begun, self.sent = now - took / 2, self.sent // 2
        self.window = max(self.window, 1)
        self.refused_at, self.steady, self.wait = now, 0, min(self.wait * 2, 60)

    def pace(self, now: float) -> float:
        """Return the seconds until the call after the one that begins now."""
        if self.rate is None:
            return float(2 ** (self.begun - now) / _FIRST_RATE)
        if self.waiting:
            self.steady += 1
            self.rate *= 1 + min(_STEP * 2 ** (self.steady // _STEADY), 1)
        return 1 / self.rate


class Limiter:
    """Lets calls begin, in the driver. `budget` counts what they take, `stopped` is why the map makes no more.

    Without `jobs` a model's window begins small, and grows up to MOST. `rpm` and `tpm` are of each model.
    """

    def __init__(
        self, budget: Budget, *, rpm: float | None = None, tpm: float | None = None,
        jobs: int | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.budget = budget
        self.stopped: PflowError | None = None
        self._rpm, self._tpm = rpm, tpm
        self._most, self._jobs, self._clock = jobs or MOST, jobs, clock
        self._models: dict[str, _Model] = {}
        self._open: dict[int, tuple[str, float, float]] = {}
        """The calls in flight by ticket: model, when they began, and the tokens of their questions."""
        self._ended = 0.0
        """When the last call ended."""

    def items(self) -> int:
        """Return how many items are useful in flight."""
        widest = max((model.window for model in self._models.values()), default=START)
        return self._jobs or min(self._most, int(widest * 1.25) + START)

    def has_waiting(self) -> bool:
        """Return True if calls wait for their turn."""
        return any(model.waiting for model in self._models.values())

    def waits(self) -> tuple[str, float]:
        """Return what the map waits for and how many seconds: `429 from HOST, next try in`; empty if it goes on."""
        now = self._clock()
        waits = []
        for model in self._models.values():
            if model.waiting:
                what = f"{model.refusal}, next try in" if model.blocked_until > model.due else "next call in"
                waits.append((max(model.blocked_until, model.due) - now, what))
        for name, began, _ in islice(self._open.values(), 1):
            waits.append((now - max(began, self._ended), f"no answer from {name} for"))
        seconds, what = max(waits, default=(0.0, ""))
        return (what, seconds) if seconds >= 1 else ("", 0.0)

    def answer(self, name: str, question: Any, reply: Callable[[Any], None]) -> None:
        """Answer a question that Calls asks in a worker, at once or later."""
        if name == "begin":
            self.begin(question, reply)
        elif name == "lost":
            self.lost(question)
            reply(None)
        else:
            reply(self.end(question) if name == "end" else self.budget.answer(name, question))

    def begin(self, question: dict[str, Any], reply: Callable[[Any], None]) -> None:
        """Reply with a ticket once a call may begin, or with a PflowError (79, 77)."""
        model = question["model"]
        if model not in self._models:
            self._models[model] = _Model(self._jobs or START, self._clock())
        self._models[model].waiting.append((question, reply))
        self.begin_due()

    def end(self, about: dict[str, Any]) -> bool:
        """Take the end of a call; return True if it was refused and is to be sent again."""
        if about["ticket"] not in self._open:
            return False
        name, at, tokens = self._open.pop(about["ticket"])
        model, now, exit = self._models[name], self._clock(), about.get("exit")
        model.in_flight -= 1
        self._ended = now
        spent = self.budget.end(about)
        if self._tpm:
            model.due += (spent["tokens"] - tokens) * 60 / self._tpm
        wait = about.get("retry_after")
        if refusal := about.get("refusal"):
            self.budget.used["calls"] -= 0 if about["spent"] else spent["calls"]
            model.refusal = refusal
            model.refused(at, now, wait)
            if now - (model.refused_since or now) >= _PATIENCE or (wait or 0) > _LONGEST_WAIT:
                when = time.strftime("%Y-%m-%d %H:%M", time.localtime(time.time() + model.blocked_until - now))
                self._stop(PflowError(f"cannot ask '{name}' before {when}: {refusal}", exit=TRY_AGAIN))
        elif exit in _HOPELESS:
            model.denied += 1
            if model.denied == _DENIED and self.stopped is None:
                self._stop(PflowError(about["message"], hint=about["hint"], exit=exit))
        elif not about["is_cut"]:
            model.answered(self._most)
        self.begin_due()
        return bool(refusal)

    def lost(self, owner: int) -> None:
        """End all calls of a process that is gone. If its items were given up, nothing else would end them."""
        for ticket in self.budget.lost(owner):
            self._models[self._open.pop(ticket)[0]].in_flight -= 1
        for model in self._models.values():
            model.waiting = deque(each for each in model.waiting if owner not in each[0]["owner"])

    def begin_due(self) -> float | None:
        """Let the calls begin that are due; return the seconds until the next is, None if it waits for an answer."""
        soonest = None
        for name, model in self._models.items():
            while model.waiting and model.in_flight < int(model.window):
                now = self._clock()
                due = max(model.blocked_until, model.due)
                if now < due:
                    soonest = due - now if soonest is None else min(soonest, due - now)
                    break
                try:
                    ticket = self.budget.begin(model.waiting[0][0])
                except PflowError as error:
                    self.stopped = self.stopped or error
                    break
                if ticket is None:
                    break
                self._let_begin(ticket, name, model, now)
        if self.stopped is not None:
            for model in self._models.values():
                while model.waiting:
                    model.waiting.popleft()[1](self.stopped)
        return soonest

    def _let_begin(self, ticket: int, name: str, model: _Model, now: float) -> None:
        question, reply = model.waiting.popleft()
        tokens = question.get("size", 0) / BYTES
        pace = max(model.pace(now), 60 / self._rpm if self._rpm else 0, tokens * 60 / self._tpm if self._tpm else 0)
        model.due = max(model.due, now - _LATE) + pace
        model.recent.append(now)
        model.sent += 1
        model.in_flight += 1
        self._open[ticket] = (name, now, tokens)
        reply(ticket)

    def _stop(self, error: PflowError) -> None:
        error.ends_run = error.is_permanent = True
        self.stopped = error
