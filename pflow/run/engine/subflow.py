"""A flow as a step: its own store, inputs mapped in, outputs mapped out."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.sources import assign, has
from pflow.errors import MISSING, PflowError
from pflow.flow.subflow import FlowKind, has_open_steps
from pflow.interface import fresh
from pflow.node import pocketflow

if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.run.engine.context import Context


class SubflowNode(pocketflow.Node):  # type: ignore[misc,unused-ignore]
    """Runs a flow on a store of its own. Its action is that of the last step. `engine` is the class Engine."""

    def __init__(self, wired: WiredStep, context: Context, engine: Any) -> None:
        super().__init__()
        assert isinstance(wired.kind, FlowKind)
        self.id = wired.id
        self.flow = wired.kind.flow
        self.context = context
        self.engine = engine

    def prep(self, shared: Any) -> dict[str, Any]:
        return {name: shared[name] for name in self.flow.inputs if name in shared}

    def exec(self, given: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        data: dict[str, dict[str, Any]] = {}
        for name, value in given.items():
            if self.flow.inputs[name].step:
                step, key = self.flow.inputs[name].readers[0]
                data.setdefault(step, {})[key] = value
        params: dict[str, dict[str, Any]] = {}
        for name, value in self.params.items():
            if value is not None:
                step, _, param = name.partition(".")
                params.setdefault(step, {})[param] = value
        store = begin(self.flow, given)
        action = self.engine(self.flow, self.context.inside(self.id), params, data).run(store)
        return outputs_of(self.flow, store), action

    def post(self, shared: Any, store: Any, result: tuple[dict[str, Any], Any]) -> Any:
        outputs, action = result
        for name, value in outputs.items():
            shared[name] = value
        return action


def begin(flow: WiredFlow, given: dict[str, Any]) -> dict[str, Any]:
    """The store that a flow starts with: each input that is given, else its default."""
    store: dict[str, Any] = {}
    for name, value in given.items():
        if flow.inputs[name].step is None:
            assign(store, flow.inputs[name].path, value)
    set_defaults(flow, store)
    return store


def set_defaults(flow: WiredFlow, store: Any) -> None:
    """Put the default of each input that is not there into a store."""
    for given in flow.inputs.values():
        if given.has_default and not has(store, given.path):
            assign(store, given.path, fresh(given.default))


def outputs_of(flow: WiredFlow, store: dict[str, Any]) -> dict[str, Any]:
    """What a flow gives: its declared outputs by name; without any, all that its steps wrote.

    A declared output that is not there was not reached.
    """
    if not flow.flow.outputs:
        if has_open_steps(flow):  # who knows what they write
            own = {given.path[0] for given in flow.inputs.values()}
            return {key: value for key, value in store.items() if key not in own}
        roots = {
            str(wired.place_of(key)[0])
            for wired in flow.steps.values()
            for key in [*wired.interface.writes, *wired.targets]
        }
        return {key: store[key] for key in store if key in roots}
    found = {}
    for name, source in flow.outputs.items():
        try:
            found[name] = source.find(store)
        except PflowError as error:
            if error.exit != MISSING:
                raise
    return found
