"""The flag that each input of a flow is shown under."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.common import OF_RUNS
from pflow.templates import is_reference

if TYPE_CHECKING:
    from pflow.flow.wired import FlowInput, WiredFlow


def name_flags(flow: WiredFlow) -> None:
    """Set `flag` of every input: the shortest of its names that no other input and no param shares, else `--ID.READ`.

    A name that the flow declares is the input's alone. A flag of `pflow run` itself is never an input's.
    """
    params = [item for wired in flow.steps.values() for item in wired.interface.params.values()]
    fitting: dict[str, int] = {}
    for names in [*map(names_of, flow.inputs.values()), *([item.name, *item.flags] for item in params)]:
        for name in set(map(_plain, names)):
            fitting[name] = fitting.get(name, 0) + 1
    for input in flow.inputs.values():
        names = [_plain(name) for name in [input.name, *_aliases(flow, input)] if _plain(name) not in OF_RUNS]
        free = [name for name in names if fitting[name] == 1 or (input.declared and name == _plain(input.name))]
        flag = min(free, key=len) if free else _of_a_step(flow, input) or input.name
        input.flag = "--" + flag.replace("_", "-")


def _aliases(flow: WiredFlow, input: FlowInput) -> list[str]:
    """The other names of an input: of one that the flow declares those of the reads of its name."""
    if not input.declared:
        return input.flags
    reads = [flow.steps[step].interface.reads.get(key) for step, key in input.readers if key == input.name]
    return [flag for read in reads if read for flag in read.flags]


def _plain(name: str) -> str:
    return name.replace("-", "_")


def names_of(input: FlowInput) -> list[str]:
    """The names that an input goes by: its own, its aliases, and that of the one read that it is for."""
    return list(dict.fromkeys([input.name, *input.flags, *([input.readers[0][1]] if input.step else [])]))


def readers_of(flow: WiredFlow, input: FlowInput) -> list[tuple[str, str]]:
    """The reads and params that are the input as it is: their flags are the input's."""
    return [(step, key) for step, key in input.readers if not _holds_more(flow, step, key)]


def _holds_more(flow: WiredFlow, step: str, key: str) -> bool:
    wired = flow.steps[step]
    value = wired.step.params.get(key)
    return key in wired.interface.params and not (isinstance(value, str) and is_reference(value))


def _of_a_step(flow: WiredFlow, input: FlowInput) -> str | None:
    """`ID.READ`, of a read that takes this input and no other."""
    others = {reader for other in flow.inputs.values() if other is not input for reader in other.readers}
    return next((".".join(reader) for reader in readers_of(flow, input) if reader not in others), None)
