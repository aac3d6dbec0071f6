"""Which steps move whole under their ids, because their keys meet another's."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.values.paths import parse_path

if TYPE_CHECKING:
    from pflow.flow.wired import WiredFlow, WiredStep


def find_moved(flow: WiredFlow, apart: set[str]) -> set[str]:
    """The steps that move whole under their ids: those `apart`, and those whose writes meet what another step stores.

    Moving one may put it in another's way.
    """
    moved = set(apart)
    while more := _meeting(flow, moved):
        moved |= more
    return moved


def _meeting(flow: WiredFlow, moved: set[str]) -> set[str]:
    """The steps that would write where another does, by the roots of their places."""
    writers: dict[str, set[str]] = {}
    free: list[tuple[str, str]] = []
    for id, step in flow.steps.items():
        mapped = step.step.output_mappings
        for key in step.interface.writes:
            root = str(parse_path(mapped[key])[0]) if key in mapped else id if id in moved else key
            writers.setdefault(root, set()).add(id)
            free += [(id, key)] if key not in mapped and id not in moved else []
        for key in step.step.inputs:
            if key in step.interface.reads and step.interface.reads[key].is_stored:
                writers.setdefault(id if is_whole(step, moved) else key, set()).add(id)
    return {id for id, key in free if len(writers[key]) > 1}


def is_whole(step: WiredStep, moved: set[str]) -> bool:
    """Whether all writes of a step go under its id, and so its data flags too."""
    writes = step.interface.writes
    return step.id in moved and bool(writes) and not any(key in step.step.output_mappings for key in writes)
