"""The rules that a flow is held to before it runs: a file here each, found by its name; all findings at once."""

from __future__ import annotations

import os
import sys
from copy import copy

from pflow import TYPE_CHECKING
from pflow.flow.build import place_in_file
from pflow.flow.findings import SHAPE, Finding
from pflow.flow.flow import Edge
from pflow.flow.rules._view import View
from pflow.flow.wiring import wire
from pflow.naming import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pflow.flow.findings import Place, Rule
    from pflow.flow.flow import Flow
    from pflow.flow.wired import WiredFlow, WiredStep

_SECTIONS = ("inputs", "outputs", "nodes", "edges", "mappings")
_MEMBERS = (
    *("id", "name", "type", "version", "params", "config", "inputs", "batch"),
    *("input_bindings", "output_bindings", "input_mappings", "output_mappings"),
)
"""The order of the places of findings."""


def find_rules() -> dict[str, Rule]:
    """The rules of all files here, by their ids."""
    rules: dict[str, Rule] = {}
    for file in sorted(os.listdir(__path__[0])):
        if file.endswith(".py") and not file.startswith("_"):
            module = f"{__name__}.{file[:-3]}"
            __import__(module)
            rules |= {rule.id: rule for rule in sys.modules[module].RULES}
    return dict(sorted(rules.items()))


RULES = find_rules()


def check(wired: WiredFlow, findings: Sequence[Finding] = ()) -> list[Finding]:
    """Hold a flow to every rule: what is wrong with it, after the shape `findings` that its file had, by place.

    The errors of its subflows are among them, at `("nodes", 1, ("nodes", 0, "type"))`.
    """
    return _check(wired, findings, set())


def _check(wired: WiredFlow, findings: Sequence[Finding], seen: set[str]) -> list[Finding]:
    found = list(findings)
    if wired.flow.steps or not any(each.rule == SHAPE for each in findings):
        view = View(_as_meant(wired), wired.flow.edges)
        found += [each for rule in RULES.values() if rule.check for each in rule.check(view)]
    for step in wired.steps.values():
        found += _in_subflow(step, seen)
    for each in found:
        each.place = place_in_file(wired.flow, each.place)
    return in_order(wired.flow, found)


def _as_meant(wired: WiredFlow) -> WiredFlow:
    """The flow with its edges between the steps that they were meant for: one slip is to be one finding."""
    ids = wired.steps.keys()
    unknown = {end for edge in wired.flow.edges for end in (edge.source, edge.target)} - ids
    names = {id: nearest(id, ids) or id for id in unknown}
    if all(id == name for id, name in names.items()):
        return wired
    flow = copy(wired.flow)
    flow.edges = [
        Edge(names.get(edge.source, edge.source), names.get(edge.target, edge.target), edge.action, edge.place)
        for edge in flow.edges
    ]
    return wire(flow)


def _in_subflow(step: WiredStep, seen: set[str]) -> Iterator[Finding]:
    """The errors of the flow that a step runs, once for each file."""
    if step.subflow is None or step.kind is None or step.kind.file in seen:
        return
    seen.add(step.kind.file)
    for each in _check(step.subflow, (), seen):
        if not each.is_warning:
            yield Finding(each.rule, (*step.step.place, each.place), each.message, each.remedy)


def in_order(flow: Flow, findings: Iterable[Finding]) -> list[Finding]:
    """Every finding once: wrong shapes first, then by place in the file, then by rule."""
    once = {(each.rule, each.place, each.message): each for each in findings}
    names = {
        "inputs": {name: n for n, name in enumerate(flow.inputs)},
        "outputs": {name: n for n, name in enumerate(flow.outputs)},
        "mappings": {step.id: n for n, step in enumerate(flow.steps)},
    }
    return sorted(
        once.values(), key=lambda each: (each.rule != SHAPE, *_key(each.place, names), each.rule, each.is_warning)
    )


def _key(place: Place, names: dict[str, dict[str, int]]) -> tuple[int, int, int]:
    """Where a place stands: its section, the number of its part there, the number of the member of that."""
    section, part, member = (*place, "", "", "")[:3]
    at = _SECTIONS.index(section) if section in _SECTIONS else -1
    there = names.get(str(section), {})
    number = part if isinstance(part, int) else there.get(str(part), len(there))
    return at, number, _MEMBERS.index(member) + 1 if member in _MEMBERS else len(_MEMBERS) + 1 if member else 0
