"""The writes that reach each step of a flow without branches, kept once for all steps."""

from __future__ import annotations

from _bisect import bisect_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.wired import Write
    from pflow.paths import Path

    Writes = dict[tuple[str, str], Write]


class Chain:
    """Who wrote each name, and at which of the steps in a row."""

    def __init__(self) -> None:
        self.writes: dict[Path, list[Write]] = {}
        self.places: dict[Path, list[int]] = {}
        self.below: dict[Path, list[Path]] = {}
        """The longer names that begin with a name."""

    def add(self, name: Path, place: int, write: Write) -> None:
        if name not in self.writes:
            for length in range(1, len(name)):
                self.below.setdefault(name[:length], []).append(name)
        self.writes.setdefault(name, []).append(write)
        self.places.setdefault(name, []).append(place)


class Earlier:
    """The steps that stand before a place in a row."""

    def __init__(self, order: dict[str, int], place: int) -> None:
        self.order = order
        self.place = place

    def __contains__(self, id: object) -> bool:
        return id in self.order and self.order[id] < self.place


class Before:
    """The names as they stand before one of the steps: read like a dict of Writes by name."""

    def __init__(self, chain: Chain, place: int) -> None:
        self.chain = chain
        self.place = place

    def get(self, name: Path, default: Any = None) -> Any:
        """The writes of a name: the latest, and those that it leaves standing."""
        found: list[Write] = []
        at = bisect_left(self.chain.places.get(name, ()), self.place)
        while at > 0:
            at -= 1
            write = self.chain.writes[name][at]
            found.append(write)
            if not write.is_data:
                break
        return {(write.step, write.key): write for write in reversed(found)} or default

    def below(self, name: Path) -> Iterator[Writes]:
        """The writes of each longer name that begins with this one."""
        return (writes for each in self.chain.below.get(name, ()) if (writes := self.get(each)) is not None)

    def items(self) -> Iterator[tuple[Path, Writes]]:
        for name in self.chain.writes:
            writes = self.get(name)
            if writes is not None:
                yield name, writes

    def __iter__(self) -> Iterator[Path]:
        return (name for name, _ in self.items())
