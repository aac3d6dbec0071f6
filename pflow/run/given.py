"""What the flags of a command, and answers on a terminal, give to a run."""

from __future__ import annotations

from pflow.run.flags import DATA, INPUT, OPEN, PARAM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.run.flags import Target


class Given:
    """What a run was given: values for inputs by name, and for params and own data of steps by step and name."""

    def __init__(self) -> None:
        self.inputs: dict[str, Any] = {}
        self.params: dict[str, dict[str, Any]] = {}
        self.data: dict[str, dict[str, Any]] = {}

    def give_input(self, plan: WiredFlow, name: str, value: Any) -> None:
        """An input for one step alone is that step's data."""
        self.inputs[name] = value
        given = plan.inputs.get(name)
        if given is not None and given.step is not None:
            self.give_data(*given.readers[0], value)

    def give_data(self, step: str, key: str, value: Any) -> None:
        self.data.setdefault(step, {})[key] = value

    def give_param(self, wired: WiredStep, key: str, value: Any) -> None:
        written = wired.step.params
        params = self.params.setdefault(wired.id, {})
        params[key] = value
        config = params.get("config", written.get("config"))
        if isinstance(config, dict) and key in config:
            params["config"] = {**config, key: value}


def give(plan: WiredFlow, flags: list[tuple[Target, Any]]) -> Given:
    """What the flags of a command give."""
    given = Given()
    for target, value in flags:
        if target.kind == INPUT:
            given.give_input(plan, target.key, value)
        elif target.step:
            value = _as_whole(plan.steps[target.step], target.key, value)
            if target.kind in (DATA, OPEN):
                given.give_data(target.step, target.key, value)
            if target.kind in (PARAM, OPEN):
                given.give_param(plan.steps[target.step], target.key, value)
        else:
            given.inputs[target.key] = value
            for wired in plan.steps.values():
                if wired.interface.open:
                    given.give_param(wired, target.key, value)
    return given


def _as_whole(wired: WiredStep, key: str, value: Any) -> Any:
    """An int where the flow has one, as long as the number is whole."""
    written = wired.step.inputs.get(key, wired.step.params.get(key))
    is_whole = isinstance(written, int) and isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value
