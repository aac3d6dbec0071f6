"""PF11 and PF09: every type exists, in the version asked for, and a user's class is a pocketflow.Node."""

from __future__ import annotations

from pflow import Iterator
from pflow.catalog.kinds import FLOW, Kind, fault_of, no_such_kind, shadowed_by
from pflow.catalog.registry import is_flow_type
from pflow.flow.findings import Finding, Rule
from pflow.flow.flow import INLINE, version_numbers
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.text.naming import joined
from pflow.values.paths import Path


def check_types(flow: WiredFlow) -> Iterator[Finding]:
    open_kinds: dict[str, Path] = {}
    seen: set[str] = set()
    for wired in flow.steps.values():
        location, kind, type = (*wired.step.location, "type"), wired.kind, wired.step.type
        if wired.fault:
            remedy = f"see pflow check {type}" if is_flow_type(type) else "fix the file"
            yield Finding("PF11", location, wired.fault, remedy)
        elif kind is None and type:  # an empty type is a wrong shape, and PF00 has reported it
            from pflow.flow.schema import OTHER_WORDS

            fault, what = fault_of(type), "saved flow" if type.startswith("flow:") else "node"
            there = f"there is no {what} '{type.removeprefix('flow:')}'"
            message = f"'{type}' is not a node: {fault}" if fault else there
            yield Finding("PF11", location, message, OTHER_WORDS.get(type) or no_such_kind(type).hint)
        elif kind is not None:
            if wired.step.flow is not None and type != INLINE:
                yield Finding("PF11", location, f"'{type}' cannot have nodes of its own", f'"type": "{INLINE}"')
            if kind.name not in seen and (file := shadowed_by(kind)):
                message = f"'{kind.name}' is pflow's own node, which comes before '{file}'"
                yield Finding("PF11", location, message, "rename the file to use it", is_warning=True)
            if kind.name not in seen and kind.class_fault:
                why, _, remedy = kind.class_fault.rpartition("; ")
                yield Finding("PF09", location, f"'{kind.name}' is not a node: {why}", remedy)
            seen.add(kind.name)
            yield from _check_version(wired, kind)
            if fault := kind.interpreter_fault:
                yield Finding("PF11", location, f"'{kind.file}' cannot run: {fault}", "install it, or fix the file")
            if wired.interface.open and kind.origin != FLOW and not kind.class_fault:
                open_kinds.setdefault(kind.name, location)
    if open_kinds:
        message = f"{joined(open_kinds)} may read and write any key, and take any param, so pflow cannot check them"
        remedy = "declare them in an 'Interface:' block"
        yield Finding("PF11", next(iter(open_kinds.values())), message, remedy, is_warning=True)


def _check_version(wired: WiredStep, kind: Kind) -> Iterator[Finding]:
    asked, there = wired.step.version, kind.version
    numbers, own = version_numbers(asked or there), version_numbers(there)
    if numbers is not None and own is not None and (numbers[0] != own[0] or numbers > own):
        message = f"'{wired.id}' asks for {kind.name} {asked}, but there is {there}"
        remedy = "install the same major version, at least that one"
        yield Finding("PF11", (*wired.step.location, "version"), message, remedy)


RULES = (
    Rule("PF09", "node classes inherit from pocketflow.Node"),
    Rule("PF11", "every type exists, in the version asked for", check_types),
    Rule("PF17", "versions, code and mappings match the lock file (--locked)"),
)
