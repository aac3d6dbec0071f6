"""Whether two flows say the same: each thing in which one differs from what was wanted."""

from __future__ import annotations

from pflow.flow.pipe.flags import path_text, whole_reference
from pflow.templates import TEMPLATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.flow import Edge, Flow, Step

OUTPUT, INPUT, OTHER = "output", "input", "other"
_FIELDS = ("retries", "wait", "timeout")


class Difference:
    """One difference: of an `OUTPUT` mapping, an `INPUT` mapping or anything else, of a step's key, in words.

    `is_missing` where something was wanted there; `hint` is what to do.
    """

    __slots__ = ("hint", "is_missing", "key", "kind", "message", "step")

    def __init__(
        self, kind: str, step: str, key: str, message: str, *, hint: str = "", is_missing: bool = False
    ) -> None:
        self.kind = kind
        self.step = step
        self.key = key
        self.message = message
        self.hint = hint
        self.is_missing = is_missing


def differences(wanted: Flow, found: Flow) -> list[Difference]:
    names = [[(step.id, step.type) for step in flow.steps] for flow in (wanted, found)]
    if names[0] != names[1]:
        odd = next((step for step in wanted.steps if (step.id, step.type) not in names[1]), wanted.steps[-1])
        return [Difference(OTHER, odd.id, "", f"the step '{odd.id}' of the type '{odd.type}' would become another")]
    if {_edge(each) for each in wanted.edges} != {_edge(each) for each in found.edges}:
        return [Difference(OTHER, "", "", "its edges would become others")]
    pairs = zip(wanted.steps, found.steps, strict=True)
    return [difference for one, other in pairs for difference in _of_step(one, other)]


def _edge(edge: Edge) -> tuple[str, str, str]:
    return edge.source, edge.target, edge.action


def _of_step(wanted: Step, found: Step) -> Iterator[Difference]:
    id = wanted.id
    for name in ("inputs", "params"):
        here, there = getattr(wanted, name), getattr(found, name)
        for key in {**here, **there}:
            if not (key in here and key in there and is_same(here[key], there[key])):
                yield Difference(OTHER, id, key, f"no flag gives '{id}' its {name}.{key} as it is")
    for name in _FIELDS:
        if not is_same(getattr(wanted, name), getattr(found, name)):
            yield Difference(OTHER, id, name, f"no flag gives '{id}' its {name}")
    yield from _of_mappings(wanted, found, INPUT)
    yield from _of_mappings(wanted, found, OUTPUT)


def _of_mappings(wanted: Step, found: Step, kind: str) -> Iterator[Difference]:
    id, here, there = wanted.id, getattr(wanted, f"{kind}_mappings"), getattr(found, f"{kind}_mappings")
    for key in {**here, **there}:
        if key not in here:
            yield _extra(kind, id, key, there[key])
        elif key not in there or not is_same_source(here[key], there[key]):
            yield Difference(kind, id, key, f"no flag says the {kind} mapping of '{key}' of '{id}'", is_missing=True)


def _extra(kind: str, id: str, key: str, path: Any) -> Difference:
    """The difference that a mapping makes which nobody wanted."""
    if kind == INPUT:
        what = f"it would carry {' or '.join(path) if isinstance(path, list) else path} into '{key}' of '{id}'"
        return Difference(kind, id, key, what, hint=f"a mapping of '{key}'")
    what = f"'{key}' of '{id}' meets what another step writes, and would move to {path}"
    return Difference(kind, id, key, what, hint=f"a mapping of '{key}' to {path}")


def is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    return bool(one == other)


def is_same_source(wanted: Any, found: Any) -> bool:
    """Whether two mappings are; a template that is one whole reference counts as the path in it, if found so."""
    if wanted == found or not isinstance(wanted, str) or not wanted.startswith(TEMPLATE):
        return bool(wanted == found)
    path = whole_reference(wanted.removeprefix(TEMPLATE))
    return path is not None and isinstance(found, str) and path_text(path) == found
