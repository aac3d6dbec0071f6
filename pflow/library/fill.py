"""Filling the inputs of a saved flow from a sentence: by type, and by the words that stand around a value."""

from __future__ import annotations

from pflow.library.named import NUMBER, PATH, QUOTED, URL, values_in
from pflow.library.words import runs, stem, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.library.named import Named
    from pflow.types import Type

_TO = frozenset(map(stem, ("to", "into", "as", "out", "output", "target", "destination", "dest", "result")))
_WRITING = frozenset(map(stem, ("write", "written", "save", "saved", "store", "export", "put")))
_FROM = frozenset(map(stem, ("from", "of", "in", "input", "source", "src", "origin", "read", "load", "fetch", "open")))
_URL_WORDS = frozenset(map(stem, ("url", "uri", "link", "address", "page", "site", "website", "feed", "endpoint")))
_PATH_WORDS = frozenset(map(stem, ("path", "file", "folder", "directory", "document")))

_BEFORE, _AFTER = 3, 2
"""Words around a value that may say what it is."""
_NAME, _DOC, _ROLE, _NEEDED = 4, 1, 3, 1
"""What speaks for a value: a word of the input's name or of its description, its role, that nothing else is there."""


class Filled:
    """What a sentence gives a flow: values by input, and what it names that no input takes."""

    __slots__ = ("unused", "values")

    def __init__(self, values: dict[str, Any], unused: list[Named]) -> None:
        self.values = values
        self.unused = unused


def fill(inputs: dict[str, dict[str, Any]], sentence: str) -> dict[str, Any]:
    """The values that the sentence names for these inputs (the IR's member), in their types; no guesses."""
    return filled(inputs, sentence).values


def filled(inputs: dict[str, dict[str, Any]], sentence: str) -> Filled:
    """The same, with what is named and left over."""
    places = _places(sentence)
    wanted = [_Input(name, given) for name, given in inputs.items()]
    chosen, taken = _choices(wanted, sentence, places)
    open_inputs = [each for each in wanted if each.name not in chosen]
    open_places = [place for place in places if place not in taken]
    for input, part in _assigned(open_inputs, open_places):
        chosen[input.name] = input.value(part)
        taken += part
    values = {name: chosen[name] for name in inputs if name in chosen}
    return Filled(values, [place.named for place in places if place not in taken])


class _Place:
    """A value of the sentence, the stems of the words before it, nearest first, and of those after it."""

    def __init__(self, named: Named, before: list[str], after: list[str]) -> None:
        self.named = named
        self.before = [stem(word) for word in before[::-1][:_BEFORE]]
        self.after = [stem(word) for word in after[:_AFTER]]

    @property
    def is_target(self) -> bool:
        return bool(self.before) and (self.before[0] in _TO or self.before[0] in _WRITING)


def _places(sentence: str) -> list[_Place]:
    found = values_in(sentence)
    places = []
    for number, named in enumerate(found):
        begin = found[number - 1].end if number else 0
        end = found[number + 1].start if number + 1 < len(found) else len(sentence)
        places.append(_Place(named, _last_part(sentence[begin : named.start]), _first_part(sentence[named.end : end])))
    return places


def _last_part(text: str) -> list[str]:
    return runs("".join(["\n" if sign in ",;:.!?" else sign for sign in text]).rpartition("\n")[2])


def _first_part(text: str) -> list[str]:
    return runs("".join(["\n" if sign in ",;:.!?" else sign for sign in text]).partition("\n")[0])


