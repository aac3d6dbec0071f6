"""Making the lists of names that TAB offers, at once: nodes, saved flows, models."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def refresh() -> None:
    """A list that cannot be made is made by a later run."""
    for make in _MAKERS:
        try:
            make()
        except Exception:  # a plugin of llm's may raise anything
            pass


def _nodes_and_flows() -> None:
    from pflow.flow.explaining.catalogue_lines import lines, offer_lines

    offer_lines(lines())


def _models() -> None:
    from pflow.models.choose import choose

    choose(None)  # offers them all, whether or not one can be used


_MAKERS: tuple[Callable[[], None], ...] = (_nodes_and_flows, _models)
