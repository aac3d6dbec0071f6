"""A flow as a step: its own store, inputs mapped in, outputs mapped out."""

from __future__ import annotations

from pflow.flow.subflow import FlowKind, has_open_steps
from pflow.interface import fresh
from pflow.jsontext import encode
from pflow.node import pocketflow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.run.engine.context import Context
    from pflow.run.engine.engine import Engine


class SubflowNode(pocketflow.Node):  # type: ignore[misc,unused-ignore]
    """Runs a plan on a store of its own. Its action is that of the last step."""

    def __init__(self, wired: WiredStep, context: Context) -> None:
        super().__init__()
        assert isinstance(wired.kind, FlowKind)
        self.id = wired.id
        self.plan = wired.kind.flow
        self.context = context
        self._ready: list[tuple[Any, Engine]] = []

    def prep(self, shared: Any) -> dict[str, Any]:
        return {name: shared[name] for name in self.plan.inputs if name in shared}

    def exec(self, given: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        store = begin(self.plan, given)
        engine = self._engine({name: value for name, value in given.items() if self.plan.inputs[name].step})
        engine.context.visits.clear()
        try:
            action = engine.run(store)
        finally:
            if engine.context.recorder is not None:
                engine.context.recorder.flush()
        return outputs_of(self.plan, store), action

    def _engine(self, own: dict[str, Any]) -> Engine:
        """The engine for these params and data of steps, made once; the copies of each visit share the list."""
        from pflow.run.engine.engine import Engine

        wanted = (encode([self.params, own]), self.context.recorder)
        for made_for, engine in self._ready:
            if made_for == wanted:
                return engine
        overrides: dict[str, dict[str, Any]] = {}
        data: dict[str, dict[str, Any]] = {}
        for name, value in own.items():
            step, key = self.plan.inputs[name].readers[0]
            data.setdefault(step, {})[key] = value
        for name, value in self.params.items():
            step, _, param = name.partition(".")
            if value is not None:
                overrides.setdefault(step, {})[param] = value
        engine = Engine(self.plan, self.context.inside(self.id), overrides, data)
        self._ready[:] = [(wanted, engine)]
        return engine

    def post(self, shared: Any, store: Any, result: tuple[dict[str, Any], Any]) -> Any:
        outputs, action = result
        for name, value in outputs.items():
            shared[name] = value
        return action


def begin(plan: WiredFlow, given: dict[str, Any]) -> dict[str, Any]:
    """The store that a plan starts with: each input that is given, else its default."""
    from pflow.binding.places import assign

    store: dict[str, Any] = {}
    for name, value in given.items():
        if plan.inputs[name].step is None:
            assign(store, plan.inputs[name].path, value)
    set_defaults(plan, store)
    return store


def set_defaults(plan: WiredFlow, store: Any) -> None:
    """Put the default of each input that is not there into a store."""
    from pflow.binding.places import assign, has

    for given in plan.inputs.values():
        if given.has_default and not has(store, given.path):
            assign(store, given.path, fresh(given.default))


def outputs_of(plan: WiredFlow, store: dict[str, Any]) -> dict[str, Any]:
    """What a flow gives: its declared outputs by name; without any, all that its steps wrote.

    A declared output that is not there was not reached.
    """
    from pflow.errors import MISSING, PflowError

    if not plan.flow.outputs:
        if has_open_steps(plan):  # who knows what they write
            own = {given.path[0] for given in plan.inputs.values()}
            return {key: value for key, value in store.items() if key not in own}
        roots = {
            str(wired.place_of(key)[0])
            for wired in plan.steps.values()
            for key in [*wired.interface.writes, *wired.targets]
        }
        return {key: store[key] for key in store if key in roots}
    found = {}
    for name, source in plan.outputs.items():
        try:
            found[name] = source.find(store)
        except PflowError as error:
            if error.exit != MISSING:
                raise
    return found
