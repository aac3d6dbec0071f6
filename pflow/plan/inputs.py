"""The inputs of a planned flow: the piped input, and the values in its sentence, so that it can run with other values.

A model is told the kind, type and size of the piped input, but never its value.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pflow.binding.sources import find
from pflow.driver.inputs import names_stdin
from pflow.errors import PflowError, result_of
from pflow.flow.expressions import INPUT, MAPPING, OVER, PARAM, move_references, move_source
from pflow.flow.findings import Finding, errors_of
from pflow.flow.flow import FlowSpec, Input, Step
from pflow.flow.rules import check
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.flow.wiring import wire
from pflow.interface.common import OF_FLOWS, OF_RUNS
from pflow.interface.interface import Field
from pflow.stage.document import EMPTY, NOTHING, RAW, STORE, Document, Intake
from pflow.text.printable import clean
from pflow.values.paths import UNITS, Path, parse_path
from pflow.values.secrets import is_secret_name, is_secret_value
from pflow.values.templates import TEMPLATE

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
"""A name that an input of a planned flow may have."""

_EXTENSION = re.compile(r"[\w*?+-]\.[A-Za-z][A-Za-z0-9]{0,9}$")
_NUMBER = re.compile(r"#?-?\d{1,18}(\.\d{1,18})?")
_MOST_KEYS = 50
"""The most keys of a store that a model is told of."""

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass
class Literal:
    """A value that a step's text gives to a read or a param, or a member of a list that it gives."""

    step: WiredStep
    field: Field
    value: Any
    is_param: bool
    is_member: bool
    above: Path = ()
    """The place of the step that its flow is inside; empty for the outermost flow."""

    @property
    def type(self) -> str:
        if not self.is_member and self.field.type.name != "any":
            return str(self.field.type)
        if isinstance(self.value, str):
            return "path" if is_path(self.value) else "str"
        return type(self.value).__name__

    @property
    def place(self) -> Path:
        return (*self.above, *self.step.step.location, "params" if self.is_param else "inputs", self.field.name)

    @property
    def default(self) -> Any:
        """The value, with a leading ~ of a path expanded, since no shell has seen the sentence."""
        return os.path.expanduser(self.value) if self.type == "path" else self.value


def declare_inputs(wired: WiredFlow, sentence: str) -> WiredFlow:
    """Return a wired copy of the flow in which the values named in the sentence are inputs with defaults.

    A value stays a literal if it would break a rule as an input.
    """
    groups: dict[tuple[Any, str], list[Literal]] = {}
    for literal in literals(wired):
        is_kept = literal.field.marks & {"verbatim", "secret"} or is_secret_name(literal.field.name)
        if not is_kept and is_named(sentence, literal.value):
            groups.setdefault((literal.value, literal.type), []).append(literal)
    for named in groups.values():
        changed = wire(_declared(wired, _name(wired, named), named))
        wired = wired if errors_of(check(changed)) else changed
    return wired


def says(sentence: str, word: str) -> bool:
    """Return True if a sentence has `word`, not just inside a longer word, path or number."""
    return re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w/-]|\.\w)", sentence) is not None


def literals(wired: WiredFlow, above: Path = ()) -> Iterator[Literal]:
    """Yield the values and templates that are written in a flow's steps, and each member of their lists."""
    for step in wired.steps.values():
        mapped = {key: text for key, text in step.step.input_mappings.items() if isinstance(text, str)}
        templates = {key: text[len(TEMPLATE) :] for key, text in mapped.items() if text.startswith(TEMPLATE)}
        reads = {**step.step.inputs, **templates}
        parts = ((reads, step.interface.reads, False), (step.step.params, step.interface.params, True))
        for values, fields, is_param in parts:
            for key in [key for key in values if key in fields]:
                members = values[key] if isinstance(values[key], list) else []
                for value, is_member in [(values[key], False), *((each, True) for each in members)]:
                    yield Literal(step, fields[key], value, is_param, is_member, above)


