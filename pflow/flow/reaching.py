"""Which writes may be in the store when a step begins: those of the steps before it, the latest of each name."""

from __future__ import annotations

from pflow.binding.resolve import is_stored as is_flag_stored
from pflow.flow.wired import END, Write
from pflow.templates import references

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.flow.flow import Step
    from pflow.flow.graph import Graph
    from pflow.flow.wired import Names, WiredStep
    from pflow.paths import Path


def reaching_writes(steps: dict[str, WiredStep], graph: Graph) -> dict[str, Names]:
    """The writes that reach each step of a graph, and the end of the flow.

    The graph is walked until nothing more arrives anywhere: once where it has no loop.
    """
    made = {id: _writes_by_name(step) for id, step in steps.items()}
    order = graph.order()
    number = {id: n for n, id in enumerate(order)}
    has_loops = any(number[each] >= number[id] for id in order for each in graph.before[id] if each in number)
    names: dict[str, Names] = {id: {} for id in [*steps, END]}
    after: dict[str, Names] = {}
    known = -1
    while True:
        for id in order:
            names[id] = _merged([after[each] for each in graph.before[id] if each in after])
            after[id] = _past(names[id], made[id])
        there = [paths for each in after.values() for paths in each.values()]
        count = sum(len(writes) for paths in there for writes in paths.values())
        if not has_loops or count == known:
            break
        known = count
    names[END] = _merged([after[id] for id in order if has_loops or not graph.after(id)])
    return names


def _past(before: Names, made: list[tuple[Path, Write]]) -> Names:
    """The writes when a step has ended: its own in place of older ones of their names."""
    names = dict(before)
    for name, write in made:
        there = names[name[0]] = dict(names.get(name[0], {}))
        own = {(write.step, write.key): write}
        there[name] = {**there.get(name, {}), **own} if write.is_data else own
    return names


def _merged(several: list[Names]) -> Names:
    if len(several) == 1:
        return several[0]
    merged: Names = {}
    for names in several:
        for root, there in names.items():
            if merged.setdefault(root, there) is not there:
                known = merged[root]
                merged[root] = {name: {**known.get(name, {}), **there.get(name, {})} for name in {**known, **there}}
    return merged


def is_stored(wired: WiredStep, key: str) -> bool:
    """Whether a data flag of a step goes into the store."""
    return is_flag_stored(wired.interface, key, wired.step.params) and not _is_of_item(wired.step, key)


def data_of(wired: WiredStep) -> Iterator[Write]:
    """The data flags that a step stores."""
    for key in wired.step.inputs:
        item = wired.interface.reads.get(key)
        if item is not None and is_stored(wired, key):
            yield Write(wired.id, key, wired.data_place(key), item, is_data=True)


def _is_of_item(step: Step, key: str) -> bool:
    """Whether a data flag is made of a batch's item: its value differs with each item, so it is not stored."""
    if step.batch is None:
        return False
    try:
        return any(path[0] == step.batch.item for path in references(step.inputs.get(key)))
    except ValueError:  # a finding of the rules
        return False


def writes_of(wired: WiredStep) -> list[Write]:
    """What a step writes, wherever it goes; its data flags are not among it."""
    keys = dict.fromkeys([*wired.interface.writes, *wired.targets])
    return [Write(wired.id, key, wired.place_of(key), wired.interface.writes.get(key)) for key in keys]


def _writes_by_name(wired: WiredStep) -> list[tuple[Path, Write]]:
    """What a step stores, under every name by which it is found."""
    made = [(write.target, write) for write in data_of(wired)]
    for write in writes_of(wired):
        made.append((write.target, write))
        if write.key in wired.moved and write.target != (write.key,):
            made.append(((write.key,), write))
    return made
