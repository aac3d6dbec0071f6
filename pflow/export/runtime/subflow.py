"""A flow as a node of another one."""

from __future__ import annotations

from pflow.interface import Interface, Item
from pflow.node import pocketflow
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.export.runtime.flow import Flow


class Subflow(pocketflow.Node):  # type: ignore[misc,unused-ignore]
    """A flow as a node, with a store of its own: its inputs are what it reads, what it gives is what it writes."""

    def __init__(self, make: Callable[[], Flow]) -> None:
        super().__init__()
        self.flow = make()
        self.interface = _interface_of(self.flow)

    def prep(self, shared: Any) -> dict[str, Any]:
        return {name: shared[name] for name in self.interface.reads if name in shared}

    def exec(self, values: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        flow = self.flow
        for step in flow.steps():
            mine = {name: value for name, value in self.params.items() if name.startswith(f"{step.id}.")}
            step.set_params({name[len(step.id) + 1 :]: value for name, value in mine.items() if value is not None})
        shared = flow.begin(values)
        action = flow.run(shared)
        return flow.results(shared), action

    def post(self, shared: Any, values: dict[str, Any], done: tuple[dict[str, Any], Any]) -> Any:
        results, action = done
        shared.update(results)
        return action


def _interface_of(flow: Flow) -> Interface:
    interface = Interface()
    interface.open = False
    for name, needed in flow.inputs.items():
        if needed.read is not None:
            continue
        item = Item("read", name, needed.type)
        item.doc = needed.doc
        if not needed.required:
            item.default = needed.default
        interface.reads[name] = item
    for name in flow.written_keys():
        interface.writes[name] = Item("write", name, Type("any"))
    return interface
