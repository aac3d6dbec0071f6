"""Filling the inputs of a saved flow from a sentence: by type, and by the words that stand around a value."""

from __future__ import annotations

from collections import Counter

from pflow.library.named import NUMBER, PATH, QUOTED, URL
from pflow.library.places import TO, WRITING, clauses_outside, places_in
from pflow.library.words import is_silent, runs, stem, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.library.named import Named
    from pflow.library.places import Place
    from pflow.types import Type

_FROM = frozenset(map(stem, ("from", "of", "in", "input", "source", "src", "origin", "read", "load", "fetch", "open")))
_URL_WORDS = frozenset(map(stem, ("url", "uri", "link", "address", "page", "site", "website", "feed", "endpoint")))
_PATH_WORDS = frozenset(map(stem, ("path", "file", "filename", "folder", "directory", "document")))
_CALLED = {URL: _URL_WORDS, PATH: _PATH_WORDS}
_IS = frozenset(map(stem, ("of", "is", "to", "number")))

_NAME, _DOC, _ROLE, _NEEDED = 4, 1, 3, 1
"""What speaks for a value: a word of the input's name or of its description, its role, that nothing else is there."""


class Filled:
    """What a sentence gives a flow: values by input, and what it names that no input takes."""

    __slots__ = ("unused", "values")

    def __init__(self, values: dict[str, Any], unused: list[Named]) -> None:
        self.values = values
        self.unused = unused


def fill(inputs: dict[str, dict[str, Any]], sentence: str) -> Filled:
    """The values that the sentence names for these inputs (the IR's member), in their types; no guesses."""
    places = places_in(sentence)
    wanted = [_Input(name, given) for name, given in inputs.items()]
    chosen, taken = _choices(wanted, sentence, places)
    open_inputs = [each for each in wanted if each.name not in chosen]
    open_places = [place for place in places if place not in taken and not place.is_denied]
    for input, part in _assigned(open_inputs, open_places):
        chosen[input.name] = input.value(part)
        taken += part
    values = {name: chosen[name] for name in inputs if name in chosen}
    return Filled(values, [place.named for place in places if place not in taken])


class _Input:
    """An input: its type, the stems of its name and description, whether it must be given."""

    def __init__(self, name: str, given: dict[str, Any]) -> None:
        self.name = name
        self.type = _type(given.get("type"))
        doc = given.get("description")
        told = words(doc) if isinstance(doc, str) else []
        self.named = {stem(word) for word in runs(name.replace("_", " "))}
        self.said = set(told)
        self.is_called = self.named | set(told[:1])
        """What it is, by its name and the first word of its description."""
        self.is_needed = "default" not in given

    @property
    def one(self) -> Type | None:
        """The type of one value: of a list, that of its items."""
        return self.type.items if self.type and self.type.name == "list" else self.type

    @property
    def is_list(self) -> bool:
        return bool(self.type and self.type.name == "list" and self.type.items)

    @property
    def is_target(self) -> bool:
        return bool(self.named & (TO | WRITING)) or (not self.named & _FROM and bool(self.said & WRITING))

    def value(self, places: list[Place]) -> Any:
        from pflow.types import from_text

        assert self.one is not None
        found = [from_text(self.one, place.named.expanded) for place in places]
        return found if self.is_list else found[0]

    def takes(self, place: Place) -> bool:
        """Whether a value can be this input's at all."""
        if self.one is None or self.one.choices or not self._is_of_kind(place):
            return False
        try:
            self.value([place])
        except ValueError:
            return False
        return True

    def _is_of_kind(self, place: Place) -> bool:
        kind = place.named.kind
        if place.counts and not self._is_number_of(place):
            return False
        if self.one is not None and self.one.name in ("str", "any"):
            return self._is_meant(place)
        if kind == PATH and "@" in place.named.text and "/" not in place.named.text:
            return False  # somebody's address
        if kind == QUOTED and self.one is not None and self.one.name == "path":
            return "/" in place.named.text or "." in place.named.text.strip(".")
        return kind in _KINDS.get(self.one.name if self.one else "", ())

    def _is_meant(self, place: Place) -> bool:
        """Whether a text may be this value: a text in quotes, or what its words speak of."""
        kind = place.named.kind
        if kind == QUOTED or self.is_called & _CALLED.get(kind, frozenset()):
            return True
        return bool(self.named & {*place.before, *place.after})

    def _is_number_of(self, place: Place) -> bool:
        """Whether a number that counts something counts this, or is named as this just before: `a width of 3 feet`."""
        before = next((word for word in place.before if word not in _IS), None)
        return place.counts in self.named | self.said or before in self.telling

    def chooses(self, place: Place) -> bool:
        """Whether a value that is one of its choices is meant as that."""
        return not place.is_denied and (place.named.kind == QUOTED or _nearness(self.telling, place) > 0)

    def likes(self, place: Place) -> float:
        """How much speaks for a value; 0 for what nothing speaks for."""
        liking = max(_NAME * _nearness(self.telling, place), _DOC * _nearness(self.said, place))
        if place.named.kind == PATH or (self.one is not None and self.one.name == "path"):
            liking += _ROLE * (1 if self.is_target == place.is_target else -1)
        if place.named.kind == URL and self.is_called & _URL_WORDS:
            liking += _ROLE
        return liking + _NEEDED * self.is_needed

    def is_in(self, place: Place) -> bool:
        """Whether a value says itself which input it is for: `old.txt`."""
        return not self.telling.isdisjoint(map(stem, runs(place.named.text)))

    @property
    def telling(self) -> set[str]:
        return self.named - TO - _FROM - WRITING - {stem(word) for word in ("number", "value", "name", "text")}


