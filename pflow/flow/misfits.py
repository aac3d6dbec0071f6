"""Misfits: what pydantic finds wrong with a flow's JSON, in words, each with a remedy."""

from __future__ import annotations

from pflow.flow.findings import SHAPE, Finding
from pflow.jsontext import decode, encode, text_of
from pflow.paths import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Place = tuple[str | int, ...]
    Words = tuple[str, str]
    """What is there instead, and the remedy."""


class Misfit:
    """One error of pydantic's: where, in the document and in the `order` of the file, and the `rule` that it breaks.

    `part` is the place without indexes and names: `("nodes", "id")`. `value` is what is there, `limits` what the rule
    asks, `meant` the member that a misspelt one was meant to be.
    """

    def __init__(self, error: Any) -> None:
        self.rule: str = error["type"]
        self.place: Place = error["loc"]
        self.order: list[int] = error["order"]
        self.value = error["input"]
        self.limits: dict[str, Any] = error.get("ctx", {})
        self.text: str = error["msg"]
        self.meant = ""

    @property
    def part(self) -> tuple[str, ...]:
        return tuple(str(step) for n, step in enumerate(self.place) if n != 1)

    def finding(self) -> Finding:
        message, remedy = _WORDS.get(self.rule, _other)(self)
        if self.value is None and self.rule != "extra_forbidden" and self.place[-1] not in _NEEDED:
            remedy += ", or leave it out"
        return Finding(SHAPE, self.place, message, remedy)


def misfits_of(errors: list[Any]) -> list[Misfit]:
    """A misfit for each error that says something of its own."""
    misfits = [misfit for misfit in map(Misfit, errors) if not _is_said_elsewhere(misfit)]
    unknown = [misfit for misfit in misfits if misfit.rule == "extra_forbidden"]
    lost = [misfit.place for misfit in misfits if misfit.rule == "missing"]
    for misfit in unknown:
        misfit.meant = _near(misfit)
        lost = [place for place in lost if place != (*misfit.place[:-1], misfit.meant)]
    for misfit in unknown:
        misfit.meant = misfit.meant or _beside(misfit, lost)
    return misfits


def _is_said_elsewhere(misfit: Misfit) -> bool:
    """A mapping's source is a text or a list: of one that is neither, or wrong inside, pydantic says both."""
    if misfit.part[:2] != ("mappings", "input_mappings") or len(misfit.place) < 5:
        return False
    branch, is_list = misfit.place[4], isinstance(misfit.value, list) or len(misfit.place) > 5
    misfit.place = misfit.place[:4] + misfit.place[5:]
    return is_list == (branch == "str")


def _near(misfit: Misfit) -> str:
    """The known member that an unknown one is near to."""
    from pflow.flow.ir import members
    from pflow.naming import nearest

    *holder, name = misfit.part
    return nearest(name, members(tuple(holder), with_older=True)) or ""


def _beside(misfit: Misfit, lost: list[Place]) -> str:
    """The first member that is missing where an unknown one is, no longer lost then."""
    for place in lost:
        if place[:-1] == misfit.place[:-1]:
            lost.remove(place)
            return str(place[-1])
    return ""


def _it_is(value: Any) -> str:
    shown = str(encode(value), "utf-8") if isinstance(value, int | float | str) else ""
    return f"it is {kind_of(value)}" + (f" ({shown})" if 0 < len(shown) < 40 else "")


def _wants(kind: str, remedy: str) -> Callable[[Misfit], Words]:
    return lambda misfit: (f"{_it_is(misfit.value)}, not {kind}", remedy)


def _wants_object(misfit: Misfit) -> Words:
    is_type = misfit.part in (("nodes",), ("inputs",)) and isinstance(misfit.value, str)
    return f"{_it_is(misfit.value)}, not a dict", f'write {{"type": "{misfit.value}"}}' if is_type else 'write {"…": …}'


def _wants_text(misfit: Misfit) -> Words:
    is_short = isinstance(misfit.value, int | float)
    return f"{_it_is(misfit.value)}, not a str", f'write "{text_of(misfit.value)}"' if is_short else 'write "…"'


