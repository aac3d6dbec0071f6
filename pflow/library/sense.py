"""Whether two texts of the same words can mean the same: neither denies what the other says, or turns it about."""

from __future__ import annotations

from pflow.library.synonyms import synonyms
from pflow.library.words import denies, is_silent, runs, stem

_TO, _FROM = frozenset(("to", "into")), frozenset(("from",))


def is_same_sense(text: str, own: str) -> bool:
    """False for `copy a to b` beside `copy b to a` or `copy a from b`, and for `never copy a to b`."""
    if denies(runs(text)) != denies(runs(own)):
        return False
    (source, target), (own_source, own_target) = _ends(text), _ends(own)
    is_turned = _near(source - own_source) & own_target or _near(target - own_target) & own_source
    return not is_turned or not (own_source and own_target)


def _ends(text: str) -> tuple[set[str], set[str]]:
    """The words of where something comes from, and of where it goes: one side of a `to` or a `from` each."""
    source: set[str] = set()
    target: set[str] = set()
    head: set[str] = set()
    side = head
    for word in runs(text):
        if word in _TO:
            side = target
        elif word in _FROM:
            side = source
        elif not is_silent(word):
            side.add(stem(word))
    if target and source:
        return source, target
    return (head, target) if target else (source, head)


def _near(stems: set[str]) -> set[str]:
    return stems.union(*map(synonyms, stems))