def _nearness(telling: set[str], place: Place) -> float:
    """How near one of these words is to a value, 0 to 1: just before it is nearest, after it half as near."""
    before = [1 / at for at, word in enumerate(place.before, 1) if word in telling]
    after = [0.5 / at for at, word in enumerate(place.after, 1) if word in telling]
    return max(before + after, default=0.0)


_KINDS = {"int": (NUMBER,), "float": (NUMBER,), "path": (PATH,)}


def _type(text: Any) -> Type | None:
    from pflow.types import parse_type

    if text is None:
        text = "any"
    try:
        type, end = parse_type(text)
    except (TypeError, ValueError):
        return None
    return type if end == len(text) else None


def _choices(wanted: list[_Input], sentence: str, places: list[Place]) -> tuple[dict[str, Any], list[Place]]:
    """The choices of which one alone stands in the sentence, and the values that are spoken for with them."""
    inputs = [input for input in wanted if input.type is not None and input.type.choices]
    clauses = clauses_outside(sentence)
    chosen: dict[str, Any] = {}
    taken: list[Place] = []
    for input in inputs:
        assert input.type is not None
        values = [place for place in places if place.named.text in input.type.choices and input.chooses(place)]
        said = [choice for choice in input.type.choices if any(_says(clause, choice) for clause in clauses)]
        found = {*said, *(place.named.text for place in values)}
        shared = [other for other in inputs if other is not input and other.type and found & {*other.type.choices}]
        if len(found) == 1 and not shared:
            chosen[input.name] = found.pop()
            taken += values
    return chosen, taken


def _says(clause: list[str], choice: str) -> bool:
    """Whether a choice stands in a clause, one that is no word of every other sentence."""
    own = runs(choice)
    return not all(map(is_silent, own)) and not any(map(str.isdecimal, own)) and set(clause).issuperset(own)


def _assigned(inputs: list[_Input], places: list[Place]) -> list[tuple[_Input, list[Place]]]:
    """Each input with its value: pairs that like each other best, then as many values as inputs, in their order."""
    found: list[tuple[_Input, list[Place]]] = []
    single = [input for input in inputs if not input.is_list]
    scores = {(input, place): input.likes(place) for input in single for place in _alone(input, places)}
    while pair := _best_pair(scores):
        found.append((pair[0], [pair[1]]))
        scores = {each: score for each, score in scores.items() if each[0] is not pair[0] and each[1] is not pair[1]}
    done, used = {id(input) for input, _ in found}, {id(place) for _, (place,) in found}
    inputs = [input for input in inputs if id(input) not in done]
    places = [place for place in places if id(place) not in used]
    return [*found, *_in_order(inputs, places), *_lists(inputs, places)]


def _alone(input: _Input, places: list[Place]) -> list[Place]:
    """The values that an input takes, where it could not take another of their listing as well."""
    fitting = [place for place in places if input.takes(place)]
    listings = [id(place.listing) for place in fitting]
    once = {each for each, count in Counter(listings).items() if count == 1}
    return [place for place, listing in zip(fitting, listings, strict=True) if listing in once]


def _best_pair(scores: dict[tuple[_Input, Place], float]) -> tuple[_Input, Place] | None:
    """A value and an input of which each is what speaks most for the other, with nothing as good beside them."""
    rivals: dict[object, list[float]] = {}
    for pair, score in scores.items():
        for side in pair:
            rivals.setdefault(side, []).append(score)
    best = {side: max(found) if found.count(max(found)) == 1 else None for side, found in rivals.items()}
    liked = [pair for pair, score in scores.items() if score > 0 and score == best[pair[0]] == best[pair[1]]]
    return max(liked, key=lambda pair: scores[pair], default=None)


def _in_order(inputs: list[_Input], places: list[Place]) -> list[tuple[_Input, list[Place]]]:
    """As many values of one listing as inputs that could each take any of them."""
    single = [input for input in inputs if not input.is_list and any(map(input.takes, places))]
    fitting = [place for place in places if any(input.takes(place) for input in single)]
    is_even = len(single) == len(fitting) and all(input.takes(place) for input in single for place in fitting)
    if not is_even or not _is_one_listing(fitting) or any(input.is_in(place) for input in single for place in fitting):
        return []
    likings = {input.likes(place) for input in single for place in fitting}
    return [(input, [place]) for input, place in zip(single, fitting, strict=True)] if _is_one_good(likings) else []


def _lists(inputs: list[_Input], places: list[Place]) -> list[tuple[_Input, list[Place]]]:
    """A list takes the listing that it can, where no other input could take any of it."""
    found = []
    for input in filter(lambda each: each.is_list, inputs):
        part = [place for place in places if input.takes(place) and input.likes(place) >= 0]
        rivals = [other for other in inputs if other is not input]
        is_wanted = any(other.takes(place) and other.likes(place) > 0 for other in rivals for place in part)
        if part and _is_one_listing(part) and not is_wanted:
            found.append((input, part))
    return found


def _is_one_good(likings: set[float]) -> bool:
    return len(likings) == 1 and min(likings) > 0


def _is_one_listing(places: list[Place]) -> bool:
    return len({id(place.listing) for place in places}) == 1
