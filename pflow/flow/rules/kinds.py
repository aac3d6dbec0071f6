"""PF11 and PF09: every type exists, in the version asked for, and a user's class is a pocketflow.Node."""

from __future__ import annotations

from pflow import Iterator
from pflow.catalog.find import FLOW, NodeType, fault_of, no_such_type, shadowed_by
from pflow.catalog.registry import is_flow_type
from pflow.flow.findings import Finding, Rule
from pflow.flow.flow import INLINE, version_numbers
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.text.naming import joined
from pflow.values.paths import Path


def check_types(flow: WiredFlow) -> Iterator[Finding]:
    open_types: dict[str, Path] = {}
    seen: set[str] = set()
    for wired in flow.steps.values():
        location, node_type, type = (*wired.step.location, "type"), wired.node_type, wired.step.type
        if wired.fault:
            remedy = f"see pflow check {type}" if is_flow_type(type) else "fix the file"
            yield Finding("PF11", location, wired.fault, remedy)
        elif node_type is None and type:  # an empty type is a wrong shape, and PF00 has reported it
            from pflow.flow.schema import OTHER_WORDS  # pipe syntax needs no schema, so a run does not load it

            fault, what = fault_of(type), "saved flow" if type.startswith("flow:") else "node"
            there = f"there is no {what} '{type.removeprefix('flow:')}'"
            message = f"'{type}' is not a node: {fault}" if fault else there
            yield Finding("PF11", location, message, OTHER_WORDS.get(type) or no_such_type(type).hint)
        elif node_type is not None:
            if wired.step.flow is not None and type != INLINE:
                yield Finding("PF11", location, f"'{type}' cannot have nodes of its own", f'"type": "{INLINE}"')
            if node_type.name not in seen and (file := shadowed_by(node_type)):
                message = f"'{node_type.name}' is pflow's own node, which comes before '{file}'"
                yield Finding("PF11", location, message, "rename the file to use it", is_warning=True)
            if node_type.name not in seen and node_type.class_fault:
                why, _, remedy = node_type.class_fault.rpartition("; ")
                yield Finding("PF09", location, f"'{node_type.name}' is not a node: {why}", remedy)
            seen.add(node_type.name)
            yield from _check_version(wired, node_type)
            if fault := node_type.interpreter_fault:
                yield Finding(
                    "PF11", location, f"'{node_type.file}' cannot run: {fault}", "install it, or fix the file"
                )
            if wired.interface.open and node_type.origin != FLOW and not node_type.class_fault:
                open_types.setdefault(node_type.name, location)
    if open_types:
        message = f"{joined(open_types)} may read and write any key, and take any param, so pflow cannot check them"
        remedy = "declare them in an 'Interface:' block"
        yield Finding("PF11", next(iter(open_types.values())), message, remedy, is_warning=True)


def _check_version(wired: WiredStep, node_type: NodeType) -> Iterator[Finding]:
    asked, there = wired.step.version, node_type.version
    numbers, own = version_numbers(asked or there), version_numbers(there)
    if numbers is not None and own is not None and (numbers[0] != own[0] or numbers > own):
        message = f"'{wired.id}' asks for {node_type.name} {asked}, but there is {there}"
        remedy = "install the same major version, at least that one"
        yield Finding("PF11", (*wired.step.location, "version"), message, remedy)


RULES = (
    Rule("PF09", "node classes inherit from pocketflow.Node"),
    Rule("PF11", "every type exists, in the version asked for", check_types),
    Rule("PF17", "versions, code and mappings match the lock file (--locked)"),
)
