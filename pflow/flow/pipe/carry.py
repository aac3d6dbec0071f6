"""What a pipe would carry into each step of a flow: the latest `[pipe]` write on every way there."""

from __future__ import annotations

from pflow.flow.graph import ERROR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.wired import WiredFlow, WiredStep

STDIN = ""
"""Stands among the writers for what comes through the pipe into the flow."""


class Carried:
    """The steps whose `[pipe]` write may be what is carried, in the order of the flow.

    `is_sure` when on every way one of them has written.
    """

    __slots__ = ("is_sure", "writers")

    def __init__(self, writers: tuple[str, ...], *, is_sure: bool) -> None:
        self.writers = writers
        self.is_sure = is_sure


def carried_into(plan: WiredFlow) -> dict[str, Carried]:
    """What is carried into each step. Nothing is carried out of a fork, and nothing of a step out of its failure."""
    carrying = _Carrying(plan)
    order = {id: at for at, id in enumerate([STDIN, *plan.steps])}
    return {
        id: Carried(tuple(sorted(carrying.writers[id], key=order.__getitem__)), is_sure=carrying.is_sure[id])
        for id in plan.steps
    }


class _Carrying:
    def __init__(self, plan: WiredFlow) -> None:
        self.plan = plan
        self.closed = _out_of_forks(plan)
        self.arriving = self._arriving()
        self.writers: dict[str, set[str]] = {id: set() for id in plan.steps}
        self.is_sure = dict.fromkeys(plan.steps, True)
        self.order = plan.graph.order()
        while sum(map(self._add_writers, self.order)):
            pass
        while sum(map(self._doubt, self.order)):
            pass

    def _arriving(self) -> dict[str, list[tuple[str, str]]]:
        """The steps, with the action, that lead to each."""
        arriving: dict[str, list[tuple[str, str]]] = {id: [] for id in self.plan.steps}
        for source, actions in self.plan.graph.next.items():
            for action, targets in actions.items():
                for target in targets:
                    arriving[target].append((source, action))
        return arriving

    def _add_writers(self, id: str) -> bool:
        found: set[str] = {STDIN} if self._takes_stdin(id) else set()
        for source, action in self.arriving[id]:
            if (source, id) not in self.closed:
                found |= self._past(source, action)
        grew = not found <= self.writers[id]
        self.writers[id] |= found
        return grew

    def _takes_stdin(self, id: str) -> bool:
        """Whether a step is the first and what comes through the pipe is what it works on."""
        first = self.plan.steps[id]
        read = first.interface.pipe_read
        return id == self.plan.graph.first and read is not None and read.required and not is_given(first, read.name)

    def _past(self, source: str, action: str) -> set[str]:
        wired = self.plan.steps[source]
        if wired.interface.pipe_write is None:
            return self.writers[source]
        if action != ERROR:
            return {source}
        return self.writers[source] | ({source} if ERROR in wired.interface.actions else set())

    def _doubt(self, id: str) -> bool:
        """Whether it turns out that on some way to a step nothing is carried."""
        if not self.is_sure[id]:
            return False
        is_sure = id != self.plan.graph.first or self._takes_stdin(id)
        for source, action in self.arriving[id]:
            writes = self.plan.steps[source].interface.pipe_write is not None and action != ERROR
            is_sure = is_sure and (source, id) not in self.closed and (writes or self.is_sure[source])
        self.is_sure[id] = is_sure
        return not is_sure


def is_given(wired: WiredStep, key: str) -> bool:
    """Whether a step itself says what a read is."""
    step = wired.step
    return key in step.inputs or key in step.input_mappings or key in step.params


def _out_of_forks(plan: WiredFlow) -> set[tuple[str, str]]:
    """The edges that end a branch of a fork."""
    closed: set[tuple[str, str]] = set()
    for fork in plan.graph.forks():
        closed |= set(fork.exits)
        if fork.meet is not None:
            inside = set[str]().union(*fork.branches)
            inside |= {fork.source} if fork.meet in fork.starts else set()
            closed |= {(each, fork.meet) for each in inside if fork.meet in plan.graph.after(each)}
    return closed


def are_parallel(plan: WiredFlow, ids: set[str]) -> bool:
    """Whether two of the steps stand in different branches of one fork."""
    return any(sum(bool(branch & ids) for branch in fork.branches) > 1 for fork in plan.graph.forks())


def is_certain(plan: WiredFlow, writers: set[str], id: str) -> bool:
    """Whether every way from the first step to this one passes a step of these, one that has not failed."""
    first = plan.graph.first
    if first is None or id == first:
        return False
    seen, todo = {first}, [first]
    for each in todo:
        for action, targets in plan.graph.next[each].items():
            if each in writers and action != ERROR:
                continue
            for target in targets:
                if target == id:
                    return False
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
    return True
