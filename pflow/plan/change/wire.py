"""pflow plan --wire: mappings for a flow whose reads have no source, or a wrong one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

from pflow.binding.sources import parse_source
from pflow.errors import OK, PflowError
from pflow.flow.findings import Finding
from pflow.flow.named import load_named
from pflow.flow.unload import canonical_json
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.models.choose import NoCapableModel, choose_capable
from pflow.models.talk import Said
from pflow.plan.answer import PL00, PLACE, find_objects
from pflow.plan.building_blocks import interfaces_text
from pflow.plan.change.change import Change, FlowFile, Options, change_error, errors_of, flow_file_of, say, say_findings
from pflow.plan.change.gaps import Gap, Gaps, Wired
from pflow.plan.conversation import Outcome, Request, converse
from pflow.plan.prompt import listed
from pflow.plan.secrets import masked
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

_MOST_NAMES = 5


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

    def __init__(self, flow: WiredFlow, left: Sequence[Gap]) -> None:
        self.flow = flow
        self.left = {(gap.step, gap.item.name): gap for gap in left}
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
        return found, findings or errors_of(mapped(self.flow, found))

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


class Wiring:
    """What becomes of a flow: the mappings that were found, the gaps that are left, and every error at the end."""

    def __init__(self, old: WiredFlow) -> None:
        self.old = old
        self.flow = old
        self.found: list[Wired] = []
        self.left: list[Gap] = []
        self.errors = errors_of(old)

    def fill_gaps(self) -> None:
        """Add the mappings that leave no doubt, until there are no more: one may leave another step without readers."""
        tried: set[tuple[str | int, ...]] = set()
        while True:
            gaps = Gaps(self.flow, self.errors)
            there = gaps.find()
            chosen = [each for gap in there if gap.place not in tried and (each := gaps.choose(gap))]
            self.left = [gap for gap in there if gap.is_question and not any(each.gap is gap for each in chosen)]
            if not chosen:
                return
            tried |= {each.gap.place for each in chosen}
            if not self.add(chosen):
                for each in chosen:
                    self.add([each])

    def add(self, chosen: Sequence[Wired]) -> bool:
        """Add mappings to the flow, unless they break a rule that it keeps without them; whether it has them."""
        flow = mapped(self.flow, chosen)
        errors = errors_of(flow)
        if {(each.rule, each.place) for each in errors} - {(each.rule, each.place) for each in self.errors}:
            return False
        self.found += chosen
        self.flow, self.errors = flow, errors
        for each in chosen:
            say(f"{each.gap} ← {each.source if isinstance(each.source, str) else ' or '.join(each.source)}: {each.why}")
        return True

    @property
    def is_stuck(self) -> bool:
        """Whether the flow has errors that no mapping for what is left could put right."""
        steps = {self.flow.steps[gap.step].step.place for gap in self.left}
        places = {gap.place for gap in self.left} | steps
        places |= {("inputs", gap.item.name, "type") for gap in self.left}
        by_mappings = ("PF03", "PF08", "PF14", "PF15")
        return any(each.rule not in by_mappings or each.place not in places for each in self.errors)


def mapped(flow: WiredFlow, chosen: Iterable[Wired]) -> WiredFlow:
    """The flow with these mappings, wired."""
    new = copy(flow.flow)
    new.steps = [copy(step) for step in new.steps]
    for each in chosen:
        step = new.step(each.gap.step)
        step.input_mappings = {**step.input_mappings, each.gap.item.name: each.source}
    return wire(new)


def main(words: Sequence[str], options: Options) -> int:
    """Wire the flow that the words name; the exit code.

    Raises PflowError: 65 where something is wrong that no mapping puts right, 78 where only a model could choose and
    none is capable, and what asking a model raises.
    """
    file = flow_file_of(words)
    options.check(file)
    loaded = load_named(words)
    errors = [each for each in loaded.findings if not each.is_warning]
    if errors:
        raise _cannot(file, errors)
    wiring = Wiring(wire(loaded.flow))
    wiring.fill_gaps()
    if wiring.left and not wiring.is_stuck:
        _ask(wiring, file, options)
    _say_left(wiring.left)
    about = {"mappings": [_as_json(each) for each in wiring.found], "open": [str(gap) for gap in wiring.left]}
    change = Change(wiring.old, wiring.flow, file, about)
    if wiring.errors:
        if change.diff:
            change.show(options)
        raise _cannot(file, wiring.errors)
    if wiring.found:
        return change.finish(options)
    count = len(wiring.flow.steps)
    say(f"nothing to wire: every read of {'its step' if count == 1 else f'its {count} steps'} has a source")
    change.print(options)
    return OK


def _ask(wiring: Wiring, file: FlowFile, options: Options) -> None:
    """Have a model choose what is left. Without a model, a flow that passes as it is stays so."""
    try:
        model = choose_capable(options.model, f"wire {_names(wiring.left)} in '{file}'")
    except NoCapableModel as error:
        if not wiring.errors:
            return
        if wiring.found:
            Change(wiring.old, wiring.flow, file).show(options)
        _say_left(wiring.left)
        raise change_error(error.message, wiring.errors, hint=error.hint, exit=error.exit) from error
    judge = WireJudge(wiring.flow, wiring.left)
    outcome = converse(model, request(wiring.flow, wiring.left), judge, say, options.timeout)
    if not outcome.is_right:
        raise _unwired(wiring, file, options, outcome)
    answered = [each.gap for each in outcome.result]
    wiring.left = [gap for gap in wiring.left if gap not in answered]
    wiring.add(outcome.result)


def _names(left: Sequence[Gap]) -> str:
    names = [str(gap) for gap in left if gap.is_needed] or [str(gap) for gap in left]
    return ", ".join([*names[:_MOST_NAMES], *(["…"] if len(names) > _MOST_NAMES else [])])


def _unwired(wiring: Wiring, file: FlowFile, options: Options, best: Outcome) -> PflowError:
    """No try passed: the best is shown, with what is wrong with it."""
    sound = [each for each in best.result or () if roots_of(each.source) is not None]
    say("the best try, which will not do:")
    Change(wiring.old, mapped(wiring.flow, sound), file).show(options)
    return _cannot(file, best.findings, "none of its tries passes the rules")


def _cannot(file: FlowFile, findings: Sequence[Finding], why: str = "no mapping puts this right") -> PflowError:
    say_findings(findings)
    return change_error(f"cannot wire '{file}': {why}", findings, hint="nothing was written")


def _say_left(left: Sequence[Gap]) -> None:
    for gap in left:
        stays = "" if gap.is_needed else ", and stays an input of the flow"
        say(f"{gap} has no source{stays}: {candidates_text(gap)}")


def _as_json(wired: Wired) -> dict[str, Any]:
    return {"step": wired.gap.step, "read": wired.gap.item.name, "source": wired.source, "why": wired.why}
