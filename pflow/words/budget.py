"""The budget of a run, as those see it who ask models: in whatever process of the run, they ask its driver."""

from __future__ import annotations

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ask: Callable[[str, Any], Any] | None = None
"""How to ask the driver; None where there is no budget."""

is_priced = False
"""Whether it is one of money, under which no model is asked whose price is unknown."""


def begin_call(model: str) -> None:
    """Count one more call of a model, which is to begin now. Raises PflowError (79) where the budget is reached."""
    if ask is not None:
        ask("budget", {"call": model})


def spend(usage: dict[str, Any]) -> None:
    """Count what was asked of models, be it for nothing (pflow.words.usage)."""
    if ask is not None and usage:
        ask("budget", {"spent": usage})


def left() -> dict[str, float]:
    """What is left: calls, tokens and cost, each where it has a limit."""
    return {} if ask is None else ask("budget", {})