def is_named(sentence: str, value: Any) -> bool:
    """Return True if a sentence names a value: a number, a path, a URL, or a text in quotes."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return any(says(sentence.lower(), each) for each in spellings(str(value)))
    if not value or "$" in value or is_secret_value(value):  # a template in an input's default would not be expanded
        return False
    return any(f"{q}{value}{q}" in sentence for q in "\"'`") or (is_path(value) and says(sentence, value))


def spellings(number: str) -> Iterator[str]:
    """Yield the ways to write a number in a sentence: `#12` as 12, `2.0` as 2, `10000` as 10,000, `5` as five."""
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
    key = word if first.is_member else first.field.name
    return free_name(wired, first.step.id, key, {each.step.id for each in literals})


def free_name(wired: WiredFlow, step: str, key: str, own: set[str]) -> str:
    """Return a name for an input that the steps in `own` read as `key`: the key, or STEP_KEY if that name is used."""
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
    doc = f"one of: {first.field.doc}" if first.is_member else first.field.doc
    flow.inputs[name] = Input(name, type=first.type, description=doc, default=first.default, has_default=True)
    for literal in literals:
        _replace(flow.step(literal.step.id), literal, name)
    return flow


def _replace(step: Step, literal: Literal, name: str) -> None:
    key, values = literal.field.name, step.params if literal.is_param else step.inputs
    if literal.is_member:
        values[key] = [f"${name}" if each == literal.value else each for each in values[key]]
    elif literal.is_param:
        values[key] = f"${name}"
    else:
        del values[key]
        step.input_mappings[key] = name


@dataclass(frozen=True)
class Piped:
    """The piped input. `kind` is raw or a store; `carried` is the path of the value that the pipe carries, or "", with
    its `type` and `size`; `keys` has the types of the store's keys that inputs may read by name.
    """

    kind: str
    carried: str
    type: str
    size: int | None
    keys: dict[str, str]

    @property
    def form(self) -> list[Any]:
        """The piped input's part of a plan's cache key: the same for all values of one type."""
        return [self.kind, self.carried, self.type, self.keys]

    def __str__(self) -> str:
        """Describe the piped input for a model."""
        size = f", {self.size:,} {UNITS[self.type]}" if self.size is not None else ""
        if self.kind == RAW:
            what = f"{'text' if self.type == 'str' else 'data that is not text'}{size}"
        else:
            what = f"{clean(self.carried)} ({self.type}{size})" if self.carried else "a store"
        keys = [f"${key} ({type})" for key, type in self.keys.items()]
        taken = ": the first step takes it" if self.carried else ""
        return f"Through the pipe comes {what}{taken}." + (f" In it are {', '.join(keys)}." if keys else "")


def piped_in(intake: Intake) -> Piped | None:
    """Return the piped input; None if stdin is not read. An empty pipe is an empty text here: the run refuses it."""
    if intake.kind == NOTHING:
        return None
    if intake.kind == EMPTY:
        return Piped(RAW, "stdin", "str", 0, {})
    document = intake.document
    carried = document.header.get("last", "")
    value = _value(document, parse_path(carried)) if carried else None
    size = len(value) if isinstance(value, str | bytes | list | dict) else None
    return Piped(intake.kind, carried, _type_of(value), size, _keys(document) if intake.kind == STORE else {})


def _keys(document: Document) -> dict[str, str]:
    """Return the type of each key, including those that the stages of a dry run would write."""
    keys = dict.fromkeys([*document, *document.header.get("dry", [])])
    names = [key for key in keys if NAME.fullmatch(key) and not is_secret_name(key)]
    return {name: _type_of(_value(document, (name,))) for name in names[:_MOST_KEYS]}


def _value(document: Document, path: Path) -> Any:
    """Return the value at a path; None if it is missing or cannot be decoded."""
    return result_of(find, document, path, of=PflowError, otherwise=None)


def _type_of(value: Any) -> str:
    return name if (name := type(value).__name__) in ("str", "bool", "int", "float", "list", "dict", "bytes") else "any"


def declare_keys(flow: FlowSpec, piped: Piped | None) -> None:
    """Declare the keys of the store that the flow names as inputs, since pipe syntax cannot declare them."""
    named = {each.input for each in wire(flow).references} if piped else set()
    for key, type in piped.keys.items() if piped else ():
        if key in named and key != "stdin":
            flow.inputs.setdefault(key, Input(key, type=type))


def check_piped(wired: WiredFlow, piped: Piped | None) -> list[Finding]:
    """Find PL09: raw input that no step takes, which a run would refuse."""
    takes = wired.first_read is not None or any(each.pipe and each.readers for each in wired.inputs.values())
    if piped is None or piped.kind != RAW or not piped.size or takes or names_stdin(wired):
        return []
    message, remedy = "nothing uses the piped input", "begin with a step that takes a text, or write $stdin in a flag"
    return [Finding("PL09", ("inputs",), message, remedy)]


def declare_piped(wired: WiredFlow, piped: Piped | None) -> WiredFlow:
    """Return a wired copy that declares the piped input, since pipe syntax cannot declare it."""
    if any(each.pipe for each in wired.flow.inputs.values()):
        return wired
    changed = wire(_with_input(wired, piped))
    is_declared = any(each.pipe for each in changed.flow.inputs.values())
    return changed if is_declared and not errors_of(check(changed)) else wired


def _with_input(wired: WiredFlow, piped: Piped | None) -> FlowSpec:
    """Return the flow with the piped input declared: for `stdin`, for the carried key, or for the first read."""
    flow = wired.flow.copied()
    named = [each for each in wired.references if each.path[0] == "stdin"]
    carried = wired.inputs.get(piped.carried) if piped else None
    first, key = wired.first_read, "stdin"
    if named and not (piped and piped.carried != "stdin" and "stdin" in piped.keys):
        is_whole = len(named) == 1 and named[0].role == MAPPING and not named[0].expression.is_template
        name = _declare(wired, flow, named[0].step, named[0].key if is_whole else "")
        _rename(wired, flow, {each.path: (name, *each.path[1:]) for each in named})
    elif carried is not None and carried.declared and carried.readers and not carried.has_default:
        name = key = carried.name
        flow.inputs[name].pipe = True
    # A flow that names keys of the store reads those, and not the value that the pipe carries.
    elif piped and piped.carried and first and not flow.inputs.keys() & piped.keys.keys():
        name = _declare(wired, flow, *first)
    else:
        return flow
    in_templates = {(each.step, each.path[0]) for each in wired.references if each.expression.is_template}
    if first and (first[0], key) not in in_templates:  # a template that uses the value needs no mapping too
        flow.step(first[0]).input_mappings[first[1]] = name
    return flow


def _declare(wired: WiredFlow, flow: FlowSpec, id: str, key: str) -> str:
    """Declare the piped input, with the name and type of the read `key` if there is one; return the name."""
    field = wired.steps[id].interface.reads.get(key) if key else None
    name = free_name(wired, id or "piped", key or "text", {id} if key else set())
    type = str(field.type) if field is not None else "any"
    flow.inputs[name] = Input(name, type=type, description=field.doc if field is not None else "", pipe=True)
    return name


def _rename(wired: WiredFlow, flow: FlowSpec, places: dict[Path, Path]) -> None:
    several = {path: (place,) for path, place in places.items()}
    for step in flow.steps:
        for expr in wired.expressions[step.id]:
            if expr.role in (INPUT, PARAM) and expr.is_template:
                values = step.inputs if expr.role == INPUT else step.params
                values[expr.key] = move_references(expr.written, places)
            elif expr.role == MAPPING:
                step.input_mappings[expr.key] = move_source(step.input_mappings[expr.key], several)
            elif expr.role == OVER and step.batch is not None:
                step.batch.over = str(move_source(step.batch.over, several))
    flow.outputs = {name: str(move_source(source, several)) for name, source in flow.outputs.items()}
