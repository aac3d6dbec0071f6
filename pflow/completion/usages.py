"""How what is typed is used: a node, a tool, a flow that is run, a step of one."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.catalog.registry import saved_flow
from pflow.completion import names
from pflow.errors import PflowError
from pflow.help import usage as kinds
from pflow.help.usage import Flag, Usage, usage_of_node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pflow.catalog.kinds import Kind
    from pflow.interface import Interface


def usage_of_type(name: str) -> Usage:
    """How a node, a tool or a saved flow is used; what cannot be read of it is left out."""
    from pflow.catalog.kinds import TOOL, find_node

    found = find_node(name)
    if found is None:
        return usage_of_flow(name) if saved_flow(name) else Usage(name, "")
    if found.origin == TOOL:
        return names.read_table()[f"pflow-{found.name}"]
    return usage_of_node(found.name, _interface_of(found))


def usage_of_flow(word: str) -> Usage:
    """How the flow that a word says is run: a file, a saved flow or pipe syntax; one that is faulty, as any other."""
    from pflow.flow.subflow import load_named
    from pflow.flow.wiring import wire
    from pflow.run.help import usage_of_run

    try:
        usage = usage_of_run(wire(load_named([word]).flow))
    except PflowError:
        usage = usage_of_run()
    usage.arguments = []
    return usage


def usage_of_step(name: str) -> Usage:
    """What a step takes: the flags of its type's interface, and the common ones that are not for a whole run."""
    from pflow.flow.pipe.recognize import full_type, split_name
    from pflow.flow.pipe.steps import OF_STEPS
    from pflow.flow.subflow import FlowCatalog

    type = full_type(split_name(name.removeprefix("pflow-"))[0])
    usage = usage_of_node(type, _interface_of(FlowCatalog().find(type)))
    own = [each for each in usage.flags if each.group != kinds.COMMON]
    usage.flags = [*own, *named(usage.flags, OF_STEPS)]
    return usage


def _interface_of(kind: Kind | None) -> Interface:
    """The interface of a node or a flow; one that is being written is completed with the flags that every stage has."""
    from pflow.interface import Interface

    try:
        return kind.interface if kind else Interface()
    except Exception:
        return Interface()


def named(flags: Iterable[Flag], wanted: Iterable[str]) -> list[Flag]:
    """The common flags among them of these names."""
    names = {f"--{name.replace('_', '-')}" for name in wanted}
    return [each for each in flags if each.group == kinds.COMMON and each.names[-1] in names]
