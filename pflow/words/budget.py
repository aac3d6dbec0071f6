"""The budget of a run or a map, for those who ask models, in any process of it."""

from __future__ import annotations

import time
from _thread import _local  # threading.local, without its module

from pflow import TYPE_CHECKING, Any, Callable
from pflow.errors import BAD_DATA, TIMED_OUT, TRY_AGAIN, PflowError
from pflow.words.usage import usage_of

if TYPE_CHECKING:
    from typing import Protocol

    Amounts = dict[str, float]
    """Calls, tokens and cost, each where it has a limit."""

    class Account(Protocol):
        """The budget as the driver of a run keeps it (pflow.driver.budget)."""

        is_priced: bool

        def answer(self, name: str, question: dict[str, Any]) -> Any:
            """Answer a `gate`; None to a call that has to wait. Raises PflowError (79) if the budget is reached."""


BUDGET = {"calls": "max_calls", "tokens": "max_tokens_total", "cost": "max_cost"}
"""The flag of each amount that a budget limits."""

BYTES = 4
"""The bytes of UTF-8 that a token of a question stands for, before a model has counted them."""

_MAY_BILL = (TIMED_OUT, TRY_AGAIN, BAD_DATA)
"""The failures of calls that a provider may bill, unless it refused them with a status."""

_TOLD = ("message", "hint", "exit", "retry_after", "refusal", "ends_run")

is_priced = False
"""True if money is limited: then no model without a known price is asked."""

in_map = False
"""True in a map: it ends at a failure that each other item would have too."""

gate: Callable[[str, dict[str, Any]], Any] | None = None
"""Asks the account of a run (pflow.driver.budget) or the limiter of a map; None if nothing is limited.

`begin` returns the ticket of a call once it may begin, `reserved` what it reserves, `end` True if the call was refused
and is to be sent again.
"""

noted: Any = _local()
"""Its `calls`, if there is a list, takes the calls of this thread's visit: their begin and end (time.monotonic), usage,
and exception or None.
"""


class Call:
    """A call of a model: `with Call(model) as call`, which sets `call.usage` once that is known.

    `size` is the bytes of the question, `most` the tokens and dollars that it reserves until it has ended. A call that
    `is_capped` keeps to what is `reserved` for it: as much as is left, `most` at most. Raises PflowError (79) if the
    budget has no room for it. In a map a refusal of the provider ends the block without an exception: the call is to be
    made again. A call that a signal, a time limit or a broken answer ends counts as it was reserved: nobody knows
    what it has cost, and the exception's `usage` says so.
    """

    def __init__(self, model: str, size: int = 0, most: Amounts | None = None, *, is_capped: bool = False) -> None:
        self.about = {"model": model, "size": size, "most": most or {}, "is_capped": is_capped}
        self.usage: dict[str, Any] = {}
        self._ticket: Any = None

    def __enter__(self) -> Call:
        if gate is not None:
            self._ticket = gate("begin", {**self.about})
        self._begun = time.monotonic()
        return self

    def reserved(self) -> Amounts:
        """Return what is reserved for the call, of each amount that has a limit."""
        return {} if gate is None else dict(gate("reserved", {"ticket": self._ticket}))

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        about: dict[str, Any] = {"ticket": self._ticket, "spent": self.usage or usage_of(error)}
        about["is_cut"] = error is not None
        may_bill = getattr(error, "exit", 0) in _MAY_BILL and getattr(error, "status", None) is None
        about["is_untold"] = not about["spent"] and (may_bill or not isinstance(error, Exception | None))
        if about["is_untold"]:
            vars(error)["usage"] = {"model": self.about["model"]}
        elif not about["spent"] and getattr(error, "status", None):  # refused: it counts, and costs nothing
            vars(error)["usage"] = {"model": self.about["model"], "cost": 0}
        if (calls := getattr(noted, "calls", None)) is not None:
            used = about["spent"] or usage_of(error) or {"model": self.about["model"]}
            calls.append((self._begun, time.monotonic(), used, error))
        if gate is None:
            return False
        if isinstance(error, PflowError):
            about |= {name: getattr(error, name) for name in _TOLD}
        return gate("end", about) is True


def spend(usage: dict[str, Any]) -> None:
    """Count what models took, failed tries too (pflow.words.usage)."""
    if gate is not None and usage:
        gate("spent", {"spent": usage})
