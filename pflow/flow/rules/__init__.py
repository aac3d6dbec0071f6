"""The rules that a flow has to keep before it runs, in the files of this folder; all findings are reported at once."""

from __future__ import annotations

from pflow import Any, Iterable, Iterator
from pflow.catalog.registry import names_in
from pflow.flow.findings import SHAPE, Finding, Rule
from pflow.flow.flow import FlowSpec
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.values.paths import Path, write_path

_SECTIONS = ("inputs", "outputs", "nodes", "edges", "mappings")
"""The members of a flow's file, in the order in which findings are reported."""


def find_rules() -> dict[str, Rule]:
    """Load the rules in the files of this folder, by id."""
    modules = [__import__(f"{__name__}.{name}", fromlist=["RULES"]) for name in names_in(__path__[0])]
    return dict(sorted((rule.id, rule) for module in modules for rule in module.RULES))


RULES = find_rules()


def check(flow: WiredFlow) -> list[Finding]:
    """Check a flow and its subflows against all rules; return the findings, wrong shapes included, by location."""
    return _check(flow, set())


def _check(flow: WiredFlow, seen: set[str]) -> list[Finding]:
    found = list(flow.flow.findings)
    if flow.flow.steps:  # PF00 reports a flow without steps
        found += [each for rule in RULES.values() if rule.check for each in rule.check(flow)]
    for step in flow.steps.values():
        found += _in_subflow(step, seen)
    return in_order(each if each.rule == SHAPE else _in_file(flow.flow, each) for each in found)


def _in_file(flow: FlowSpec, finding: Finding) -> Finding:
    """Move a finding to a location that the flow's file has: one of an older form, else the nearest location above."""
    document: Any = flow.document
    if document is None:
        from pflow.flow.ir import flow_to_ir

        document = flow_to_ir(flow)
    locations = [finding.location, *_in_older_forms(flow, finding.location)]
    location = max((_existing(document, location) for location in locations), key=len)
    return finding.at(location, finding.message, finding.remedy)


def _in_older_forms(flow: FlowSpec, location: Path) -> Iterator[Path]:
    """Yield the locations in the forms of seeds 002 and 000 for this location in the IR."""
    if location[:1] == ("mappings",) and len(location) > 2:
        for step in [each for each in flow.steps if each.id == location[1]]:
            member = str(location[2]).replace("_mappings", "")
            yield (*step.location, f"{member}_bindings", *location[3:])
            yield (*step.location, "params", f"{member}_key")
    elif location[2:3] == ("params",):
        yield (*location[:2], "config", *location[3:])


def _existing(value: Any, location: Path) -> Path:
    for at, part in enumerate(location):
        is_there = part in value if isinstance(value, dict) else isinstance(value, list) and part in range(len(value))
        if not is_there:
            return location[:at]
        value = value[part]
    return location


def _in_subflow(step: WiredStep, seen: set[str]) -> Iterator[Finding]:
    """Yield the findings of the flow that a step runs: at their locations, or at the step if in another file."""
    if step.subflow is None or step.node_type is None or step.node_type.file in seen:
        return
    if step.step.flow is not None:
        inside = _check(step.subflow, seen)
        yield from (each.at((*step.step.location, *each.location), each.message, each.remedy) for each in inside)
        return
    seen.add(step.node_type.file)
    for each in _check(step.subflow, seen):
        if each.rule == "PF03" and each.is_said_by_run:
            continue  # the flow around it may give the read
        message = f"in {write_path(each.location)} of '{step.step.type}', {each.message}"
        remedy = f"there, {each.remedy}" if each.remedy else ""
        yield each.at((*step.step.location, "type"), message, remedy)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return each finding once: wrong shapes first, the others by location in the file, then by rule."""
    once = {(each.rule, each.location, each.message): each for each in findings}
    return sorted(once.values(), key=_key)


def _key(finding: Finding) -> tuple[bool, int, str, bool, str]:
    section, part = (*finding.location, "", "")[:2]
    at = _SECTIONS.index(str(section)) if section in _SECTIONS else -1
    return finding.rule != SHAPE, at, str(part).zfill(9), finding.is_warning, finding.rule
