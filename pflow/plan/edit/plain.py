"""Changes that a sentence leaves one answer for: one value for another, a param, how often a step is tried."""

from __future__ import annotations

import re

from pflow.flow.rewrite import escaped
from pflow.library.named import values_in
from pflow.templates import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow, Step
    from pflow.flow.wired import WiredFlow
    from pflow.interface import Item
    from pflow.paths import Path


class Plain:
    """The changed flow, the place of the change, and what it is, in words; `errors` are those that it had before."""

    def __init__(self, flow: Flow, place: Path, words: str) -> None:
        self.flow = flow
        self.place = place
        self.words = words
        self.errors: list[Finding] = []


class _Literal:
    """A value that stands whole in a flow: its place, the name of its type, and how to put another one there."""

    def __init__(self, place: Path, value: Any, type: str, put: Callable[[Flow, Any], None]) -> None:
        self.place = place
        self.value = value
        self.type = type
        self.put = put


def plain_edit(flow: Flow, sentence: str) -> Plain | None:
    """The change that a sentence asks for; None where it takes more than its words to tell, or breaks a rule."""
    if len({step.id for step in flow.steps}) < len(flow.steps):
        return None  # which of two is meant?
    text = sentence.strip().rstrip(".!").removeprefix("please ").removeprefix("Please ")
    for pattern, edit in _EDITS.items():
        match = re.fullmatch(pattern, text, re.IGNORECASE)
        if match is not None:
            found = edit(flow, {name: value.strip() for name, value in match.groupdict().items() if value})
            return found if found is not None and _breaks_nothing(flow, found) else None
    return None


def _breaks_nothing(old: Flow, change: Plain) -> bool:
    """Whether every error of a changed flow was there before."""
    from pflow.plan.change.faults import errors_of

    before = {str(each) for each in errors_of(old)}
    change.errors = errors_of(change.flow)
    return all(str(each) in before for each in change.errors)


def _replace(flow: Flow, said: dict[str, str]) -> Plain | None:
    """Put one value in the place of another of its kind, or in quotes, which stands in the flow once."""
    old, new = _unquoted(said["old"]), _unquoted(said["new"])
    from pflow.flow.wiring import wire

    there = list(_literals(wire(flow)))
    found = [each for each in there if _is(each, old)]
    others = [each.value for each in there if each not in found]
    if len(found) != 1 or _mentions([*others, *flow.outputs.values()], old) or old == new:
        return None
    is_free = new != said["new"] or found[0].type == "path"  # what stands in quotes is meant as it is
    if _kind(old) != _kind(new) and not (is_free and "number" not in (_kind(old), _kind(new))):
        return None
    value = _like(found[0].value, new)
    return None if value is None else _put(flow, found[0], value)


def _retry(flow: Flow, said: dict[str, str]) -> Plain | None:
    """Set how often a step is tried again."""
    step = _step(flow, said["step"])
    if step is None or int(said["times"]) > _MOST_RETRIES:
        return None
    from copy import deepcopy

    changed = deepcopy(flow)
    changed.step(step.id).retries = int(said["times"])
    before = "" if step.retries is None else f" instead of {step.retries}"
    return Plain(changed, (*step.place, "retries"), f"{said['times']}{before}")


def _set(flow: Flow, said: dict[str, str]) -> Plain | None:
    """Set a param that one step has, to a value that can be told from words around it."""
    from pflow.flow.wiring import wire
    from pflow.types import from_text

    plan, key = wire(flow), said["key"].replace("-", "_").replace(" ", "_")
    only = _step(flow, said["step"]) if "step" in said else None
    if "step" in said and only is None:
        return None
    holders = [each for each in plan.steps.values() if key in each.interface.params and only in (None, each.step)]
    if len(holders) != 1 or key in holders[0].step.input_mappings:
        return None
    if "$" in str(holders[0].step.params.get(key)):
        return None  # an input gives it, or a step
    item = holders[0].interface.params[key]
    text = _unquoted(said["value"])
    if "secret" in item.marks or (text == said["value"] and " " in text):
        return None
    try:
        value = from_text(item.type, text)
    except ValueError:
        return None
    return _put(flow, _literal(holders[0].step, "params", key, item), value)


def _step(flow: Flow, name: str) -> Step | None:
    """The only step that is called so, or is of a node that is."""
    named = [step for step in flow.steps if step.id.lower() == name.lower()]
    found = named or [step for step in flow.steps if step.type.lower() == name.lower()]
    return found[0] if len(found) == 1 else None


