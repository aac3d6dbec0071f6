"""A flow with the words of its command: which flags are the flow's, which the run's, what each input is then."""

from __future__ import annotations

from copy import copy
from typing import Any

from pflow.driver.arguments import RunFlags, own_items
from pflow.driver.driver import parse
from pflow.driver.inputs import RunInputs
from pflow.flow.findings import Finding
from pflow.flow.flow import Flow, Step
from pflow.flow.rules import check
from pflow.flow.wired import WiredFlow, WiredStep
from pflow.flow.wiring import wire
from pflow.flow.written import escaped
from pflow.interface.common import COMMON


class Proposal:
    """A `flow`, the `words` that a run of it would get, and `wired`: the flow with what the words set in it.

    `values` are the inputs that have a value; what comes through the pipe is not among them. `findings` are those of
    the flow with its flags.
    """

    def __init__(self, flow: Flow, words: list[str]) -> None:
        """Raises PflowError (2) for a flag that is neither the run's nor the flow's."""
        self.flow = flow
        self.words = words
        wired = wire(flow)
        self.flags, inputs = parse(wired, words)
        is_changed = inputs.values or inputs.params or inputs.data
        self.wired = wire(with_flags(flow, wired, inputs)) if is_changed else wired
        self.findings: list[Finding] = check(self.wired)
        self.values: dict[str, Any] = {
            name: inputs.values.get(name, each.default)
            for name, each in wired.inputs.items()
            if name in inputs.values or (each.has_default and not each.pipe)
        }

    def edited(self, flow: Flow) -> Proposal:
        """The same run of another flow, in which the values of the flags stand already."""
        return Proposal(flow, _words_of_run(self.flags))


def with_flags(flow: Flow, wired: WiredFlow, inputs: RunInputs) -> Flow:
    """The flow with the flags' values as if they stood in it: inputs' as their defaults, others in their steps."""
    changed = copy(flow)
    changed.inputs = {name: copy(each) for name, each in flow.inputs.items()}
    changed.steps = [_stepwith_flags(wired.steps[step.id], inputs) for step in flow.steps]
    for name, value in inputs.values.items():
        if name in changed.inputs:
            declared = changed.inputs[name]
            declared.default, declared.has_default, declared.required = value, True, False
            continue
        known = wired.inputs.get(name)
        for id, key in known.readers if known is not None else ():
            step = changed.step(id)
            if key not in step.input_mappings:
                step.inputs = {**step.inputs, key: _as_written(wired.steps[id], key, value)}
    return changed


def _stepwith_flags(wired: WiredStep, inputs: RunInputs) -> Step:
    changed = copy(wired.step)
    data, params = inputs.data.get(wired.id, {}), inputs.params.get(wired.id, {})
    changed.inputs = {**changed.inputs, **{key: _as_written(wired, key, value) for key, value in data.items()}}
    changed.params = {**changed.params, **{key: _as_written(wired, key, value) for key, value in params.items()}}
    return changed


def _as_written(wired: WiredStep, key: str, value: Any) -> Any:
    """A flag's value as it is written in a flow."""
    item = wired.interface.reads.get(key) or wired.interface.params.get(key)
    return value if item is not None and "verbatim" in item.marks else escaped(value)


def _words_of_run(flags: RunFlags) -> list[str]:
    """The flags of the run alone, as words."""
    switches = {name for name, flag in COMMON.items() if flag.type.name == "bool"}
    switches |= {name for name, item in own_items().items() if item.type.name == "bool"}
    words = []
    for name, value in vars(flags).items():
        flag = "--" + name.replace("_", "-")
        if name in switches:
            words += [flag] * bool(value)
        elif value is not None and not (name in COMMON and value == COMMON[name].default):
            words.append(f"{flag}={value}")
    return words
