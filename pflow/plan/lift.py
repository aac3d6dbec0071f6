"""The values that a sentence names, as inputs of the flow: so it does the same for others when it is saved."""

from __future__ import annotations

from pflow.flow.flow import Input
from pflow.flow.rules import check
from pflow.flow.wiring import wire
from pflow.library.named import NUMBER, PATH, QUOTED, URL, values_in
from pflow.plan.secrets import is_secret_name, is_secret_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.flow import Flow, Step
    from pflow.flow.wired import WiredFlow
    from pflow.interface import Item
    from pflow.library.named import Named

_CALLED = {PATH: "path", URL: "url", NUMBER: "number", QUOTED: "text"}
"""What a value of a list is called, which has no name of its own there."""

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"


class _Place:
    """A literal in a step that the sentence names: a read's or a param's value, or the `at`-th of its list."""

    def __init__(self, step: Step, item: Item, value: Any, named: Named, *, is_param: bool, at: int | None) -> None:
        self.step = step
        self.item = item
        self.value = value
        self.named = named
        self.is_param = is_param
        self.at = at

    @property
    def key(self) -> str:
        """What an input of it is called where nothing else is."""
        return self.item.name if self.at is None else _CALLED[self.named.kind]

    @property
    def kind(self) -> tuple[Any, str]:
        """Places of one kind take one input."""
        if self.at is None and self.item.type.name != "any":
            return self.value, str(self.item.type)
        if self.named.kind == PATH and isinstance(self.value, str):
            return self.value, "path"
        return self.value, {str: "str", int: "int", float: "float"}[type(self.value)]

    @property
    def default(self) -> Any:
        return self.named.expanded if isinstance(self.value, str) else self.value

    @property
    def doc(self) -> str:
        return self.item.doc if self.at is None else f"one of: {self.item.doc}"


def lift(flow: Flow, sentence: str) -> WiredFlow:
    """Make inputs of the values that a sentence names, each its default. The plan of what came of it.

    A flow that passes the rules still does, and every other read has its value from where it had it; a value for which
    that cannot be stays where it is.
    """
    plan = wire(flow)
    groups: dict[tuple[Any, str], list[_Place]] = {}
    for place in _places(plan, values_in(sentence)):
        groups.setdefault(place.kind, []).append(place)
    named = _names(plan, list(groups.values()))
    for name, places in zip(named, groups.values(), strict=True):
        plan = _lifted(plan, name, places) or wire(flow)
    return plan


def _places(plan: WiredFlow, named: list[Named]) -> list[_Place]:
    found = []
    for wired in plan.steps.values():
        for values, items, is_param in (
            (wired.step.inputs, wired.interface.reads, False),
            (wired.step.params, wired.interface.params, True),
        ):
            for item, value, at in _literals(values, items):
                same = next((each for each in named if _is_same(each, value)), None)
                if same is not None and _may_lift(item, value):
                    found.append(_Place(wired.step, item, value, same, is_param=is_param, at=at))
    return found


def _literals(values: dict[str, Any], items: dict[str, Item]) -> Iterator[tuple[Item, Any, int | None]]:
    """Every value that is known what it is for, and every one in its list."""
    for key, value in values.items():
        if key in items:
            yield items[key], value, None
            for at, each in enumerate(value if isinstance(value, list) else ()):
                yield items[key], each, at


def _may_lift(item: Item, value: Any) -> bool:
    """A command stays what it is, for a flow's commands are fixed; a secret, or a template, is none's default."""
    is_plain = not isinstance(value, str) or not ("$" in value or is_secret_value(value))
    return is_plain and not item.marks & {"verbatim", "secret"}


def _is_same(named: Named, value: Any) -> bool:
    if isinstance(value, str):
        return value == named.text
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and named.kind == NUMBER and bool(named.number == value)


def _names(plan: WiredFlow, groups: list[list[_Place]]) -> list[str]:
    """A name for each input: the read's; with the step's before it where two would meet, or another read take it."""
    keys = [group[0].key for group in groups]
    taken = _taken(plan)
    names: list[str] = []
    for key, group in zip(keys, groups, strict=True):
        is_plain = keys.count(key) == 1 and key not in taken and not _is_read_elsewhere(plan, key, group)
        name = _word(key if is_plain else f"{group[0].step.id}_{key}")
        number = 2
        free = name
        while free in taken or is_secret_name(free):
            free = f"{name if not is_secret_name(name) else 'value'}_{number}"
            number += 1
        taken.add(free)
        names.append(free)
    return names


def _taken(plan: WiredFlow) -> set[str]:
    """What an input cannot be called: steps, other inputs, what steps write."""
    taken = {"stdin", *plan.steps, *plan.flow.inputs}
    for wired in plan.steps.values():
        taken.update(str(wired.place_of(key)[0]) for key in [*wired.interface.writes, *wired.targets])
        taken.update({wired.step.batch.item} if wired.step.batch else ())
    return taken


def _is_read_elsewhere(plan: WiredFlow, key: str, group: list[_Place]) -> bool:
    """Whether a read that nothing fills would take an input of this name for its own."""
    steps = {place.step.id for place in group}
    return any(
        wired.interface.open or (key in wired.interface.reads and key not in wired.sources)
        for id, wired in plan.steps.items()
        if id not in steps and "explicit" not in (wired.interface.reads[key].marks if _has(wired, key) else ())
    )


def _has(wired: Any, key: str) -> bool:
    return key in wired.interface.reads


def _word(text: str) -> str:
    """A plain word of small letters."""
    word = "".join(sign if sign in _LETTERS else "_" for sign in text.lower())[:40]
    return word if word[:1].isalpha() else f"value_{word}"[:40]


def _lifted(plan: WiredFlow, name: str, places: list[_Place]) -> WiredFlow | None:
    """The plan with one more input; None, and the flow as it was, where the rules or the wiring would not have it."""
    flow, before = plan.flow, _wiring(plan, places)
    first = places[0]
    undo = [_put(place, name) for place in places]
    flow.inputs[name] = Input(name, type=first.kind[1], description=first.doc, default=first.default, has_default=True)
    lifted = wire(flow)
    if not any(not each.is_warning for each in check(lifted)) and _wiring(lifted, places) == before:
        return lifted
    del flow.inputs[name]
    for place, (values, mappings) in zip(reversed(places), reversed(undo), strict=True):
        place.step.input_mappings = mappings
        _set(place, values)
    return None


def _put(place: _Place, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Let the step take an input in place of the literal; what it had before."""
    step, key = place.step, place.item.name
    values, mappings = (step.params if place.is_param else step.inputs), step.input_mappings
    if place.at is not None:
        changed = {**values, key: [f"${name}" if at == place.at else each for at, each in enumerate(values[key])]}
    elif place.is_param:
        changed = {**values, key: f"${name}"}
    else:
        changed = {each: value for each, value in values.items() if each != key}
        step.input_mappings = {**mappings, key: name}
    _set(place, changed)
    return values, mappings


def _set(place: _Place, values: dict[str, Any]) -> None:
    if place.is_param:
        place.step.params = values
    else:
        place.step.inputs = values


def _wiring(plan: WiredFlow, places: list[_Place]) -> dict[tuple[str, str], Any]:
    """Where every other read and param has its value from."""
    moved = {(place.step.id, place.item.name) for place in places}
    return {
        (id, key): (type(source).__name__, source.paths, getattr(source, "value", None), key in wired.soft)
        for id, wired in plan.steps.items()
        for key, source in [*wired.sources.items(), *wired.params.items()]
        if (id, key) not in moved
    }
