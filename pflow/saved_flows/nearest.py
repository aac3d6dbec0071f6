"""Finding the saved flows or nodes that a text is about: by words (BM25), or by meaning with an embedding model."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from pflow.errors import PflowError
from pflow.models.embed import configured, similarities
from pflow.saved_flows.saved import SavedFlow
from pflow.terminal.messages import say

_SATURATION, _LENGTH = 1.2, 0.75
"""BM25's k1 and b."""

_COMMON_WORDS = """
a about an and any are as at be by can do does for from have how i in into is it its me my of on or our out please so
that the their them then there these they this those to us was we what when where which who why will with you your
"""
COMMON = frozenset(_COMMON_WORDS.split())
_WORD = re.compile(r"[^\W_]+")
_ENDING = re.compile(r"(?<=\w{3})(?:i[sz](?:e|es|ed|er|ers|ing)|ations?|ings?|ies|ied|ers?|ed|es|s|e|y)$")

_LONGEST = 2_000
"""The most characters of a text that go to an embedding model: small models refuse a longer text."""

_failed: set[str] = set()
"""The embedding models that failed in this process; they are not asked again."""


@dataclass(frozen=True)
class SearchTarget:
    """A flow or node that can be found: its name, its description, and `more` words to find it by."""

    name: str
    text: str
    more: str = ""


def target_of_flow(saved: SavedFlow) -> SearchTarget:
    """Return the target for a saved flow, which can also be found by the names of its inputs and steps."""
    docs = [declared.get("description") for declared in saved.inputs.values()]
    more = [*saved.inputs, *(doc for doc in docs if isinstance(doc, str)), *saved.types]
    return SearchTarget(saved.name, saved.description, " ".join(more))


def nearest(text: str, abouts: Sequence[SearchTarget]) -> dict[str, float]:
    """Return the names of targets near to a text, the nearest first, each with a score above 0, at most 1.

    They are found by an embedding model, if one is configured. Without one, or with a message if it fails, they are
    found by words.
    """
    model = configured() if abouts else None
    if model is None or model in _failed:
        return nearest_by_words(text, abouts)
    try:
        return nearest_by_meaning(text, abouts, model)
    except PflowError as error:
        _failed.add(model)
        say("pflow", f"{error.message}: the words decide which are nearest")
        return nearest_by_words(text, abouts)


def nearest_by_meaning(text: str, abouts: Sequence[SearchTarget], model: str) -> dict[str, float]:
    """Return the nearest by the cosine of their vectors. Raises PflowError if the embedding model fails."""
    described = [_plain_name(about.name) + (f": {about.text}" if about.text else "") for about in abouts]
    return _ranked(abouts, similarities(model, text[:_LONGEST], [each[:_LONGEST] for each in described]))


def nearest_by_words(text: str, abouts: Sequence[SearchTarget]) -> dict[str, float]:
    """Return the nearest by BM25. A target's score is divided by the weight of all words of the text."""
    counts = [Counter(words(f"{_plain_name(about.name)} {about.text} {about.more}")) for about in abouts]
    lengths = [sum(count.values()) for count in counts]
    mean = sum(lengths) / len(lengths) if any(lengths) else 1
    norms = [_SATURATION * (1 - _LENGTH + _LENGTH * length / mean) for length in lengths]
    scores, total = [0.0] * len(abouts), 0.0
    for word in set(words(text)):
        holders = [at for at, count in enumerate(counts) if word in count]
        weight = log(1 + (len(abouts) - len(holders) + 0.5) / (len(holders) + 0.5))
        total += weight
        for at in holders:
            scores[at] += weight * counts[at][word] * (_SATURATION + 1) / (counts[at][word] + norms[at])
    return _ranked(abouts, [score / (total or 1) for score in scores])


def words(text: str) -> list[str]:
    """Split a text into lower-case words without accents and endings; split a script without case into letter pairs."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text).casefold() if not unicodedata.combining(c))
    found: list[str] = []
    for word in _WORD.findall(plain):
        if word.upper() == word and not word.isdecimal():
            found += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        elif word not in COMMON:
            found.append(_ENDING.sub("", word))
    return found


def _ranked(abouts: Sequence[SearchTarget], scores: Sequence[float]) -> dict[str, float]:
    found = sorted((-score, about.name) for about, score in zip(abouts, scores, strict=True) if score > 0)
    return {name: min(1.0, -score) for score, name in found}


def _plain_name(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")
