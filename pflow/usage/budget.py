"""The budget of a run or a map, for those who ask models, in any process of it."""

from __future__ import annotations

import time

from pflow import TYPE_CHECKING, Any, Callable
from pflow.errors import BAD_DATA, TIMED_OUT, TRY_AGAIN, PflowError
from pflow.usage.usage import usage_of

if TYPE_CHECKING:
    Amounts = dict[str, float]
    """Calls, tokens and cost, each where it has a limit."""

    Gate = Callable[[str, dict[str, Any]], Any]
    """Asks the account of a run (pflow.driver.budget) or the limiter of a map.

    `begin` returns the ticket of a call, or None while it has to wait, `reserved` what it reserves, `end` True if the
    call was refused and is to be sent again.
    """


BUDGET = {"calls": "max_calls", "tokens": "max_tokens_total", "cost": "max_cost"}
"""The flag of each amount that a budget limits."""

BYTES = 4
"""The bytes of UTF-8 that a token of a question stands for, before a model has counted them."""

_MAY_BILL = (TIMED_OUT, TRY_AGAIN, BAD_DATA)
"""The failures of calls that a provider may bill, unless it refused them with a status."""

_TOLD = ("message", "hint", "exit", "retry_after", "refusal", "ends_run")


def unlimited(name: str, question: dict[str, Any]) -> Any:
    """Let each call begin; there is nothing to count."""
    return {}


class Calls:
    """The calls of models that a run, a map or one visit makes; the `gate` may limit them.

    If money is limited (`is_priced`), no model without a known price is asked. A map (`in_map`) ends at a failure that
    each other item would have too.
    """

    def __init__(self, gate: Gate = unlimited, *, is_priced: bool = False, in_map: bool = False) -> None:
        self.gate = gate
        self.is_priced = is_priced
        self.in_map = in_map
        self.made: list[tuple[float, float, dict[str, Any], BaseException | None]] = []
        """The calls so far: their begin and end (time.monotonic), usage, and exception or None."""

    def of_visit(self) -> Calls:
        """Return the calls of one visit, under the same limits."""
        return Calls(self.gate, is_priced=self.is_priced, in_map=self.in_map)

    def spend(self, usage: dict[str, Any]) -> None:
        """Count what models took that were asked without a Call, failed tries too (pflow.usage.usage)."""
        if usage:
            self.gate("spent", {"spent": usage})


class Call:
    """A call of a model: `with Call(calls, model) as call`, which sets `call.usage` once that is known.

    `size` is the bytes of the question, `most` the tokens and dollars that it reserves until it has ended. A call that
    `is_capped` keeps to what is `reserved` for it: as much as is left, `most` at most. Raises PflowError (79) if the
    budget has no room for it. In a map a refusal of the provider ends the block without an exception: the call is to be
    made again. A call that a signal, a time limit or a broken answer ends counts as it was reserved: nobody knows
    what it has cost, and the exception's `usage` says so.
    """

    def __init__(
        self, calls: Calls, model: str, size: int = 0, most: Amounts | None = None, *, is_capped: bool = False
    ) -> None:
        self.calls = calls
        self.about = {"model": model, "size": size, "most": most or {}, "is_capped": is_capped}
        self.usage: dict[str, Any] = {}
        self._ticket: Any = None

    def __enter__(self) -> Call:
        self._ticket = self.calls.gate("begin", {**self.about})
        self._begun = time.monotonic()
        return self

    def reserved(self) -> Amounts:
        """Return what is reserved for the call, of each amount that has a limit."""
        return dict(self.calls.gate("reserved", {"ticket": self._ticket}))

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        about: dict[str, Any] = {"ticket": self._ticket, "spent": self.usage or usage_of(error)}
        about["is_cut"] = error is not None
        may_bill = getattr(error, "exit", 0) in _MAY_BILL and getattr(error, "status", None) is None
        about["is_untold"] = not about["spent"] and (may_bill or not isinstance(error, Exception | None))
        if about["is_untold"]:
            vars(error)["usage"] = {"model": self.about["model"]}
        elif not about["spent"] and getattr(error, "status", None):  # refused: it counts, and costs nothing
            vars(error)["usage"] = {"model": self.about["model"], "cost": 0}
        used = about["spent"] or usage_of(error) or {"model": self.about["model"]}
        self.calls.made.append((self._begun, time.monotonic(), used, error))
        if isinstance(error, PflowError):
            about |= {name: getattr(error, name) for name in _TOLD}
        return self.calls.gate("end", about) is True
