"""Mappings from a model, for the gaps that leave several answers: what it is told, and what it may answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pflow.binding.sources import parse_source
from pflow.flow.findings import Finding
from pflow.flow.unload import canonical_json
from pflow.flow.wired import WiredFlow
from pflow.models.talk import Said
from pflow.plan.answer import PL00, PLACE, find_objects
from pflow.plan.building_blocks import interfaces_text
from pflow.plan.change.change import errors_of
from pflow.plan.change.gaps import Gap, Wired
from pflow.plan.change.masks import masked
from pflow.plan.conversation import Request
from pflow.plan.prompt import listed
from pflow.templates import TEMPLATE

PL02, PL09 = "PL02", "PL09"

_SYSTEM = """\
You wire a flow for pflow: you say where reads of its steps take their values from. Its steps, edges, inputs and params
stay as they are. Answer with one JSON object, and with nothing else:

{"mappings": {"STEP": {"input_mappings": {"READ": "SOURCE"}}}}

- Only the reads that are asked for get a mapping.
- A SOURCE is what an earlier step writes, STEP.WRITE, or a part of it, STEP.WRITE.PART; or a declared input's name.
- Several values that one text is made of: "template:First: ${a.response}\\nSecond: ${b.response}".
- A read that is marked [explicit] takes a declared input of the flow only.
- A source is of the read's type, or fits it.
"""

_REMEDY = 'answer with {"mappings": {"STEP": {"input_mappings": {"READ": "SOURCE"}}}}'
_MOST = 40
"""Candidates of one read that are named."""


def request(flow: WiredFlow, left: Sequence[Gap]) -> Request:
    """The flow, its nodes' interfaces and the reads that want a source."""
    reads = "\n".join(map(_line, left))
    task = f"The flow:\n{canonical_json(masked(flow))}\nIts nodes:\n{interfaces_text(flow)}\n"
    return Request(_SYSTEM, f"{task}The reads that want a source:\n{reads}", _findings_text, _schema)


def _line(gap: Gap) -> str:
    doc = f" ({gap.item.doc})" if gap.item.doc else ""
    marks = ", [explicit]" if gap.is_explicit else ""
    optional = "" if gap.is_needed else "; it may be left out"
    return f"- {gap}: {gap.item.type}{marks}{doc}: {candidates_text(gap)}{optional}"


def candidates_text(gap: Gap) -> str:
    shown = [f"{each.text} ({each.type.name})" for each in gap.candidates[:_MOST]]
    more = len(gap.candidates) - len(shown)
    return ("it could be " + ", ".join(shown) + (f" and {more} more" if more else "")) if shown else "nothing fits"


def _findings_text(findings: Sequence[Finding]) -> str:
    wish = "Answer with all mappings that were asked for, as one JSON object."
    return f"Those mappings cannot be used:\n{listed(findings)}\n\n{wish}"


def _schema() -> dict[str, Any]:
    source = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    reads = {"type": "object", "additionalProperties": source}
    step = {"type": "object", "properties": {"input_mappings": reads}, "required": ["input_mappings"]}
    mappings = {"type": "object", "additionalProperties": step}
    return {"type": "object", "properties": {"mappings": mappings}, "required": ["mappings"]}


class WireJudge:
    """What a model's answers amount to: mappings for the gaps that are `left`, and for nothing else."""

    def __init__(self, flow: WiredFlow, left: Sequence[Gap], mapped: Callable[..., WiredFlow]) -> None:
        self.flow = flow
        self.left = {(gap.step, gap.item.name): gap for gap in left}
        self.mapped = mapped
        self.ir = masked(flow)

    def __call__(self, said: Said) -> tuple[list[Wired] | None, list[Finding]]:
        """The mappings of an answer, and why they will not do."""
        documents = [each for each in find_objects(said).values if "mappings" in each]
        if not documents or any(each != documents[0] for each in documents):
            why = "it is longer than mappings can be" if said.is_too_long else 'it is no JSON object with "mappings"'
            return None, [Finding(PL00, PLACE, why, _REMEDY)]
        mappings = documents[0]["mappings"]
        findings = list(self._beside(documents[0]))
        found = [] if findings else list(self._found(mappings))
        findings += [finding for each in found for finding in self._of_source(each)]
        return found, findings or errors_of(self.mapped(self.flow, found))

    def _beside(self, document: dict[str, Any]) -> Iterator[Finding]:
        """A finding for each part of an answer that was not asked for and differs from the flow's."""
        for name, value in document.items():
            if name != "mappings" and value != self.ir.get(name):
                yield Finding(PL09, (name,), f"the answer changes the flow's {name}", "leave it out")
        steps = document["mappings"]
        if not isinstance(steps, dict) or not all(_is_mapping(parts) for parts in steps.values()):
            yield Finding(PL00, ("mappings",), "it is no object of objects", _REMEDY)
            return
        there = self.ir.get("mappings", {})
        for id, part, key in [(a, b, c) for a in steps for b in steps[a] for c in steps[a][b]]:
            is_asked = part == "input_mappings" and (id, key) in self.left
            if not is_asked and there.get(id, {}).get(part, {}).get(key) != steps[id][part][key]:
                yield Finding(PL09, ("mappings", id, part, key), "it was not asked for", "leave it out")

    def _found(self, mappings: dict[str, Any]) -> Iterator[Wired]:
        for (id, key), gap in self.left.items():
            keys = mappings.get(id, {}).get("input_mappings", {})
            if key in keys:
                yield Wired(gap, keys[key], "the model says so")

    def _of_source(self, wired: Wired) -> Iterator[Finding]:
        """What is wrong with a source whatever the rules say of it."""
        place, roots = wired.gap.place, roots_of(wired.source)
        if roots is None:
            yield Finding(PL00, place, "it is no path, template or list of paths", "a source is written STEP.WRITE")
            return
        if not roots:
            yield Finding(PL02, place, "it takes its value from nowhere", "a source is written STEP.WRITE")
        there = self._roots(wired.gap)
        for root in roots:
            if root not in there:
                remedy = f"there is {', '.join(sorted(there)) or 'nothing'}"
                yield Finding(PL02, place, f"'{root}' is nothing that it may take", remedy)

    def _roots(self, gap: Gap) -> set[str]:
        """What a path may begin with: steps, keys that are written and inputs; for an [explicit] read inputs only."""
        batch = self.flow.steps[gap.step].step.batch
        inputs = {name for name in self.flow.flow.inputs if not self.flow.inputs[name].secret}
        inputs |= {batch.item} if batch is not None else set()
        if gap.is_explicit:
            return inputs
        places = [step.place_of(key)[0] for step in self.flow.steps.values() for key in step.interface.writes]
        return inputs | set(self.flow.steps) | {str(place) for place in places}


def _is_mapping(parts: Any) -> bool:
    return isinstance(parts, dict) and all(isinstance(keys, dict) for keys in parts.values())


def roots_of(source: Any) -> list[str] | None:
    """What the paths of a source begin with; None where it does not parse."""
    is_list = isinstance(source, list) and bool(source) and all(isinstance(each, str) for each in source)
    if not is_list and not (isinstance(source, str) and source):
        return None
    if is_list and any(each.startswith(TEMPLATE) for each in source):
        return None
    try:
        return [str(path[0]) for path in parse_source(source).paths]
    except ValueError:
        return None
