"""The flag that each input of a flow is shown under: the shortest that means it and nothing else."""

from __future__ import annotations

from pflow.common import OF_RUNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.plan import Plan, PlanInput
    from pflow.interface import Item


def name_flags(plan: Plan) -> None:
    """Settle `flag` of every input: its name or an alias; where all of them fit several, `--ID.READ`.

    What is a flag of `pflow run` itself is none of an input's.
    """
    fitting: dict[str, int] = {}
    for names in [*map(_all_names, plan.inputs.values()), *_param_names(plan)]:
        for name in names:
            fitting[name] = fitting.get(name, 0) + 1
    for given in plan.inputs.values():
        free = [name for name in _own_names(plan, given) if name.replace("-", "_") not in OF_RUNS]
        alone = [name for name in free if fitting[name] == 1 or (name == _plain(given.name) and means(plan, given))]
        given.flag = "--" + (
            min(alone, key=len) if alone else _plain(".".join(given.readers[0]) if given.readers else given.name)
        )


def means(plan: Plan, given: PlanInput) -> bool:
    """Whether the name of an input means it, whatever else goes by that name: the flow declares it, and there is no
    param of that name but the one that takes it."""
    others = [
        item
        for wired in plan.steps.values()
        for key, item in wired.interface.params.items()
        if (wired.id, key) not in given.readers
    ]
    return given.declared and not any(_plain(given.name) in _item_names(item) for item in others)


def _all_names(given: PlanInput) -> set[str]:
    return {_plain(name) for name in [given.name, *given.flags]}


def _own_names(plan: Plan, given: PlanInput) -> list[str]:
    """What an input may be called: one that the flow declares, by its name and the aliases of reads of that name."""
    if not given.declared:
        return [_plain(name) for name in [given.name, *given.flags]]
    reads = [plan.steps[step].interface.reads.get(key) for step, key in given.readers if key == given.name]
    return [_plain(name) for name in [given.name, *(flag for read in reads if read for flag in read.flags)]]


def _param_names(plan: Plan) -> list[set[str]]:
    """The names of each param of each step."""
    return [_item_names(item) for wired in plan.steps.values() for item in wired.interface.params.values()]


def _item_names(item: Item) -> set[str]:
    return {_plain(name) for name in [item.name, *item.flags]}


def _plain(name: str) -> str:
    return name.replace("_", "-")
