"""The budget of a run, for those who ask models, in any process of the run."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Callable

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


charge: Callable[[Question], Amounts] | None = None
"""Counts in the driver; None without a budget."""

is_priced = False
"""True if money is limited: then no model without a known price is asked."""


def begin_call(model: str) -> None:
    """Count one more call of a model, before it begins. Raises PflowError (79) if the budget is reached."""
    if charge is not None:
        charge({"call": model})


def spend(usage: dict[str, Any]) -> None:
    """Count what models took, failed tries too (pflow.words.usage)."""
    if charge is not None and usage:
        charge({"spent": usage})


def left() -> Amounts:
    """Return what is left of each amount that has a limit."""
    return {} if charge is None else charge({})
