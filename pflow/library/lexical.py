"""Ranking by words: BM25 over names and texts, with synonyms, and with what looks alike for words that nobody used."""

from __future__ import annotations

from math import log

from pflow.library.synonyms import synonyms
from pflow.library.words import trigrams, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pflow.library.nearest import About

_NAME = 2.2
"""How much a word of a name counts, against one of the text."""
_MORE = 0.3
"""The same for what tells less."""
_SATURATION = 0.5
_LENGTH = 0.4
_FAINT = frozenset(
    words("tell show find list say look check write read get new good time thing people file day text name number work")
)
"""What people say in many requests, whatever these are about."""
_FAINTNESS = 0.4
_ALIKE = 0.54
"""Of the trigrams of two words, the part that they share, from which on one may be a misspelling of the other."""


class Ranking:
    """How near each of some things is to a query, 0 to 1, and how much of it the query tells."""

    def __init__(self, abouts: Sequence[About]) -> None:
        self._counts = [_counts(about) for about in abouts]
        lengths = [sum(counts.values()) for counts in self._counts]
        mean = (sum(lengths) / len(lengths) if lengths else 0) or 1
        self._lengths = [1 - _LENGTH + _LENGTH * length / mean for length in lengths]
        self._holders: dict[str, list[int]] = {}
        for number, counts in enumerate(self._counts):
            for word in counts:
                self._holders.setdefault(word, []).append(number)

    def scores(self, query: Sequence[str]) -> list[float]:
        """The part of the query's weight that each thing has."""
        scores = [0.0] * len(self._counts)
        total = 0.0
        for word in dict.fromkeys(query):
            weight, near = self._weighed(word)
            total += weight
            for number, part in self._parts_of(near).items():
                scores[number] += part * weight
        return [score / (total or 1.0) for score in scores]

    def heard(self, number: int, query: Sequence[str]) -> float:
        """The part of the query's weight that one thing has, without what only looks alike."""
        asked = dict.fromkeys(query)
        total = sum(map(self.weight, asked)) or 1.0
        parts = {word: self._parts_of({word: 1.0, **self._synonyms(word)}).get(number, 0.0) for word in asked}
        return sum(part * self.weight(word) for word, part in parts.items()) / total

    def told(self, number: int, query: Sequence[str]) -> float:
        """The part of a thing's own weight that the query has, without what only looks alike."""
        known = {near for word in query for near in (word, *self._synonyms(word))}
        own = self._counts[number]
        total = sum(map(self.weight, own)) or 1.0
        return sum(self.weight(word) for word in own if word in known) / total

    def weight(self, word: str) -> float:
        """How much a word tells: the rarer the more."""
        holders = len(self._holders.get(word, ()))
        return log(1 + (len(self._counts) - holders + 0.5) / (holders + 0.5)) * (_FAINTNESS if word in _FAINT else 1.0)

    def _parts_of(self, words: dict[str, float]) -> dict[int, float]:
        """For each thing that has one of these words, how much of it (0 to 1), as near as each of them is."""
        parts: dict[int, float] = {}
        for near, nearness in words.items():
            for number in self._holders.get(near, ()):
                count = self._counts[number][near]
                part = nearness * min(1.0, count * (1 + _SATURATION) / (count + _SATURATION * self._lengths[number]))
                parts[number] = max(parts.get(number, 0.0), part)
        return parts

    def _weighed(self, word: str) -> tuple[float, dict[str, float]]:
        """How much a word of a query tells, and what stands for it: what many things have tells no more for that."""
        near = self._near(word)
        weights = {other: self.weight(other) for other in near}
        weight = self.weight(word) if word in self._holders or not near else max(weights.values())
        return weight, {word: 1.0, **{other: near[other] * min(1.0, weights[other] / weight) for other in near}}

    def _near(self, word: str) -> dict[str, float]:
        near = self._synonyms(word)
        if near or word in self._holders or len(word) < 4:
            return near
        return self._alike(word)

    def _synonyms(self, word: str) -> dict[str, float]:
        return {other: nearness for other, nearness in synonyms(word).items() if other in self._holders}

    def _alike(self, word: str) -> dict[str, float]:
        """The words that one may be a misspelling of, or a part of."""
        own = trigrams(word)
        found = {}
        for other in self._holders:
            if len(other) < 4 or abs(len(other) - len(word)) > max(3, len(word) // 2):
                continue
            theirs = trigrams(other)
            alike = 2 * len(own & theirs) / (len(own) + len(theirs))
            if alike >= _ALIKE or other.startswith(word) or (word.startswith(other) and len(other) > 4):
                found[other] = max(alike, 0.5)
        return found


def _counts(about: About) -> dict[str, float]:
    counts: dict[str, float] = {}
    for word in words(about.text):
        counts[word] = counts.get(word, 0.0) + 1
    for word in set(words(about.name)):
        counts[word] = counts.get(word, 0.0) + _NAME
    for word in set(words(about.more)):
        counts[word] = counts.get(word, 0.0) + _MORE
    return counts
