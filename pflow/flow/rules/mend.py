"""Mending: a flow with misspelt or doubled ids as it was most likely meant, so that one slip gives one finding."""

from __future__ import annotations

from pflow.flow.rules.names import meant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.flow import Flow
    from pflow.paths import Path


_GUESSED = 50
"""How many unknown ids are held against all others: where there are more, it is not for a slip."""


def edge_slips(flow: Flow) -> dict[str, str | None]:
    """The ids in edges that no step has, each with the one that was most likely meant, if any."""
    ids = {step.id: None for step in flow.steps}
    unknown = dict.fromkeys(end for edge in flow.edges for end in (edge.source, edge.target) if end not in ids)
    return {end: meant(end, ids) if n < _GUESSED else None for n, end in enumerate(unknown)}


def mended(flow: Flow, slips: dict[str, str | None]) -> Flow | None:
    """The flow with its edges between the steps that they were meant for; None where no edge is misspelt."""
    if not any(slips.values()):
        return None
    import copy

    from pflow.flow.flow import Edge

    mended = copy.copy(flow)
    mended.edges = [
        Edge(slips.get(edge.source) or edge.source, slips.get(edge.target) or edge.target, edge.action, edge.place)
        for edge in flow.edges
    ]
    return mended


def doubled_ids(flow: Flow) -> set[str]:
    """The ids that several steps have."""
    ids = [step.id for step in flow.steps]
    return {id for id in ids if ids.count(id) > 1} if len(set(ids)) < len(ids) else set()


def hidden(flow: Flow) -> Iterator[tuple[Flow, list[Path]]]:
    """For the steps that a later one of the same id hides: flows in which they stand in its place, and their places."""
    import copy

    last = {step.id: step for step in flow.steps}
    left = [step for step in flow.steps if last[step.id] is not step]
    while left:
        shown = {step.id: step for step in reversed(left)}
        left = [step for step in left if shown[step.id] is not step]
        variant = copy.copy(flow)
        variant.steps = [shown.get(id, step) for id, step in last.items()]
        yield variant, [step.place for step in shown.values()]
