"""The rules that a flow is held to before it runs: one entry each, all findings at once."""

from __future__ import annotations

from pflow.catalog.kinds import FLOW
from pflow.flow.findings import SHAPE, Finding
from pflow.flow.rules.branches import check_branches
from pflow.flow.rules.commandline import check_flags, check_injection
from pflow.flow.rules.graph import check_edges, check_graph
from pflow.flow.rules.keys import check_reserved, check_words
from pflow.flow.rules.kinds import check_classes, check_types
from pflow.flow.rules.mend import doubled_ids, hidden, mended
from pflow.flow.rules.older import as_in_file
from pflow.flow.rules.order import in_order
from pflow.flow.rules.params import check_params
from pflow.flow.rules.paths import check_paths
from pflow.flow.rules.reads import check_explicit, check_sources
from pflow.flow.rules.types import check_mapped_types
from pflow.flow.rules.view import View
from pflow.flow.rules.writes import check_overwriting, check_targets
from pflow.flow.wiring import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pflow.flow.wired import WiredFlow, WiredStep

    Check = Callable[[View], Iterator[Finding]]


class Rule:
    """A rule: its id, what it says, what becomes of a flow that breaks it, and how a plan is held to it.

    Without a check it is about a command line, and is kept where flags are taken.
    """

    __slots__ = ("checks", "id", "otherwise", "title")

    def __init__(self, id: str, title: str, otherwise: str, *checks: Check) -> None:
        self.id = id
        self.title = title
        self.otherwise = otherwise
        self.checks = checks


_ERROR, _WARNING = "error", "warning"

RULES = {
    rule.id: rule
    for rule in (
        Rule("PF01", "the command line cannot change nodes, edges or mappings", _ERROR),
        Rule(
            "PF02", "every flag is a read or param of a step, or a flow input, and fits only one", _ERROR, check_flags
        ),
        Rule("PF03", "every required read has a source", _ERROR, check_sources),
        Rule("PF04", "a param given on the command line overrides", "noted in the run's snapshot"),
        Rule("PF05", "stdin is reserved: no step writes it; piped bytes need a step", _ERROR, check_reserved),
        Rule("PF06", "mapping targets never meet, nor do branches of a fork", _ERROR, check_targets, check_branches),
        Rule("PF07", "a flag cannot inject a key that an earlier step writes", _ERROR, check_injection),
        Rule("PF08", "an [explicit] read has a flag, an input, a param or a mapping", _ERROR, check_explicit),
        Rule("PF09", "node classes inherit from pocketflow.Node", _ERROR, check_classes),
        Rule("PF10", "keys are plain snake_case words", _WARNING, check_words),
        Rule("PF11", "every type exists, in the version asked for", _ERROR, check_types),
        Rule("PF12", "ids are unique, steps known and reached; loops end, forks close", _ERROR, check_graph),
        Rule("PF13", "every param exists, or names a read, and its value fits", _ERROR, check_params),
        Rule("PF14", "every path can come from an earlier step or an input", _ERROR, check_paths),
        Rule("PF15", "the type of a mapped value fits; any warns", _ERROR, check_mapped_types),
        Rule("PF16", "two steps write one key without mappings", _WARNING, check_overwriting),
    )
}


def check(plan: WiredFlow, findings: Sequence[Finding] = ()) -> list[Finding]:
    """Hold a plan to every rule: what is wrong with it, after the shape `findings` that its file had, by place.

    The errors of its subflows are among them, at ("nodes", 1, ("nodes", 0, "type")).
    """
    return _check(plan, findings, set())


def _check(plan: WiredFlow, findings: Sequence[Finding], seen: set[str]) -> list[Finding]:
    found = list(findings)
    if plan.flow.steps or not any(each.rule == SHAPE for each in findings):
        found += _by_rules(plan)
    for wired in plan.steps.values():
        found += _in_subflow(wired, seen)
    return in_order(plan.flow, as_in_file(plan.flow, found))


def _by_rules(plan: WiredFlow) -> Iterator[Finding]:
    """What the rules find in a plan; where ids are misspelt or doubled, in the flows that were most likely meant."""
    doubled = doubled_ids(plan.flow)
    view = View(plan, doubled)
    meant = mended(plan.flow, view.slips)
    if meant is not None:
        yield from check_edges(view)
        view = View(wire(meant), doubled)
    yield from _by_each_rule(view)
    for flow, places in hidden(meant or plan.flow):
        for each in _by_each_rule(View(wire(flow), doubled)):
            if each.place[:2] in places and each.place[2:]:
                yield each


def _by_each_rule(view: View) -> Iterator[Finding]:
    for rule in RULES.values():
        for check in rule.checks:
            yield from check(view)


def _in_subflow(wired: WiredStep, seen: set[str]) -> Iterator[Finding]:
    """The errors of the flow that a step runs, once for each file."""
    kind = wired.kind
    if kind is None or kind.origin != FLOW or kind.file in seen:
        return
    assert wired.subplan is not None
    seen.add(kind.file)
    for each in _check(wired.subplan, (), seen):
        if not each.is_warning:
            yield Finding(each.rule, (*wired.step.place, each.place), each.message, each.remedy)
