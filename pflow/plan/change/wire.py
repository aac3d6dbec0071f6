"""pflow plan --wire: mappings for a flow whose reads have no source, or a wrong one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

from pflow.errors import OK, PflowError
from pflow.flow.findings import Finding
from pflow.flow.named import load_named
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.models.choose import NoCapableModel, choose_capable
from pflow.plan.change.change import Change, Options, change_error, errors_of, say, say_findings
from pflow.plan.change.flow_file import FlowFile, flow_file_of
from pflow.plan.change.gaps import Gap, Gaps, Wired
from pflow.plan.change.wire_model import WireJudge, candidates_text, request, roots_of
from pflow.plan.conversation import Outcome, converse

_MOST_NAMES = 5


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
            source = each.source if isinstance(each.source, str) else " or ".join(each.source)
            say(f"{each.gap} ← {source}: {each.why}")
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
    judge = WireJudge(wiring.flow, wiring.left, mapped)
    outcome = converse(model, request(wiring.flow, wiring.left), judge, say, options.timeout)
    if not outcome.is_right:
        raise _unwired(wiring, file, options, outcome)
    answered = [each.gap for each in outcome.result]
    wiring.left = [gap for gap in wiring.left if gap not in answered]
    wiring.add(outcome.result)


def _names(left: Sequence[Gap]) -> str:
    names = [str(gap) for gap in left if gap.is_needed] or [str(gap) for gap in left]
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return ", ".join([*names[:_MOST_NAMES], *more])


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
