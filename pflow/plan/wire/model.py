"""Mappings from a model, for the gaps that leave no answer: held to the rules, and to adding mappings only."""

from __future__ import annotations

from pflow.flow.findings import Finding
from pflow.flow.flow import TEMPLATE
from pflow.plan.change.faults import errors_of
from pflow.plan.wire.settle import Settled, mapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from pflow.flow.flow import Flow
    from pflow.flow.wired import WiredFlow
    from pflow.models.talk import Said
    from pflow.plan.wire.settle import Open

PL00, PL02, PL09 = "PL00", "PL02", "PL09"
"""PL09: only mappings are added, and only those that were asked for."""
PLACE = ("the answer",)
WHY = "the model says so"

_REMEDY = 'answer with {"mappings": {"STEP": {"input_mappings": {"READ": "SOURCE"}}}}'
_SAME = "leave it out: only mappings are asked for"


class Judge:
    """What is made of a model's answers for the gaps that are left in a flow."""

    def __init__(self, plan: WiredFlow, left: Sequence[Open]) -> None:
        from pflow.plan.change.masks import hidden

        self.flow: Flow = plan.flow
        self.plan = plan
        self.left = {(each.gap.step, each.gap.item.name): each.gap for each in left}
        self.ir = hidden(plan.flow)

    def __call__(self, said: Said) -> tuple[list[Settled] | None, list[Finding]]:
        """The mappings of an answer, and why they will not do."""
        from pflow.plan.wire.words import read_mappings

        document = read_mappings(said)
        if document is None:
            why = "it is longer than mappings can be" if said.is_too_long else 'it is no JSON object with "mappings"'
            return None, [Finding(PL00, PLACE, why, _REMEDY)]
        findings = [*self._others(document), *self._misplaced(document["mappings"])]
        settled = list(self._settled(document["mappings"]))
        findings += [finding for each in settled for finding in self._of_source(each)]
        return settled, findings or errors_of(mapped(self.flow, settled))

    def _others(self, document: dict[str, Any]) -> Iterator[Finding]:
        """A finding for each member that is no mapping and not as the flow has it."""
        for name, value in document.items():
            if name != "mappings" and value != self.ir.get(name):
                yield Finding(PL09, (name,), f"the answer changes the flow's {name}", _SAME)

    def _misplaced(self, mappings: Any) -> Iterator[Finding]:
        """A finding for each mapping that nobody asked for, and is not there already."""
        if not isinstance(mappings, dict):
            yield Finding(PL00, ("mappings",), "it is no object", _REMEDY)
            return
        there = self.ir.get("mappings", {})
        for id, parts in mappings.items():
            for part, keys in parts.items() if isinstance(parts, dict) else [(id, parts)]:
                if not isinstance(keys, dict):
                    yield Finding(PL00, ("mappings", id), "it is no object", _REMEDY)
                    continue
                for key, source in keys.items():
                    is_asked = part == "input_mappings" and (id, key) in self.left
                    if not is_asked and there.get(id, {}).get(part, {}).get(key) != source:
                        yield Finding(PL09, ("mappings", id, part, key), "nobody asked for it", "leave it out")

    def _settled(self, mappings: Any) -> Iterator[Settled]:
        for (id, key), gap in self.left.items():
            parts = mappings.get(id) if isinstance(mappings, dict) else None
            keys = parts.get("input_mappings") if isinstance(parts, dict) else None
            if isinstance(keys, dict) and key in keys:
                yield Settled(gap, keys[key], WHY)

    def _of_source(self, settled: Settled) -> Iterator[Finding]:
        """What is wrong with a source whatever the rules say of it."""
        place, roots = settled.gap.place, roots_of(settled.source)
        if roots is None:
            yield Finding(PL00, place, "it is no path, template or list of paths", "a source is written STEP.WRITE")
            return
        if not roots:
            yield Finding(PL02, place, "it takes its value from nowhere", "a source is written STEP.WRITE")
        there = self._there(settled)
        for root in roots:
            if root not in there:
                remedy = f"there is {', '.join(sorted(there)) or 'nothing'}"
                yield Finding(PL02, place, f"'{root}' is nothing that it may take", remedy)

    def _there(self, settled: Settled) -> set[str]:
        """What a path may begin with: steps, keys that are written and inputs; for an [explicit] read inputs only."""
        step = self.flow.step(settled.gap.step)
        inputs = {name for name in self.flow.inputs if not self.plan.inputs[name].secret}
        inputs |= {step.batch.item} if step.batch is not None else set()
        if settled.gap.is_explicit:
            return inputs
        places = [wired.place_of(key)[0] for wired in self.plan.steps.values() for key in wired.interface.writes]
        return inputs | set(self.plan.steps) | {str(place) for place in places}


def roots_of(source: Any) -> list[str] | None:
    """What the paths of a source begin with; None where it does not parse."""
    from pflow.binding.sources import parse_source

    is_list = isinstance(source, list) and bool(source) and all(isinstance(each, str) for each in source)
    if not is_list and not (isinstance(source, str) and source):
        return None
    if is_list and any(each.startswith(TEMPLATE) for each in source):
        return None
    try:
        return [str(path[0]) for path in parse_source(source).paths]
    except ValueError:
        return None
