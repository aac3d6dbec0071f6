"""The budget of a run, for those who ask models, in any process of the run."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Callable
from pflow.errors import PflowError
from pflow.words.usage import usage_of

if TYPE_CHECKING:
    from typing import Protocol, TypedDict

    Amounts = dict[str, float]
    """Calls, tokens and cost, each where it has a limit."""

    class Question(TypedDict, total=False):
        """A call of a model that is to begin, or the usage of one that has ended (pflow.words.usage)."""

        call: str
        spent: dict[str, Any]

    class Account(Protocol):
        """The budget as its run's driver keeps it."""

        is_priced: bool

        def charge(self, question: Question) -> Amounts:
            """Count; return what is left. Raises PflowError (79) if the budget is reached."""


BUDGET = {"calls": "max_calls", "tokens": "max_tokens_total", "cost": "max_cost"}
"""The flag of each amount that a budget limits."""

charge: Callable[[Question], Amounts] | None = None
"""Counts in the driver; None without a budget."""

is_priced = False
"""True if money is limited: then no model without a known price is asked."""


gate: Callable[[str, dict[str, Any]], Any] | None = None
"""In a map, asks its limiter (pflow.many.limiter): `begin` comes back when a call may begin, `end` with True if the
call was refused and is to be sent again. Then `charge` is None.
"""


class Call:
    """A call of a model: `with Call(model) as call`, which sets `call.usage` once that is known.

    Raises PflowError (79) if the budget is reached. In a map the call waits for its turn, and a refusal of the provider
    ends the block without an exception: the call is to be made again. `size` is the length of the question.
    """

    def __init__(self, model: str, size: int = 0) -> None:
        self.model = model
        self.size = size
        self.usage: dict[str, Any] = {}
        self._ticket: Any = None

    def __enter__(self) -> Call:
        if gate is not None:
            self._ticket = gate("begin", {"model": self.model, "size": self.size})
        elif charge is not None:
            charge({"call": self.model})
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        usage = self.usage or usage_of(error)
        if gate is None:
            spend(usage)
            return False
        about: dict[str, Any] = {"ticket": self._ticket, "spent": usage, "is_cut": error is not None}
        if isinstance(error, PflowError):
            about |= {name: getattr(error, name) for name in ("message", "hint", "exit", "retry_after", "refusal")}
        return bool(gate("end", about))


def spend(usage: dict[str, Any]) -> None:
    """Count what models took, failed tries too (pflow.words.usage)."""
    if gate is not None and usage:
        gate("spent", {"spent": usage})
    elif charge is not None and usage:
        charge({"spent": usage})


def left() -> Amounts:
    """Return what is left of each amount that has a limit."""
    if gate is not None:
        return dict(gate("left", {}))
    return {} if charge is None else charge({})
