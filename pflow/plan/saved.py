"""The saved flows that planning looks at: none where the library cannot be read, which is said and stops no plan."""

from __future__ import annotations

from functools import cache

from pflow.errors import PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.library.saved import Saved


def saved_flows() -> list[Saved]:
    """Every saved flow that can be read, by name."""
    from pflow.library.saved import list_saved

    try:
        return [each for each in list_saved() if not each.fault]
    except PflowError as error:
        _say_once(error.message)
        return []


@cache
def _say_once(text: str) -> None:
    from pflow.terminal.messages import say

    say("pflow", text)
