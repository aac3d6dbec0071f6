"""The values that a sentence names become inputs of the flow: saved, it does the same for other values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

from pflow.flow.flow import Input, Step
from pflow.flow.rules import check
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.interface import Item
from pflow.jsontext import text_of
from pflow.plan.secrets import is_secret_name, is_secret_value

URL, PATH, NUMBER, QUOTED = "url", "path", "number", "quoted"

_PATTERNS = {
    QUOTED: r"\"(?P<double>[^\"\n]+)\"|(?<!\w)'(?P<single>[^'\n]+)'(?!\w)|`(?P<back>[^`\n]+)`",
    URL: r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>`]*[^\s\"'<>`.,;:!?)\]}]",
    NUMBER: r"(?<![\w./-])(?<!\d,)-?\d+(?:\.\d+)?(?![\w/*-]|[.,]\w)",
    PATH: r"(?<![\w/~*.])[~\w./*?@+-]*[~\w/*]",
}
_ALL = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()))
_EXTENSION = re.compile(r"[\w*?@+-]\.[A-Za-z][A-Za-z0-9]{0,9}$")
_NO_PATHS = {"e.g", "i.e", "and/or", "either/or", "he/she", "his/her", "n/a", "w/o", "w/", "/", "etc"}


@dataclass(frozen=True)
class Value:
    """A value in a sentence: its kind, its text without quotes, and where it starts and ends."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def expanded(self) -> str:
        """The text; of a path that begins with ~ what a shell makes of it, for no shell has seen the sentence."""
        return os.path.expanduser(self.text) if self.kind == PATH else self.text

    @property
    def number(self) -> int | float:
        return float(self.text) if "." in self.text else int(self.text)


def values_in(sentence: str) -> list[Value]:
    """Every value, in the order of the sentence."""
    found = []
    for match in _ALL.finditer(sentence):
        kind = next(kind for kind in _PATTERNS if match[kind] is not None)
        text = next(each for each in (match["double"], match["single"], match["back"], match[0]) if each)
        kind = _kind_in_quotes(text) if kind == QUOTED else kind
        if kind != PATH or _is_path(text):
            found.append(Value(kind, text, match.start(), match.end()))
    return found


def _kind_in_quotes(text: str) -> str:
    match = _ALL.fullmatch(text)
    kind = next(kind for kind in _PATTERNS if match[kind] is not None) if match else QUOTED
    return QUOTED if kind == PATH and not _is_path(text) else kind


def _is_path(text: str) -> bool:
    """Whether a word is a path: it has a slash, or ends as a file's name does."""
    return text.lower() not in _NO_PATHS and ("/" in text or bool(_EXTENSION.search(text) and "@" not in text))


def with_value(text: str, before: Any, value: Any) -> str:
    """A text in which each mention of the value `before` is one of `value`: a description follows its flow."""
    for each in reversed(values_in(text)):
        if text_of(before) in (each.text, each.expanded):
            text = text[: each.start] + text_of(value) + text[each.end :]
    return text


_NAMES = {PATH: "path", URL: "url", NUMBER: "number", QUOTED: "text"}
"""Names for inputs whose values are members of lists, which have no names there."""


@dataclass
class _Literal:
    """A literal in a step that the sentence names: a read's or a param's value, or the one at `index` in its list."""

    step: str
    item: Item
    value: Any
    named: Value
    is_param: bool
    index: int | None

    @property
    def name(self) -> str:
        return self.item.name if self.index is None else _NAMES[self.named.kind]

    @property
    def kind(self) -> tuple[Any, str]:
        """Value and type: literals of one kind take one input."""
        if self.index is None and self.item.type.name != "any":
            return self.value, str(self.item.type)
        if self.named.kind == PATH and isinstance(self.value, str):
            return self.value, "path"
        return self.value, {str: "str", int: "int", float: "float"}[type(self.value)]

    @property
    def default(self) -> Any:
        return self.named.expanded if isinstance(self.value, str) else self.value

    @property
    def doc(self) -> str:
        return self.item.doc if self.index is None else f"one of: {self.item.doc}"


def declare_inputs(wired: WiredFlow, sentence: str) -> WiredFlow:
    """A wired copy of the flow in which the values that a sentence names are inputs, each with its value as default.

    A flow that passes the rules still does, and every other read keeps its source: a value for which that cannot be
    stays a literal.
    """
    groups: dict[tuple[Any, str], list[_Literal]] = {}
    for literal in _literals(wired, values_in(sentence)):
        groups.setdefault(literal.kind, []).append(literal)
    found = list(zip(_names(wired, list(groups.values())), groups.values(), strict=True))
    if not found:
        return wired
    changed = _declared(wired, found)
    if changed is None:  # one of them cannot be: try each
        for each in found:
            wired = _declared(wired, [each]) or wired
        changed = wired
    return changed


