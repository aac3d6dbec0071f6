"""What is known of the store between two stages of a pipe: what is there, what may be, and what the pipe carries."""

from __future__ import annotations

from pflow.paths import meet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.paths import Path

NOTHING: Path = ()
"""What a pipe carries from which nothing was written yet."""


class State:
    """`carried` is None where that cannot be known. `is_open` says that anything may have been written."""

    def __init__(self) -> None:
        self.written: list[Path] = []
        self.maybe: list[Path] = []
        self.carried: Path | None = NOTHING
        self.is_open = False

    def write(self, place: Path, *, is_sure: bool) -> None:
        known = self.written if is_sure else self.maybe
        if place in known:
            known.remove(place)
        known.append(place)

    def surely_has(self, place: Path) -> bool:
        """Whether something stands there for certain: a write to it, or to a place inside it."""
        return any(each[: len(place)] == place for each in self.written)

    def may_have(self, place: Path) -> bool:
        return self.is_open or any(meet(each, place) for each in [*self.written, *self.maybe])

    def latest(self, places: tuple[Path, ...]) -> Path | None:
        """The place of several that was surely written last; None where that cannot be told."""
        if self.is_open or any(meet(each, place) for each in self.maybe for place in places):
            return None
        for each in reversed(self.written):
            for place in places:
                if meet(each, place):
                    return place
        return None

    def may_carry(self, place: Path) -> bool:
        """Whether the pipe may carry this place, a part of it, or what holds it."""
        return self.carried is None or (self.carried != NOTHING and meet(self.carried, place))
