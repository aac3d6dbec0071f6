"""Which steps move whole under their ids: those whose writes meet what another step puts into the store."""

from __future__ import annotations

from pflow.paths import parse_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.wired import WiredFlow, WiredStep


def find_moved(plan: WiredFlow, apart: set[str]) -> set[str]:
    """The steps that move, with those that are kept `apart` already. Moving one may put it in another's way."""
    moved = set(apart)
    while more := _meeting(plan, moved):
        moved |= more
    return moved


def _meeting(plan: WiredFlow, moved: set[str]) -> set[str]:
    roots: dict[str, set[str]] = {}
    free: list[tuple[str, str]] = []
    for id, wired in plan.steps.items():
        for key in wired.interface.writes:
            is_free = key not in wired.step.output_mappings and id not in moved
            roots.setdefault(_root(wired, key, moved), set()).add(id)
            free += [(id, key)] if is_free else []
        for key in _stored(wired):
            roots.setdefault(id if is_whole(wired, moved) else key, set()).add(id)
    return {id for id, key in free if len(roots[key]) > 1}


def is_whole(wired: WiredStep, moved: set[str]) -> bool:
    """Whether everything of a step stands under its id, its data too."""
    writes = wired.interface.writes
    return wired.id in moved and bool(writes) and not any(key in wired.step.output_mappings for key in writes)


def _root(wired: WiredStep, key: str, moved: set[str]) -> str:
    """The first step of the place that a write goes to."""
    if key in wired.step.output_mappings:
        return str(parse_path(wired.step.output_mappings[key])[0])
    return wired.id if wired.id in moved else key


def _stored(wired: WiredStep) -> list[str]:
    """The data flags that a step puts into the store."""
    reads = wired.interface.reads
    return [key for key in wired.step.inputs if key in reads and reads[key].is_stored]
