"""Where the values of a sentence stand: the words around each, and what these say of it."""

from __future__ import annotations

from itertools import pairwise

from pflow.library.named import NUMBER, values_in
from pflow.library.words import denies, is_silent, runs, stem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.library.named import Named

TO = frozenset(map(stem, ("to", "into", "as", "out", "output", "target", "destination", "dest", "result")))
WRITING = frozenset(map(stem, ("write", "written", "save", "saved", "store", "export", "put")))

_BEFORE, _AFTER = 3, 2
"""Words around a value that may say what it is."""
_JOINING = frozenset(("and", "or", "with", "by", "x"))
"""What stands between the values of one listing."""
_ENDS = str.maketrans(dict.fromkeys(",;:.!?", "\n"))


class Place:
    """A value of the sentence, the stems of the words before it, nearest first, and of those after it."""

    def __init__(self, named: Named, gap: str, follows: str, last: Place | None) -> None:
        before, after = _words_before(gap), _words_after(follows)
        is_listed = last is not None and _joins(gap)
        goes_on = last if is_listed or not set(gap) & set(",;:.!?") else None
        self.named = named
        self.before = [stem(word) for word in before[::-1][:_BEFORE]]
        self.after = [stem(word) for word in after[:_AFTER]]
        self.listing: list[Place] = last.listing if last is not None and is_listed else []
        """All values of its listing, itself among them: `a, b and c`."""
        self.listing.append(self)
        is_count = named.kind == NUMBER and after and after[0] not in _JOINING and not is_silent(after[0])
        self.counts = stem(after[0]) if is_count else None
        """What a number is the number of: `3 sentences`."""
        self.is_denied: bool = denies(before) or (goes_on is not None and goes_on.is_denied)
        """Whether it is named as what is not meant: `without a.txt`."""
        self.is_target = bool(self.before) and self.before[0] in TO | WRITING
        if goes_on is not None and goes_on.is_target and (is_listed or self.before[:1] == ["in"]):
            self.is_target = True


def places_in(sentence: str) -> list[Place]:
    """The place of each value, in the order of the sentence."""
    found = values_in(sentence)
    gaps = [sentence[a:b] for a, b in pairwise([0, *(at for each in found for at in (each.start, each.end)), None])]
    places: list[Place] = []
    for number, named in enumerate(found):
        last = places[-1] if places else None
        places.append(Place(named, gaps[2 * number], gaps[2 * number + 2], last))
    return places


def clauses_outside(sentence: str) -> list[list[str]]:
    """The words of each part between two signs, without the values; none of a part that denies something."""
    for named in reversed(values_in(sentence)):
        sentence = f"{sentence[: named.start]} {sentence[named.end :]}"
    clauses = [runs(clause) for clause in sentence.translate(_ENDS).split("\n")]
    return [clause for clause in clauses if not denies(clause)]


def _joins(gap: str) -> bool:
    return set(runs(gap)) <= _JOINING and not set(gap) & set(";:.!?")


def _words_before(gap: str) -> list[str]:
    return runs(gap.translate(_ENDS).rpartition("\n")[2])


def _words_after(gap: str) -> list[str]:
    return runs(gap.translate(_ENDS).partition("\n")[0])
