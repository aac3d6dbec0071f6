"""Planning for a command: its progress on a terminal, its failures in full, its signals in order."""

from __future__ import annotations

import os

from pflow.errors import PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from pflow.plan.planner import Planned
    from pflow.plan.show.offer import Offer


def in_order(work: Callable[[], int]) -> int:
    """Do the work with signals caught: a signal ends the process as itself, --timeout is an error (124)."""
    from pflow.process.signals import Interrupted, catch_signals, die_of

    try:
        catch_signals()
        return work()
    except Interrupted as interrupted:
        if interrupted.signal:
            die_of(interrupted.signal)
        raise PflowError(f"cannot finish: {interrupted.message}", exit=interrupted.exit) from None


def plan(sentence: str, model: str | None, timeout: float | None, *, fresh: bool) -> Planned:
    """Plan; where no try passes, the best one and its findings are said on stderr before the error is raised."""
    from pflow.plan.planner import Unplannable, plan_sentence

    try:
        return plan_sentence(sentence, model=model, fresh=fresh, timeout=timeout, tell=_tell)
    except Unplannable as error:
        from pflow.plan.show.view import draft_text, show

        show(draft_text(error.ir, error.findings))
        raise


def _tell(text: str) -> None:
    """What is going on, for who sits at a terminal."""
    if os.isatty(2):
        from pflow.plan.show.view import show
        from pflow.terminal.colour import colour_of
        from pflow.terminal.columns import clean

        show(colour_of(2).dim(clean(text)) + "\n")


def mention(offer: Offer) -> None:
    """Name a saved flow that may do the job already."""
    from pflow.terminal.messages import say

    does = "does this" if offer.is_same else "may do this"
    say("pflow", f"the saved flow '{offer.saved.name}' {does}: {offer.command}")