def _wants_bare(kinds: tuple[type, ...], word: str, remedy: str) -> Callable[[Misfit], Words]:
    """A number or a bool, which may stand in quotes where it should not."""

    def words(misfit: Misfit) -> Words:
        is_quoted = isinstance(misfit.value, str) and type(_inside(misfit.value)) in kinds
        meant = f"write {misfit.value.strip()}, without quotes" if is_quoted else remedy
        return f"{_it_is(misfit.value)}, not {word}", meant

    return words


def _inside(text: str) -> Any:
    try:
        return decode(text.encode())
    except ValueError:
        return None


_NEEDED = {
    "nodes": 'add "nodes": [{"type": "…"}]',
    "from": "add the id of the step that it leads from",
    "to": "add the id of the step that it leads to",
    "over": "add the path of a list or an object",
}


def _missing(misfit: Misfit) -> Words:
    return "it is missing", _NEEDED[misfit.part[-1]]


def _unknown(misfit: Misfit) -> Words:
    from pflow.flow.ir import members

    message = "there is no such member"
    if misfit.meant:
        return message, f"did you mean {misfit.meant}?"
    *holder, name = misfit.part
    home = next((words for part, words in _PARTS.items() if name in members(part)), "")
    return (
        message,
        f"it belongs to {home}" if home else f"{_PARTS[tuple(holder)]} has {', '.join(members(tuple(holder)))}",
    )


def _out_of_range(misfit: Misfit) -> Words:
    if misfit.place == ("pflow",):
        from pflow.flow.ir import VERSION

        remedy = "a newer pflow may read it" if misfit.value > VERSION else f"write {VERSION}"
        return f"the file is of version {misfit.value}, and this pflow reads version {VERSION}", remedy
    if "ge" in misfit.limits:
        return f"it is {misfit.value}, less than {misfit.limits['ge']:g}", f"write {misfit.limits['ge']:g} or more"
    return f"it is {misfit.value}, not more than {misfit.limits['gt']:g}", f"write more than {misfit.limits['gt']:g}"


def _no_choice(misfit: Misfit) -> Words:
    return f"{_it_is(misfit.value)}, not {misfit.limits['expected']}", f"write {misfit.limits['expected']}"


def _no_version(misfit: Misfit) -> Words:
    return f"{_it_is(misfit.value)}, not a version", 'write one like "1.0.0"'


_USUAL = {"string": "str", "text": "str", "integer": "int", "number": "float", "boolean": "bool"}
_USUAL |= {"array": "list", "object": "dict", "file": "path", "null": "any"}


def _no_type(misfit: Misfit) -> Words:
    from pflow.naming import nearest

    usual = _USUAL.get(misfit.value) or nearest(misfit.value, ("path", "bytes", "list", "dict", "float", "bool"))
    return str(misfit.limits["error"]), f"did you mean {usual}?" if usual else ""


def _empty(misfit: Misfit) -> Words:
    return "it is empty", "a flow has a step at least" if misfit.place == ("nodes",) else "write one"


def _without_name(misfit: Misfit) -> Words:
    return "it has no id, type or name", 'add "type", the node that it runs'


def _other(misfit: Misfit) -> Words:
    return misfit.text, ""


_PARTS = {
    (): "a flow",
    ("nodes",): "a node",
    ("mappings",): "a step's entry in mappings",
    ("edges",): "an edge",
    ("inputs",): "an input of the flow",
    ("nodes", "batch"): "a batch",
}
_WORDS: dict[str, Callable[[Misfit], Words]] = {
    "string_type": _wants_text,
    "int_type": _wants_bare((int,), "an int", "write a whole number"),
    "float_type": _wants_bare((int, float), "a number", "write a number"),
    "bool_type": _wants_bare((bool,), "a bool", "write true or false"),
    "dict_type": _wants("a dict", 'write {"…": …}'),
    "model_type": _wants_object,
    "list_type": _wants("a list", "write […]"),
    "missing": _missing,
    "nameless": _without_name,
    "extra_forbidden": _unknown,
    "greater_than_equal": _out_of_range,
    "less_than_equal": _out_of_range,
    "greater_than": _out_of_range,
    "literal_error": _no_choice,
    "string_pattern_mismatch": _no_version,
    "value_error": _no_type,
    "string_too_short": _empty,
    "too_short": _empty,
}
