"""Which saved flows, or nodes, a text is about: by meaning where an embedding model is configured, else by words."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class About:
    """Something that can be found: its name, and what is said of it."""

    __slots__ = ("name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text


class Match:
    """One of them, how near it is (0 to 1), and whether it is near enough to be offered as what was meant."""

    __slots__ = ("about", "is_meant", "score")

    def __init__(self, about: About, score: float, *, is_meant: bool = False) -> None:
        self.about = about
        self.score = score
        self.is_meant = is_meant


def nearest(text: str, abouts: Sequence[About], *, by_meaning: bool = True) -> list[Match]:
    """Those that have anything to do with the text, best first."""
    words = set(text.lower().split())
    scored = [(len(words & set(f"{each.name} {each.text}".lower().split())) / len(words), each) for each in abouts]
    return [Match(about, score) for score, about in sorted(scored, key=lambda each: -each[0]) if score]
