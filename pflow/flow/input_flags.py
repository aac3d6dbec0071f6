"""The flag that each input of a flow is shown under: the shortest that means it and nothing else."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.plan import Plan, PlanInput


def name_flags(plan: Plan) -> None:
    """Settle `flag` of every input: its name or an alias; where all of them fit several, `--ID.READ`."""
    fitting: dict[str, int] = {}
    for names in [*map(_all_names, plan.inputs.values()), *_param_names(plan)]:
        for name in names:
            fitting[name] = fitting.get(name, 0) + 1
    for given in plan.inputs.values():
        alone = [name for name in _own_names(plan, given) if fitting[name] == 1]
        given.flag = "--" + (
            min(alone, key=len) if alone else _plain(".".join(given.readers[0]) if given.readers else given.name)
        )


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
    items = [item for wired in plan.steps.values() for item in wired.interface.params.values()]
    return [{_plain(name) for name in [item.name, *item.flags]} for item in items]


def _plain(name: str) -> str:
    return name.replace("_", "-")
