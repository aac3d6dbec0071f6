"""PF11 and PF09: every type exists, in the version asked for, and a class of a user's own is a pocketflow.Node."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.catalog.discovery import PROGRAM, PYTHON, fault_of
from pflow.catalog.flows import is_flow_type, saved_flows
from pflow.catalog.kinds import FLOW, interpreter_fault_of, list_kinds
from pflow.flow.findings import Finding, Rule
from pflow.flow.schema import version_numbers
from pflow.naming import listed, nearest

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from pflow.catalog.kinds import Kind
    from pflow.flow.rules._view import View
    from pflow.flow.wired import WiredStep
    from pflow.paths import Path


def check_types(view: View) -> Iterator[Finding]:
    open_kinds: set[str] = set()
    names: list[str] = []
    for wired in view.steps.values():
        place = (*wired.step.place, "type")
        if wired.fault:
            tells = f"pflow check {wired.step.type}" if is_flow_type(wired.step.type) else "fix the file"
            yield Finding("PF11", place, wired.fault, tells)
        elif wired.kind is None and wired.step.type:  # an empty one stands for a wrong shape
            names = names or _all_names()
            yield _unknown(wired.step.type, place, names)
        elif wired.kind is not None:
            yield from _check_version(wired, wired.kind)
            if wired.kind.origin == PROGRAM and (fault := interpreter_fault_of(wired.kind)):
                yield Finding("PF11", place, f"'{wired.kind.file}' cannot run: {fault}", "install it, or fix the file")
            if wired.interface.open and wired.kind.origin != FLOW and wired.kind.name not in open_kinds:
                open_kinds.add(wired.kind.name)
                yield from _warn_of_open(wired, wired.kind, place)


def _all_names() -> list[str]:
    return [*(f"flow:{name}" for name in saved_flows()), *(kind.name for kind in list_kinds())]


def _unknown(type: str, place: Path, names: list[str]) -> Finding:
    if is_flow_type(type) and not type.startswith("flow:"):
        return Finding("PF11", place, f"there is no file '{type}'", "the path of a flow begins where this file is")
    if fault := fault_of(type):
        return Finding("PF11", place, f"'{type}' is no node: {fault}", "pflow nodes lists what is one")
    what = "saved flow" if type.startswith("flow:") else "node"
    remedy = f"did you mean {' or '.join(near)}?" if (near := _near(type, names)) else f"there is {listed(names)}"
    return Finding("PF11", place, f"there is no {what} '{type.removeprefix('flow:')}'", remedy)


def _near(type: str, names: list[str]) -> list[str]:
    """The name that a type is near to, else those that it is like."""
    slip = nearest(type, names)
    if slip is not None:
        return [slip]
    import difflib

    return difflib.get_close_matches(type, names, 3)


def _check_version(wired: WiredStep, kind: Kind) -> Iterator[Finding]:
    asked = wired.step.version
    if asked is None:
        return
    place, there = (*wired.step.place, "version"), kind.version
    numbers, own = version_numbers(asked), version_numbers(there)
    if numbers is None:
        yield Finding("PF11", place, f"'{asked}' is no version", f'one is written "{there}"')
    elif own is not None and (numbers[0] != own[0] or numbers > own):
        message = f"'{wired.id}' asks for {kind.name} {asked}, and there is {there}"
        yield Finding("PF11", place, message, "the same major, at least that, would do")


def _warn_of_open(wired: WiredStep, kind: Kind, place: Path) -> Iterator[Finding]:
    if kind.origin == PYTHON and _class_fault(kind.file):
        return  # PF09 says more
    why = f": {wired.interface.fault}" if wired.interface.fault else ""
    message = f"it is not known what '{kind.name}' reads and writes, so nothing of that is checked{why}"
    yield Finding("PF11", place, message, f"an 'Interface:' block in {kind.file} says it", is_warning=True)


def check_classes(view: View) -> Iterator[Finding]:
    checked: set[str] = set()
    for wired in view.steps.values():
        kind = wired.kind
        if kind is not None and kind.origin == PYTHON and kind.file not in checked:
            checked.add(kind.file)
            fault = _class_fault(kind.file)
            if fault:
                place = (*wired.step.place, "type")
                yield Finding("PF09", place, f"'{kind.name}' is no node: {fault}", "class …(pocketflow.Node)")


def _class_fault(file: str) -> str:
    """Why the class in a user's own file can be no pocketflow.Node; it is read, not imported."""
    import ast
    import os

    from pflow.source import plain

    with open(file, encoding="utf-8-sig", errors="replace") as source:
        tree = ast.parse(source.read())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    if not any(isinstance(node, ast.ClassDef) for node in ast.walk(tree)):
        return f"{file} has no class"
    name = plain(os.path.basename(file).removesuffix(".py"))
    chosen = [each for each in classes if plain(each) in (name, name + "node")] or list(classes)
    if chosen and all(_is_no_node(each, classes) for each in chosen):
        return f"in {file}, {chosen[0]} does not inherit from pocketflow.Node"
    return ""


def _is_no_node(name: str, classes: dict[str, ast.ClassDef], depth: int = 0) -> bool:
    """Whether a class of a file is certain to inherit from no other file's class."""
    import ast

    bases = [ast.unparse(base) for base in classes[name].bases]
    return depth < len(classes) and all(
        base == "object" or (base in classes and _is_no_node(base, classes, depth + 1)) for base in bases
    )


RULES = (
    Rule("PF09", "node classes inherit from pocketflow.Node", check_classes),
    Rule("PF11", "every type exists, in the version asked for", check_types),
)
