"""A flow as a node: its inputs are what it reads, its outputs what it writes, its params those of its steps."""

from __future__ import annotations

import os
import sys

from pflow.catalog.kinds import FLOW, Kind
from pflow.catalog.registry import data_directory
from pflow.catalog.source import plain
from pflow.errors import BAD_DATA, PflowError
from pflow.flow.wired import Write
from pflow.interface import Interface, Item
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import WiredFlow

_CALLS, _CALLS_A_LEVEL = 1_000, 60
"""Python's limit on calls within calls: its own, and what each flow within a flow may need more, as it runs too."""

SUFFIX = ".pflow.json"
"""What the name of a saved flow's file ends in."""

_being_loaded: list[str] = []
_plans: dict[str, WiredFlow] = {}
_where = {"paths": True}
"""Whether a path names a flow."""


class FlowKind(Kind):
    """A flow in a file, as a kind of node. `plan` is loaded and wired when it is asked for."""

    @property
    def plan(self) -> WiredFlow:
        """Raises PflowError (65) where the file holds no flow, or one that holds itself."""
        if self.file not in _plans:
            _plans[self.file] = _load(self.file)
        return _plans[self.file]

    def _read_interface(self) -> Interface:
        return interface_of_plan(self.plan)

    def node_class(self) -> Any:
        raise PflowError(f"cannot use the flow '{self.file}' as a class", exit=BAD_DATA)


def forget_plans() -> None:
    """Load every flow anew when it is asked for: files may have changed."""
    _plans.clear()


def take_no_paths() -> None:
    """From now on a path names no flow, but in a saved one: what this process reads is a stranger's text."""
    _where["paths"] = False


def find_flow(type: str, directory: str) -> FlowKind | None:
    """The flow that a step's type names: a saved one, `flow:NAME`, or a file, from `directory` where it is relative."""
    if type.startswith("flow:"):
        file = saved_flow(type.removeprefix("flow:"))
    elif not _where["paths"] and not _being_loaded:
        return None
    else:
        file = os.path.normpath(os.path.join(directory, type))
    return FlowKind(type, FLOW, os.path.abspath(file)) if file and os.path.isfile(file) else None


def saved_flow(name: str) -> str | None:
    """The file of a saved flow; None where there is none of that name. Case, `-` and `_` make no other name."""
    folder = data_directory("flows")
    if folder is None or "/" in name or not name or name.startswith("."):
        return None
    file = os.path.join(folder, name + SUFFIX)
    if os.path.isfile(file):
        return file
    wanted = plain(name)
    near = next((each for each in saved_flows() if plain(each) == wanted), None) if wanted else None
    return os.path.join(folder, near + SUFFIX) if near is not None else None


def saved_flows() -> list[str]:
    """The names of all saved flows."""
    try:
        with os.scandir(data_directory("flows") or "/dev/null") as files:
            return sorted(flow_name(file.name) for file in files if flow_name(file.name) and _is_file(file))
    except OSError:
        return []


def flow_name(file: str) -> str:
    """The name of the saved flow whose file is called so; empty where no flow's file is."""
    return file.removesuffix(SUFFIX) if file.endswith(SUFFIX) and not file.startswith(".") else ""


def _is_file(file: os.DirEntry[str]) -> bool:
    try:
        return file.is_file()
    except OSError:  # a link to itself
        return False


def _load(file: str) -> WiredFlow:
    from pflow.flow.load import load_file
    from pflow.flow.wiring import wire

    if file in _being_loaded:
        way = " → ".join(os.path.basename(each) for each in [*_being_loaded[_being_loaded.index(file) :], file])
        raise PflowError(f"cannot load the flow '{file}': it holds itself: {way}", exit=BAD_DATA)
    _being_loaded.append(file)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _CALLS + _CALLS_A_LEVEL * len(_being_loaded)))
    try:
        plan = wire(load_file(file).usable())
    finally:
        _being_loaded.pop()
    for wired in plan.steps.values():
        if wired.fault:
            raise PflowError(f"cannot load the flow '{file}': {wired.id}: {wired.fault}", exit=BAD_DATA)
    return plan


def interface_of_plan(plan: WiredFlow) -> Interface:
    """A flow's interface, as if it were a node's."""
    interface = Interface()
    interface.open = has_open_steps(plan) and not (plan.flow.inputs and plan.flow.outputs)
    interface.summary = plan.flow.description
    for given in plan.inputs.values():
        item = Item("read", given.name, given.type)
        item.doc = given.doc
        if not given.required:
            item.default = given.default
        if given.pipe:
            item.marks.add("pipe")
        if given.secret:
            item.marks.add("secret")
        if given.step is not None:
            item.marks.add("explicit")
        item.flags = [flag for flag in given.flags if flag != given.name]
        interface.reads[given.name] = item
    for name, type in _outputs(plan).items():
        interface.writes[name] = Item("write", name, type)
    carried = plan.carried
    if carried is not None and len(carried) == 1 and str(carried[0]) in interface.writes:
        interface.writes[str(carried[0])].marks.add("pipe")
    interface.effects = tuple(dict.fromkeys(each for wired in plan.steps.values() for each in wired.interface.effects))
    for wired in (each for each in plan.steps.values() if each.kind is None or each.kind.origin != FLOW):
        for name, item in wired.interface.params.items():
            param = Item("param", f"{wired.id}.{name}", item.type)
            param.doc, param.default, param.marks = item.doc, None, set(item.marks)
            interface.params[param.name] = param
    return interface


def has_open_steps(plan: WiredFlow) -> bool:
    return any(wired.interface.open for wired in plan.steps.values())


def _outputs(plan: WiredFlow) -> dict[str, Type]:
    if plan.flow.outputs:
        return {name: plan.output_type(name) for name in plan.flow.outputs}
    roots: dict[str, Type] = {}
    for wired in plan.steps.values():
        for key, item in wired.interface.writes.items():
            write = Write(wired.id, key, wired.place_of(key), item)
            roots[str(write.target[0])] = plan.write_type(write) if len(write.target) == 1 else Type("dict")
    return roots
