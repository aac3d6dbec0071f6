"""A shelf: things by their places in a store, found by every place that meets theirs."""

from __future__ import annotations

from pflow.paths import meet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.paths import Path

    Things = dict[Path, list[tuple[Path, Any]]]


class Shelf:
    """Things at places: those at a key as a whole, and those inside one."""

    def __init__(self) -> None:
        self._whole: Things = {}
        self._inside: Things = {}

    def add(self, place: Path, thing: Any) -> None:
        root, second = place[:1], place[:2]
        if root == second:
            self._whole.setdefault(root, []).append((place, thing))
            return
        self._inside.setdefault(root, []).append((place, thing))
        self._inside.setdefault(second, []).append((place, thing))

    def meeting(self, place: Path) -> Iterator[Any]:
        """What stands at places that meet this one, the last that was added first."""
        for group in (self._inside.get(place[:2], []), self._whole.get(place[:1], [])):
            for other, thing in reversed(group):
                if meet(other, place):
                    yield thing
