"""How what is typed is used: a node, a tool, a flow that is run, a step of one."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.catalog.registry import saved_flow
from pflow.completion import names
from pflow.errors import PflowError
from pflow.flow.pipe.scan import separates
from pflow.help import usage as kinds
from pflow.help.usage import Flag, Usage, usage_of_node
from pflow.interface.common import OF_FLOWS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pflow.catalog.kinds import Kind
    from pflow.interface.interface import Interface


def usage_of_type(name: str) -> Usage:
    """How a node, a tool or a saved flow is used; what cannot be read of it is left out."""
    from pflow.catalog.kinds import TOOL, find_node

    found = find_node(name)
    if found is None:
        return usage_of_flow(name) if saved_flow(name) else Usage(name, "")
    if found.origin == TOOL:
        return names.read_table()[f"pflow-{found.name}"]
    interface = _interface_of(found)
    return _with_places(usage_of_node(found.name, interface), interface, [])


def usage_of_flow(word: str) -> Usage:
    """How the flow that a word says is run: a file, a saved flow or pipe syntax; one that is faulty, as any other."""
    from pflow.driver.help import usage_of_run
    from pflow.flow.subflow import load_named
    from pflow.flow.wiring import wire

    try:
        usage = usage_of_run(wire(load_named([word]).flow) if word != "-" else None)
    except PflowError:
        usage = usage_of_run()
    usage.arguments = []
    return usage


def usage_of_step(name: str, before: list[str]) -> Usage:
    """What a step takes: the flags of its type's interface, and the common ones that are not for a whole run.

    `before` are the words of the steps before it.
    """
    from pflow.flow.pipe.steps import OF_STEPS
    from pflow.flow.subflow import FlowCatalog

    (type, _), *_ = steps_in([name])
    kind = FlowCatalog().find(type)
    if kind is None:  # a sentence, as far as it is typed
        return Usage(type, "")
    interface = _interface_of(kind)
    usage = usage_of_node(type, interface)
    own = [each for each in usage.flags if each.group != kinds.COMMON]
    usage.flags = [*own, *map(kinds.common_flag, OF_FLOWS), *named(usage.flags, OF_STEPS)]
    return _with_places(usage, interface, before)


def steps_in(words: list[str]) -> list[tuple[str, str | None]]:
    """The type of each step, and its id where it has one by which it may be referred back to."""
    from pflow.flow.pipe.recognize import full_type, split_name

    firsts = [word for at, word in enumerate(words) if at == 0 or separates(words[at - 1])]
    found = [split_name(word.removeprefix("pflow-")) for word in firsts if not separates(word)]
    return [(full_type(type), id) for type, id in found]


def _with_places(usage: Usage, interface: Interface, before: list[str]) -> Usage:
    """The usage whose flags know the keys of the step, and the places where the steps before it write."""
    from pflow.flow.pipe.recognize import free_id
    from pflow.flow.subflow import FlowCatalog

    places: dict[str, None] = {}
    ids: set[str] = set()
    for type, id in steps_in(before):
        id = id or free_id(type, ids)
        ids.add(id)
        places.update(dict.fromkeys(f"{id}.{key}" for key in _interface_of(FlowCatalog().find(type)).writes))
    choices = {
        "--each": [*places],
        "--map-in": [f"{key}={place}" for key in interface.reads for place in ("", *places)],
        "--map-out": [f"{key}=" for key in interface.writes],
    }
    for flag in usage.flags:
        flag.choices = choices.get(flag.names[-1], flag.choices)
    return usage


def _interface_of(kind: Kind | None) -> Interface:
    """The interface of a node or a flow; one that is being written is completed with the flags that every stage has."""
    from pflow.interface.interface import Interface

    try:
        return kind.interface if kind else Interface()
    except Exception:
        return Interface()


def named(flags: Iterable[Flag], wanted: Iterable[str]) -> list[Flag]:
    """The common flags among them of these names."""
    names = {f"--{name.replace('_', '-')}" for name in wanted}
    return [each for each in flags if each.group == kinds.COMMON and each.names[-1] in names]
