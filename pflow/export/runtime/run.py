"""One run of an exported flow: how often each step was visited, and every change to the store."""

from __future__ import annotations

import copy

from pflow.binding.places import assign
from pflow.paths import meet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.paths import Path


class Run:
    """Counts visits by step, keeps the order in which places were written, and lists the writes of a branch."""

    def __init__(self) -> None:
        self.visits: dict[str, int] = {}
        self.order: list[Path] = []
        self.writes: list[tuple[Path, Any]] = []
        self.is_watched = False

    def assign(self, shared: Any, path: Path, value: Any) -> None:
        assign(shared, path, value)
        if self.is_watched:
            self.order = [place for place in self.order if place != path] + [path]
            self.writes.append((path, value))

    def written_at(self, path: Path) -> int:
        """When a place was written, as a number that only grows; -1 where it was there from the start."""
        return max([number for number, place in enumerate(self.order) if meet(place, path)], default=-1)

    def branch(self) -> Run:
        """The run as a branch of a fork begins with it."""
        branch = copy.copy(self)
        branch.order, branch.writes = list(self.order), []
        return branch