def _literals(wired: WiredFlow, named: list[Value]) -> Iterator[_Literal]:
    for each in wired.steps.values():
        parts = ((each.step.inputs, each.interface.reads, False), (each.step.params, each.interface.params, True))
        for values, items, is_param in parts:
            for item, value, index in _known_values(values, items):
                same = next((one for one in named if _is_same(one, value)), None)
                if same is not None and _may_be_input(item, value):
                    yield _Literal(each.id, item, value, same, is_param, index)


def _known_values(values: dict[str, Any], items: dict[str, Item]) -> Iterator[tuple[Item, Any, int | None]]:
    """Every value of a declared read or param, and every one in its list."""
    for key, value in values.items():
        if key in items:
            yield items[key], value, None
            yield from ((items[key], each, index) for index, each in enumerate(value if type(value) is list else ()))


def _may_be_input(item: Item, value: Any) -> bool:
    """A command stays fixed; a secret, or a template, is not a default."""
    is_plain = not isinstance(value, str) or not ("$" in value or is_secret_value(value))
    return is_plain and not item.marks & {"verbatim", "secret"}


def _is_same(named: Value, value: Any) -> bool:
    if isinstance(value, str):
        return value == named.text
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and named.kind == NUMBER and bool(named.number == value)


def _names(wired: WiredFlow, groups: list[list[_Literal]]) -> list[str]:
    """A name for each input: the read's; with the step's before it where another has that name."""
    keys = [group[0].name for group in groups]
    taken = _taken_names(wired)
    names: list[str] = []
    for key, group in zip(keys, groups, strict=True):
        is_free = keys.count(key) == 1 and key not in taken and not _is_read_elsewhere(wired, key, group)
        name = _plain_name(key if is_free else f"{group[0].step}_{key}")
        name = "value" if is_secret_name(name) else name
        while name in taken:
            name += "_2"
        names.append(name)
        taken.add(name)
    return names


def _taken_names(wired: WiredFlow) -> set[str]:
    """What an input cannot be called: steps, other inputs, what steps write."""
    taken = {"stdin", *wired.steps, *wired.flow.inputs}
    for step in wired.steps.values():
        taken.update(str(step.place_of(key)[0]) for key in [*step.interface.writes, *step.targets])
        taken.update({step.step.batch.item} if step.step.batch else ())
    return taken


def _is_read_elsewhere(wired: WiredFlow, key: str, group: list[_Literal]) -> bool:
    """Whether a read of another step, which has no source, would take an input of this name."""
    steps = {literal.step for literal in group}
    for id, step in wired.steps.items():
        item = step.interface.reads.get(key)
        is_free = item is not None and key not in step.sources and "explicit" not in item.marks
        if id not in steps and (step.interface.open or is_free):
            return True
    return False


def _plain_name(text: str) -> str:
    word = re.sub(r"[^a-z0-9_]", "_", text.lower())[:40]
    return word if word[:1].isalpha() else f"value_{word}"[:40]


def _declared(wired: WiredFlow, named: list[tuple[str, list[_Literal]]]) -> WiredFlow | None:
    """The flow with these inputs, wired; None where a rule or another read's source does not stand it."""
    flow = copy(wired.flow)
    flow.inputs, flow.steps = dict(flow.inputs), [copy(step) for step in flow.steps]
    for name, literals in named:
        first = literals[0]
        flow.inputs[name] = Input(
            name, type=first.kind[1], description=first.doc, default=first.default, has_default=True
        )
        for literal in literals:
            _replace(flow.step(literal.step), literal, name)
    changed = wire(flow)
    replaced = {(each.step, each.item.name) for _, literals in named for each in literals}
    is_sound = all(each.is_warning for each in check(changed))
    return changed if is_sound and _others(changed, replaced) == _others(wired, replaced) else None


def _others(wired: WiredFlow, replaced: set[tuple[str, str]]) -> dict[tuple[str, str], Any]:
    """Where every read and param has its value from, apart from those that are replaced."""
    return {
        (id, key): (source.paths, getattr(source, "value", None), key in step.soft)
        for id, step in wired.steps.items()
        for key, source in [*step.sources.items(), *step.params.items()]
        if (id, key) not in replaced
    }


def _replace(step: Step, literal: _Literal, name: str) -> None:
    """Let a step take an input in place of a literal."""
    key = literal.item.name
    if literal.index is None and not literal.is_param:
        step.inputs = {each: value for each, value in step.inputs.items() if each != key}
        step.input_mappings = {**step.input_mappings, key: name}
        return
    values = step.params if literal.is_param else step.inputs
    value: Any = f"${name}"
    if literal.index is not None:
        value = [value if index == literal.index else each for index, each in enumerate(values[key])]
    if literal.is_param:
        step.params = {**values, key: value}
    else:
        step.inputs = {**values, key: value}