class _Input:
    """An input: its type, the stems of its name and description, whether it must be given."""

    def __init__(self, name: str, given: dict[str, Any]) -> None:
        self.name = name
        self.type = _type(given.get("type"))
        doc = given.get("description")
        self.named = {stem(word) for word in runs(name.replace("_", " "))}
        self.said = set(words(doc)) if isinstance(doc, str) else set()
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
        return bool(self.named & (_TO | _WRITING)) or (not self.named & _FROM and bool(self.said & _WRITING))

    def value(self, places: list[_Place]) -> Any:
        from pflow.values import from_text

        assert self.one is not None
        found = [from_text(self.one, place.named.text) for place in places]
        return found if self.is_list else found[0]

    def takes(self, place: _Place) -> bool:
        """Whether a value can be this input's at all."""
        if self.one is None or self.one.choices or not self._is_of_kind(place):
            return False
        try:
            self.value([place])
        except ValueError:
            return False
        return True

    def _is_of_kind(self, place: _Place) -> bool:
        kind = place.named.kind
        if self.one is not None and self.one.name in ("str", "any"):
            return self._is_meant(place)
        if kind == QUOTED and self.one is not None and self.one.name == "path":
            return "/" in place.named.text or "." in place.named.text.strip(".")
        return kind in _KINDS.get(self.one.name if self.one else "", ())

    def _is_meant(self, place: _Place) -> bool:
        """Whether a text may be this value: a text in quotes, or what its words speak of."""
        kind, said = place.named.kind, self.named | self.said
        if kind == QUOTED:
            return True
        if bool(said & _URL_WORDS if kind == URL else kind == PATH and said & _PATH_WORDS):
            return True
        return bool(self.named & {*place.before, *place.after})

    def likes(self, place: _Place) -> float:
        """How much speaks for a value; 0 for what nothing speaks for."""
        liking = max(_NAME * _nearness(self._telling, place), _DOC * _nearness(self.said, place))
        if place.named.kind == PATH or (self.one is not None and self.one.name == "path"):
            liking += _ROLE * (1 if self.is_target == place.is_target else -1)
        if place.named.kind == URL and (self.named | self.said) & _URL_WORDS:
            liking += _ROLE
        return liking + _NEEDED * self.is_needed

    @property
    def _telling(self) -> set[str]:
        return self.named - _TO - _FROM - _WRITING - {stem(word) for word in ("number", "value", "name", "text")}


def _nearness(telling: set[str], place: _Place) -> float:
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


def _choices(wanted: list[_Input], sentence: str, places: list[_Place]) -> tuple[dict[str, Any], list[_Place]]:
    """The choices of which one alone stands in the sentence, and the values that are spoken for with them."""
    said = set(runs(sentence))
    inputs = [input for input in wanted if input.type is not None and input.type.choices]
    chosen: dict[str, Any] = {}
    taken: list[_Place] = []
    for input in inputs:
        assert input.type is not None
        found = [choice for choice in input.type.choices if (own := runs(choice)) and said.issuperset(own)]
        shared = [other for other in inputs if other is not input and other.type and {*found} & {*other.type.choices}]
        if len(found) == 1 and not shared:
            chosen[input.name] = found[0]
            taken += [place for place in places if place.named.text == found[0]]
    return chosen, taken


def _assigned(inputs: list[_Input], places: list[_Place]) -> list[tuple[_Input, list[_Place]]]:
    """Each input with its value: pairs that like each other best, then as many values as inputs, in their order."""
    found: list[tuple[_Input, list[_Place]]] = []
    single = [input for input in inputs if not input.is_list]
    scores = {(input, place): input.likes(place) for input in single for place in places if input.takes(place)}
    while pair := _best_pair(scores):
        found.append((pair[0], [pair[1]]))
        scores = {each: score for each, score in scores.items() if each[0] is not pair[0] and each[1] is not pair[1]}
    done, used = {id(input) for input, _ in found}, {id(place) for _, (place,) in found}
    inputs = [input for input in inputs if id(input) not in done]
    places = [place for place in places if id(place) not in used]
    return [*found, *_in_order(inputs, places), *_lists(inputs, places)]


def _best_pair(scores: dict[tuple[_Input, _Place], float]) -> tuple[_Input, _Place] | None:
    """A value and an input of which each is what speaks most for the other, with nothing as good beside them."""
    rivals: dict[object, list[float]] = {}
    for pair, score in scores.items():
        for side in pair:
            rivals.setdefault(side, []).append(score)
    best = {side: max(found) if found.count(max(found)) == 1 else None for side, found in rivals.items()}
    liked = [pair for pair, score in scores.items() if score > 0 and score == best[pair[0]] == best[pair[1]]]
    return max(liked, key=lambda pair: scores[pair], default=None)


def _in_order(inputs: list[_Input], places: list[_Place]) -> list[tuple[_Input, list[_Place]]]:
    """As many values as inputs that could each take any of them."""
    single = [input for input in inputs if not input.is_list and any(map(input.takes, places))]
    fitting = [place for place in places if any(input.takes(place) for input in single)]
    is_even = len(single) == len(fitting) and all(input.takes(place) for input in single for place in fitting)
    likings = {input.likes(place) for input in single for place in fitting}
    if not is_even or len(likings) != 1 or likings == {0}:
        return []
    return [(input, [place]) for input, place in zip(single, fitting, strict=True)]


def _lists(inputs: list[_Input], places: list[_Place]) -> list[tuple[_Input, list[_Place]]]:
    """A list takes all that it can, where no other input could take any of it."""
    found = []
    for input in inputs:
        part = [place for place in places if input.takes(place)]
        rivals = [other for other in inputs if other is not input]
        others = [1 for other in rivals for place in part if other.takes(place) and other.likes(place) > 0]
        if input.is_list and part and not others:
            found.append((input, part))
    return found
