"""The flag that each input of a flow is shown under: the shortest that means it and nothing else."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.common import OF_RUNS
from pflow.templates import is_reference

if TYPE_CHECKING:
    from pflow.flow.wired import FlowInput, WiredFlow
    from pflow.interface import Item


def name_flags(flow: WiredFlow) -> None:
    """Set `flag` of every input: its name or an alias; where each of those fits several, `--ID.READ`.

    A flag of `pflow run` itself is never an input's.
    """
    fitting: dict[str, int] = {}
    for names in [*({_plain(name) for name in names_of(each)} for each in flow.inputs.values()), *_param_names(flow)]:
        for name in names:
            fitting[name] = fitting.get(name, 0) + 1
    for input in flow.inputs.values():
        free = [name for name in _own_names(flow, input) if name.replace("-", "_") not in OF_RUNS]
        alone = [name for name in free if fitting[name] == 1 or (name == _plain(input.name) and means(flow, input))]
        input.flag = "--" + (min(alone, key=len) if alone else _plain(_of_a_step(flow, input) or input.name))


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


def means(flow: WiredFlow, input: FlowInput) -> bool:
    """Whether a declared input's name means it, though a param has that name too: because that param takes the input,
    or because no other flag could give it."""
    others = [
        item
        for wired in flow.steps.values()
        for key, item in wired.interface.params.items()
        if (wired.id, key) not in input.readers
    ]
    is_alone = not any(_plain(input.name) in _item_names(item) for item in others)
    return input.declared and (is_alone or _of_a_step(flow, input) is None)


def _own_names(flow: WiredFlow, input: FlowInput) -> list[str]:
    """What an input may be called: one that the flow declares, by its name and the aliases of reads of that name."""
    if not input.declared:
        return [_plain(name) for name in [input.name, *input.flags]]
    reads = [flow.steps[step].interface.reads.get(key) for step, key in input.readers if key == input.name]
    return [_plain(name) for name in [input.name, *(flag for read in reads if read for flag in read.flags)]]


def _param_names(flow: WiredFlow) -> list[set[str]]:
    """The names of each param of each step."""
    return [_item_names(item) for wired in flow.steps.values() for item in wired.interface.params.values()]


def _item_names(item: Item) -> set[str]:
    return {_plain(name) for name in [item.name, *item.flags]}


def _plain(name: str) -> str:
    return name.replace("_", "-")
