"""A plan with the words of its command: which flags are the flow's, which the run's, and what each input is then."""

from __future__ import annotations

from copy import copy

from pflow.flow.rewrite import escaped
from pflow.flow.rules import check
from pflow.flow.wiring import wire
from pflow.run.arguments import own_items
from pflow.run.driver import parse
from pflow.run.inputs import RunInputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow, Step
    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.run.arguments import RunFlags


class Settled:
    """A flow, what the `words` set in it, and the `plan` of both: what would run.

    `values` are the inputs that have one; what comes through the pipe is not among them. `findings` are those of the
    flow with its flags.
    """

    def __init__(self, flow: Flow, words: list[str], values: dict[str, Any] | None = None) -> None:
        """`values` are inputs that are given beside the flags, which count before them.

        Raises PflowError (2) for a flag that is neither the run's nor the flow's.
        """
        self.flow = flow
        self.words = words
        plan = wire(flow)
        self.flags, targets = parse(plan, words)
        given = RunInputs(plan, targets)
        given.inputs = {**(values or {}), **given.inputs}
        self.plan = wire(_with_given(flow, plan, given)) if targets or values else plan
        self.findings: list[Finding] = check(self.plan)
        self.values: dict[str, Any] = {
            name: given.inputs.get(name, each.default)
            for name, each in plan.inputs.items()
            if name in given.inputs or (each.has_default and not each.pipe)
        }

    def without_flags(self, flow: Flow) -> Settled:
        """The same run of another flow, in which what the flags set stands already."""
        return Settled(flow, _words_of_run(self.flags))


def _with_given(flow: Flow, plan: WiredFlow, given: RunInputs) -> Flow:
    """The flow with the flags' values as if they stood in it: inputs' as their defaults, others in their steps."""
    changed = copy(flow)
    changed.inputs = {name: copy(each) for name, each in flow.inputs.items()}
    for name, value in given.inputs.items():
        if name in changed.inputs:
            each = changed.inputs[name]
            each.default, each.has_default, each.required = value, True, False
    changed.steps = [_step_with_given(plan.steps[step.id], given) for step in flow.steps]
    for name, value in given.inputs.items():
        known = plan.inputs.get(name)
        for id, key in known.readers if known is not None and name not in flow.inputs else ():
            step = changed.step(id)
            if key not in step.input_mappings:
                step.inputs = {**step.inputs, key: _written(plan.steps[id], key, value)}
    return changed


def _step_with_given(wired: WiredStep, given: RunInputs) -> Step:
    changed = copy(wired.step)
    data, params = given.data.get(wired.id, {}), given.params.get(wired.id, {})
    changed.inputs = {**changed.inputs, **{key: _written(wired, key, value) for key, value in data.items()}}
    changed.params = {**changed.params, **{key: _written(wired, key, value) for key, value in params.items()}}
    return changed


def _written(wired: WiredStep, key: str, value: Any) -> Any:
    """A flag's value as it is written in a flow."""
    item = wired.interface.reads.get(key) or wired.interface.params.get(key)
    return value if item is not None and "verbatim" in item.marks else escaped(value)


def _words_of_run(flags: RunFlags) -> list[str]:
    """The flags of the run alone, as words."""
    from pflow.common import COMMON

    switches = {name for name, flag in COMMON.items() if flag.type is None}
    switches |= {name for name, item in own_items().items() if item.type.name == "bool"}
    words = []
    for name, value in flags.values.items():
        flag = "--" + name.replace("_", "-")
        if name in switches:
            words += [flag] * bool(value)
        elif value is not None and not (name in COMMON and value == COMMON[name].default):
            words.append(f"{flag}={value}")
    return words
