"""Names that are near to one another: what a misspelt one was meant to be."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def is_near(one: str, other: str) -> bool:
    """Whether two names differ as a slip of the fingers does: in one letter, in longer ones in two."""
    shorter = min(len(one), len(other))
    limit = 0 if shorter < 3 else 1 if shorter < 6 else 2
    return one != other and abs(len(one) - len(other)) <= limit and _distance(one, other) <= limit


def nearest(name: str, there: Iterable[str]) -> str | None:
    """The name that this one is near to, if there is one."""
    near = [(_distance(name, other), other) for other in there if is_near(name, other)]
    return min(near)[1] if near else None


def _distance(one: str, other: str) -> int:
    """How many letters must be put in, left out, changed or swapped with their neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, before_above = row, before
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before_above[j - 2] + 1)
            row.append(cost)
        before = above
    return row[-1]
