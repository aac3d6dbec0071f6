"""Which saved flows, or nodes, a text is about: by meaning where an embedding model is configured, else by words."""

from __future__ import annotations

from time import monotonic

from pflow.library.lexical import Ranking
from pflow.library.sense import is_same_sense
from pflow.library.words import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pflow.library.library import Saved
    from pflow.library.vectors import Vector

_MEANING = 0.7
"""What meaning weighs, words weighing the rest."""
_ENOUGH = 12
"""So many vectors have a middle that says what all of them have in common."""
_NOTHING = 1e-9
_LONGEST = 2_000
"""Characters of a text that a model is sent: small ones refuse more."""
_LEAST = 0.3
"""What has no word of the text is so much like it at least, or has nothing to do with it."""
_ASKED, _TOLD, _AHEAD = 0.65, 0.65, 0.2
"""What is meant has so much of the text's weight, the text so much of its, and it is so far ahead of all others."""


_PAUSE = 120.0
"""Seconds for which a model that failed is not asked again."""
_failed: dict[str, float] = {}


class About:
    """Something that can be found: its name, what is said of it, and `more`, which tells less."""

    __slots__ = ("more", "name", "text")

    def __init__(self, name: str, text: str, more: str = "") -> None:
        self.name = name
        self.text = text
        self.more = more


class Match:
    """One of them, how near it is (0 to 1), and whether it is near enough to be offered as what was meant."""

    __slots__ = ("about", "is_meant", "score")

    def __init__(self, about: About, score: float, *, is_meant: bool = False) -> None:
        self.about = about
        self.score = score
        self.is_meant = is_meant


def about_flow(saved: Saved) -> About:
    """A saved flow, as it can be found: also by what its inputs are, and by its steps."""
    docs = [given.get("description") for given in saved.inputs.values()]
    more = [*saved.inputs, *(doc for doc in docs if isinstance(doc, str)), *saved.types]
    return About(saved.name, saved.description, " ".join(more))


def nearest(text: str, abouts: Sequence[About], *, by_meaning: bool = True) -> list[Match]:
    """Those that have anything to do with the text, best first.

    An embedding model that fails is said on stderr, and the words alone count.
    """
    from pflow.errors import PflowError

    if by_meaning and abouts:
        from pflow.models.embed import configured

        model = configured()
        try:
            if model and _may_ask(model):
                return nearest_by_meaning(text, abouts, model)
        except PflowError as error:
            from pflow.terminal.messages import say

            _failed[model or ""] = monotonic()
            say("pflow", f"{error.message}: the nearest are found by their words alone")
    return _matches(text, abouts, None)


def _may_ask(model: str) -> bool:
    """Not a model that failed a moment ago: whoever asks for several things waits for it once, and is told once."""
    return model not in _failed or monotonic() - _failed[model] > _PAUSE


def nearest_by_meaning(text: str, abouts: Sequence[About], model: str) -> list[Match]:
    """The same by meaning and words. Raises PflowError where the embedding model fails."""
    names = [about.name.replace("-", " ").replace("_", " ") for about in abouts]
    said = [about.text or about.more or name for about, name in zip(abouts, names, strict=True)]
    *vectors, asked = _vectors(model, [*names, *said, text])
    by_name, by_text = _likeness(asked, vectors[: len(names)]), _likeness(asked, vectors[len(names) :])
    return _matches(text, abouts, [(name + text) / 2 for name, text in zip(by_name, by_text, strict=True)])


def _vectors(model: str, texts: list[str]) -> list[Vector]:
    """Of each text; all but the last are kept, and of long ones the beginning counts."""
    from pflow.library.vectors import texts_as_vectors

    return texts_as_vectors(model, [text[:_LONGEST] for text in texts], len(texts) - 1)


def _matches(text: str, abouts: Sequence[About], likeness: list[float] | None) -> list[Match]:
    asked = _asked(text)
    ranking = Ranking(abouts)
    by_words = ranking.scores(asked)
    scores = by_words
    if likeness is not None:
        scores = [(1 - _MEANING) * words + _MEANING * like for words, like in zip(by_words, likeness, strict=True)]
    order = sorted(range(len(abouts)), key=lambda number: (-scores[number], abouts[number].name))
    near = [number for number in order if by_words[number] or (likeness is not None and likeness[number] >= _LEAST)]
    matches = [Match(abouts[number], min(1.0, scores[number])) for number in near]
    if matches:
        first, *others = near
        ahead = scores[first] - max((scores[other] for other in others), default=0.0)
        matches[0].is_meant = _is_said(text, abouts[first]) or (
            ahead >= _AHEAD
            and ranking.heard(first, asked) >= _ASKED
            and ranking.told(first, asked) >= _TOLD
            and is_same_sense(text, abouts[first].text)
        )
    return matches


def _is_said(text: str, about: About) -> bool:
    """Whether a text is something's own name or description, white space, case and values aside."""
    own = _plain(text)
    return bool(own) and own in (_plain(about.name), _plain(about.name.replace("-", " ")), _plain(about.text))


def _plain(text: str) -> list[str]:
    return _without_values(text).casefold().rstrip(" .!?").split()


def _asked(text: str) -> list[str]:
    """The words of a text that mean something; of a path its ending, of other values nothing."""
    return (words(_without_values(text)) + _endings(text)) or words(text)


def _endings(text: str) -> list[str]:
    from pflow.library.named import PATH, values_in

    paths = [value.text for value in values_in(text) if value.kind == PATH]
    return [ending.lower() for path in paths if (ending := path.rpartition("/")[2].rpartition(".")[2]) and "." in path]


def _without_values(text: str) -> str:
    from pflow.library.named import QUOTED, values_in

    for value in reversed(values_in(text)):
        if value.kind != QUOTED:
            text = f"{text[: value.start]} {text[value.end :]}"
    return text


def _likeness(asked: Vector, vectors: list[Vector]) -> list[float]:
    """How alike each vector is to what was asked, 0 to 1, without what all of them have in common."""
    from operator import mul

    middle = _middle(vectors) if len(vectors) >= _ENOUGH else [0.0] * len(asked.numbers)
    around = sum(map(mul, middle, middle))
    goal = [number / asked.length - centre for number, centre in zip(asked.numbers, middle, strict=True)]
    goal_length, goal_middle = sum(map(mul, goal, goal)) ** 0.5, sum(map(mul, goal, middle))
    found = []
    for vector in vectors:  # (vector - middle) · goal, over their lengths
        own_length = max(0.0, 1 - 2 * sum(map(mul, vector.numbers, middle)) / vector.length + around) ** 0.5
        likeness = sum(map(mul, vector.numbers, goal)) / vector.length - goal_middle
        found.append(max(0.0, likeness / (own_length * goal_length)) if own_length * goal_length > _NOTHING else 0.0)
    return found


def _middle(vectors: list[Vector]) -> list[float]:
    from operator import mul

    units = [1 / vector.length / len(vectors) for vector in vectors]
    return [sum(map(mul, column, units)) for column in zip(*(vector.numbers for vector in vectors), strict=True)]