def _put(flow: Flow, literal: _Literal, value: Any) -> Plain:
    from copy import deepcopy

    from pflow.terminal.columns import value_text

    changed = deepcopy(flow)
    literal.put(changed, value)
    before = "" if literal.value is None else f" instead of {value_text(literal.value)}"
    return Plain(changed, literal.place, f"{value_text(value)}{before}")


def _literals(plan: WiredFlow) -> Iterator[_Literal]:
    """Each value that stands whole in a flow, the inputs' defaults among them; no secrets."""
    for name, given in plan.flow.inputs.items():
        if given.has_default and not plan.inputs[name].secret:
            yield _Literal(("inputs", name, "default"), given.default, plan.inputs[name].type.name, _put_default(name))
    for wired in plan.steps.values():
        step = wired.step
        items = {**wired.interface.params, **wired.interface.reads}
        for part, values in (("inputs", step.inputs), ("params", step.params)):
            for key in values:
                item = items.get(key)
                if item is None or "secret" not in item.marks:
                    yield _literal(step, part, key, item)
        for key, source in step.input_mappings.items():
            if isinstance(source, str) and source.startswith(TEMPLATE):
                place = ("mappings", step.id, "input_mappings", key)
                yield _Literal(place, source.removeprefix(TEMPLATE), "str", _put_mapping(step.id, key))


def _literal(step: Step, part: str, key: str, item: Item | None) -> _Literal:
    is_verbatim = item is not None and "verbatim" in item.marks

    def put(flow: Flow, value: Any) -> None:
        getattr(flow.step(step.id), part)[key] = value if is_verbatim else escaped(value)

    return _Literal((*step.place, part, key), getattr(step, part).get(key), item.type.name if item else "any", put)


def _put_default(name: str) -> Callable[[Flow, Any], None]:
    def put(flow: Flow, value: Any) -> None:
        from pflow.plan.change.renamed import renamed

        given = flow.inputs[name]
        flow.description = renamed(flow.description, given.default, value)
        given.default = value

    return put


def _put_mapping(id: str, key: str) -> Callable[[Flow, Any], None]:
    def put(flow: Flow, value: Any) -> None:
        flow.step(id).input_mappings[key] = TEMPLATE + str(escaped(value))

    return put


def _is(literal: _Literal, text: str) -> bool:
    """Whether a value is what a text says."""
    value = literal.value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    return value == text if isinstance(value, str) else _number(text) == value


def _mentions(value: Any, text: str) -> bool:
    """Whether a text stands in a value, or in a part of one."""
    if isinstance(value, dict):
        return _mentions([*value, *value.values()], text)
    if isinstance(value, list):
        return any(_mentions(each, text) for each in value)
    return text in value if isinstance(value, str) else not isinstance(value, bool) and str(value) == text


def _like(value: Any, text: str) -> Any:
    """A text as a value of the kind that another one is; None where it is none."""
    return text if isinstance(value, str) else _number(text)


def _number(text: str) -> int | float | None:
    named = values_in(text)
    return named[0].number if len(named) == 1 and named[0].kind == "number" and named[0].text == text else None


def _kind(text: str) -> str:
    """The kind of value that a whole text is."""
    named = values_in(text)
    return named[0].kind if len(named) == 1 and named[0].text == text else "words"


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'`" else text


_MOST_RETRIES = 100
_VALUE = r"\"[^\"]+\"|'[^']+'|`[^`]+`|\S+"
_NODE = r"(?:step |node )?(?P<step>[\w-]+)(?: step| node)?"
_EDITS: dict[str, Callable[[Flow, dict[str, str]], Plain | None]] = {
    rf"(?:use|take|read|write to) (?P<new>{_VALUE}) (?:instead of|in place of|rather than) (?P<old>{_VALUE})": _replace,
    rf"(?:replace|swap) (?P<old>{_VALUE}) (?:with|by|for) (?P<new>{_VALUE})": _replace,
    rf"change (?P<old>{_VALUE}) (?:to|into) (?P<new>{_VALUE})": _replace,
    rf"retry (?:the )?{_NODE} (?:up to )?(?P<times>\d{{1,4}}) times?": _retry,
    rf"set (?:the )?(?P<key>[\w-]+(?: [\w-]+)?)(?: of (?:the )?{_NODE})? to (?P<value>{_VALUE})": _set,
}
"""What a sentence may look like, and what is then done."""
