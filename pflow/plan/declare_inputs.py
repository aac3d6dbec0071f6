"""Making the values that a sentence names inputs of the flow, so that it can be saved and run with others."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pflow.flow.findings import errors_of
from pflow.flow.flow import FlowSpec, Input, Step
from pflow.flow.rules import check
from pflow.flow.wired import WiredFlow, WiredStep
from pflow.flow.wiring import wire
from pflow.interface.common import OF_FLOWS, OF_RUNS
from pflow.interface.interface import Item
from pflow.values.paths import Path
from pflow.values.secrets import is_secret_name, is_secret_value
from pflow.values.templates import TEMPLATE

_EXTENSION = re.compile(r"[\w*?+-]\.[A-Za-z][A-Za-z0-9]{0,9}$")
_NUMBER = re.compile(r"#?-?\d{1,18}(\.\d{1,18})?")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass
class Literal:
    """A value in a step: of a read or param, or a member of its list."""

    step: WiredStep
    item: Item
    value: Any
    is_param: bool
    is_member: bool
    above: Path = ()
    """The place of the step around its flow."""

    @property
    def type(self) -> str:
        if not self.is_member and self.item.type.name != "any":
            return str(self.item.type)
        if isinstance(self.value, str):
            return "path" if is_path(self.value) else "str"
        return type(self.value).__name__

    @property
    def place(self) -> Path:
        return (*self.above, *self.step.step.place, "params" if self.is_param else "inputs", self.item.name)

    @property
    def default(self) -> Any:
        """The value. A leading ~ of a path is expanded here, since no shell has seen the sentence."""
        return os.path.expanduser(self.value) if self.type == "path" else self.value


def declare_inputs(wired: WiredFlow, sentence: str) -> WiredFlow:
    """Return a wired copy of the flow in which the values that a sentence names are inputs with defaults.

    A value stays a literal if its input would break a rule.
    """
    groups: dict[tuple[Any, str], list[Literal]] = {}
    for literal in literals(wired):
        is_kept = literal.item.marks & {"verbatim", "secret"} or is_secret_name(literal.item.name)
        if not is_kept and is_named(sentence, literal.value):
            groups.setdefault((literal.value, literal.type), []).append(literal)
    for named in groups.values():
        changed = wire(_declared(wired, _name(wired, named), named))
        wired = wired if errors_of(check(changed)) else changed
    return wired


def says(sentence: str, word: str) -> bool:
    """Return True if a sentence has the text, and not only inside a longer word, path or number."""
    return re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w/-]|\.\w)", sentence) is not None


def literals(wired: WiredFlow, above: Path = ()) -> Iterator[Literal]:
    """Yield the values and templates that a flow's steps hold, of lists also each member."""
    for step in wired.steps.values():
        mapped = {key: text for key, text in step.step.input_mappings.items() if isinstance(text, str)}
        templates = {key: text[len(TEMPLATE) :] for key, text in mapped.items() if text.startswith(TEMPLATE)}
        reads = {**step.step.inputs, **templates}
        parts = ((reads, step.interface.reads, False), (step.step.params, step.interface.params, True))
        for values, items, is_param in parts:
            for key in [key for key in values if key in items]:
                members = values[key] if isinstance(values[key], list) else []
                for value, is_member in [(values[key], False), *((each, True) for each in members)]:
                    yield Literal(step, items[key], value, is_param, is_member, above)


def is_named(sentence: str, value: Any) -> bool:
    """Return True if a sentence names a value: a number, a path, a URL, or a text in quotes."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return any(says(sentence.lower(), each) for each in spellings(str(value)))
    if not value or "$" in value or is_secret_value(value):  # a template is no default
        return False
    return any(f"{q}{value}{q}" in sentence for q in "\"'`") or (is_path(value) and says(sentence, value))


def spellings(number: str) -> Iterator[str]:
    """Yield a number as a sentence may have it: `#12` as 12, `2.0` as 2, `10000` as 10,000, `5` as five."""
    number = number.removeprefix("#").removesuffix(".0")
    yield number
    if number.isdecimal():
        yield f"{int(number):,}"
        yield from _WORDS[int(number) : int(number) + 1]


def is_path(text: str) -> bool:
    """Return True for a path or a URL: a text with a slash or an extension."""
    return not set(text) & set(" \t\n@") and ("/" in text or _EXTENSION.search(text) is not None)


def _name(wired: WiredFlow, literals: list[Literal]) -> str:
    first = literals[0]
    word = "number" if _NUMBER.fullmatch(str(first.value)) else "path" if first.type == "path" else "text"
    key = word if first.is_member else first.item.name
    return free_name(wired, first.step.id, key, {each.step.id for each in literals})


def free_name(wired: WiredFlow, step: str, key: str, own: set[str]) -> str:
    """Name an input for a key of the steps in `own`: the key, after its step's id if the key alone is taken."""
    read_by_name = {(id, key) for id in own}
    taken = {"stdin", *OF_RUNS, *OF_FLOWS, *wired.steps, *wired.flow.inputs}
    taken.update(
        name for name, each in wired.inputs.items() if name != key or not read_by_name.issuperset(each.readers)
    )
    for id, each in wired.steps.items():
        taken.update(str(each.place_of(key)[0]) for key in [*each.interface.writes, *each.targets])
        taken.update({each.step.batch.item} if each.step.batch else ())
        taken.update([*each.interface.reads, *each.interface.params] if id not in own else ())
    name = re.sub(r"[^a-z0-9_]", "_", (key if key not in taken else f"{step}_{key}").lower())[:40]
    name = name if name[:1].isalpha() else f"value_{name}"[:40]
    while name in taken:
        name += "_2"
    return name


def _declared(wired: WiredFlow, name: str, literals: list[Literal]) -> FlowSpec:
    flow, first = wired.flow.copied(), literals[0]
    flow.document = None
    doc = f"one of: {first.item.doc}" if first.is_member else first.item.doc
    flow.inputs[name] = Input(name, type=first.type, description=doc, default=first.default, has_default=True)
    for literal in literals:
        _replace(flow.step(literal.step.id), literal, name)
    return flow


def _replace(step: Step, literal: Literal, name: str) -> None:
    key, values = literal.item.name, step.params if literal.is_param else step.inputs
    if literal.is_member:
        values[key] = [f"${name}" if each == literal.value else each for each in values[key]]
    elif literal.is_param:
        values[key] = f"${name}"
    else:
        del values[key]
        step.input_mappings[key] = name
