"""The order of findings: wrong shapes first, then by place in the file, then by rule; none twice."""

from __future__ import annotations

from pflow.flow.findings import SHAPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from pflow.flow.findings import Finding, Place
    from pflow.flow.flow import Flow

_SECTIONS = ("inputs", "outputs", "nodes", "edges", "mappings")
_MEMBERS = (
    *("id", "name", "type", "version", "params", "config", "inputs", "batch"),
    *("input_bindings", "output_bindings", "input_mappings", "output_mappings"),
)


def in_order(flow: Flow, findings: Iterable[Finding]) -> list[Finding]:
    """Every finding once. Members of `inputs`, `outputs` and `mappings` stand in the order of the flow."""
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
