"""The flag that each input of a flow is shown under: the shortest that means it and nothing else."""

from __future__ import annotations

from pflow.common import OF_RUNS
from pflow.templates import is_reference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.wired import FlowInput, WiredFlow
    from pflow.interface import Item


def name_flags(plan: WiredFlow) -> None:
    """Settle `flag` of every input: its name or an alias; where all of them fit several, `--ID.READ`.

    What is a flag of `pflow run` itself is none of an input's.
    """
    fitting: dict[str, int] = {}
    for names in [*({_plain(name) for name in names_of(each)} for each in plan.inputs.values()), *_param_names(plan)]:
        for name in names:
            fitting[name] = fitting.get(name, 0) + 1
    for given in plan.inputs.values():
        free = [name for name in _own_names(plan, given) if name.replace("-", "_") not in OF_RUNS]
        alone = [name for name in free if fitting[name] == 1 or (name == _plain(given.name) and means(plan, given))]
        given.flag = "--" + (min(alone, key=len) if alone else _plain(_of_a_step(plan, given) or given.name))


def names_of(given: FlowInput) -> list[str]:
    """The names that an input goes by: its own, its aliases, and that of the one read that it is for."""
    return list(dict.fromkeys([given.name, *given.flags, *([given.readers[0][1]] if given.step else [])]))


def readers_of(plan: WiredFlow, given: FlowInput) -> list[tuple[str, str]]:
    """The reads, and the params that are an input as it is, whose flags are the input's. A param that holds more than
    the input has a flag of its own."""
    return [(step, key) for step, key in given.readers if not _holds_more(plan, step, key)]


def _holds_more(plan: WiredFlow, step: str, key: str) -> bool:
    wired = plan.steps[step]
    value = wired.step.params.get(key)
    return key in wired.interface.params and not (isinstance(value, str) and is_reference(value))


def _of_a_step(plan: WiredFlow, given: FlowInput) -> str | None:
    """`ID.READ`, of a read that is given this input and no other."""
    others = {reader for other in plan.inputs.values() if other is not given for reader in other.readers}
    return next((".".join(reader) for reader in readers_of(plan, given) if reader not in others), None)


def means(plan: WiredFlow, given: FlowInput) -> bool:
    """Whether the name of an input means it, whatever else goes by that name: the flow declares it, and there is no
    param of that name but the one that takes it, or else no other flag that could give it."""
    others = [
        item
        for wired in plan.steps.values()
        for key, item in wired.interface.params.items()
        if (wired.id, key) not in given.readers
    ]
    is_alone = not any(_plain(given.name) in _item_names(item) for item in others)
    return given.declared and (is_alone or _of_a_step(plan, given) is None)


def _own_names(plan: WiredFlow, given: FlowInput) -> list[str]:
    """What an input may be called: one that the flow declares, by its name and the aliases of reads of that name."""
    if not given.declared:
        return [_plain(name) for name in [given.name, *given.flags]]
    reads = [plan.steps[step].interface.reads.get(key) for step, key in given.readers if key == given.name]
    return [_plain(name) for name in [given.name, *(flag for read in reads if read for flag in read.flags)]]


def _param_names(plan: WiredFlow) -> list[set[str]]:
    """The names of each param of each step."""
    return [_item_names(item) for wired in plan.steps.values() for item in wired.interface.params.values()]


def _item_names(item: Item) -> set[str]:
    return {_plain(name) for name in [item.name, *item.flags]}


def _plain(name: str) -> str:
    return name.replace("_", "-")
