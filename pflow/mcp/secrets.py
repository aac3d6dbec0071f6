"""What of a node's or a flow's writes no client gets: what is declared secret, and in a flow whatever holds it."""

from __future__ import annotations

from pflow.catalog.kinds import FLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pflow.catalog.kinds import Kind
    from pflow.flow.wired import WiredFlow
    from pflow.paths import Path


def secrets_of(kind: Kind) -> set[str]:
    """The names of its writes that are secret; of a flow, its outputs, or the keys of its store where it has none."""
    if kind.origin != FLOW:
        return {name for name, item in kind.interface.writes.items() if "secret" in item.marks}
    plan: WiredFlow = kind.plan  # type: ignore[attr-defined]
    places = list(_secret_places(plan))
    if not plan.outputs:
        return {str(place[0]) for place in places}
    return {name for name, source in plan.outputs.items() if _holds_any(source.paths, places)}


def _secret_places(plan: WiredFlow) -> Iterable[Path]:
    """Where the store of a flow has its secrets: steps write them, or the flow is given them."""
    for wired in plan.steps.values():
        if wired.kind is not None:
            yield from (wired.place_of(key) for key in secrets_of(wired.kind))
    yield from (given.path for given in plan.inputs.values() if given.secret)


def _holds_any(paths: Iterable[Path], places: list[Path]) -> bool:
    return any(path[: len(place)] == place[: len(path)] for path in paths for place in places)
