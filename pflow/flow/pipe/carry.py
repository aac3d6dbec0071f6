"""What a pipe would carry into each step of a flow: the latest `[pipe]` write on every way there."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.flow.graph import ERROR
from pflow.words.naming import joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def carried_into(flow: WiredFlow) -> dict[str, Carried]:
    """What is carried into each step. Nothing is carried out of a fork, nor from a step to where its failure leads."""
    closed = _out_of_forks(flow)
    first = flow.graph.first
    takes_stdin = first is not None and _takes_stdin(flow.steps[first])
    writers: dict[str, list[str]] = {id: [] for id in flow.steps}
    for writer in [STDIN, *flow.steps]:
        starts = ([first] if takes_stdin and first else []) if writer == STDIN else _handed_to(flow, writer, closed)
        for id in _passed_on(flow, starts, closed):
            writers[id].append(writer)
    bare = _passed_on(flow, {target for _, target in closed} | ({first} if first and not takes_stdin else set()), set())
    return {id: Carried(tuple(found), is_sure=id not in bare) for id, found in writers.items()}


def _takes_stdin(first: WiredStep) -> bool:
    """Whether the first step works on what comes through the pipe."""
    if first.step.takes_pipe_apart:
        return True
    read = first.interface.pipe_read
    return read is not None and read.required and not first.step.fills(read.name)


def _handed_to(flow: WiredFlow, id: str, closed: set[tuple[str, str]]) -> list[str]:
    """The next steps that get what a step writes: nothing after its failure, unless its node returns that action."""
    interface = flow.steps[id].interface
    if interface.pipe_write is None:
        return []
    actions = flow.graph.next[id].items()
    found = [targets for action, targets in actions if action != ERROR or ERROR in interface.actions]
    return [target for targets in found for target in targets if (id, target) not in closed]


def _passed_on(flow: WiredFlow, starts: Iterable[str], closed: set[tuple[str, str]]) -> set[str]:
    """These steps, and all that follow until a step writes something else; a step that fails writes nothing."""
    seen, todo = set(starts), list(starts)
    for id in todo:
        is_passed = flow.steps[id].interface.pipe_write is None
        for action, targets in flow.graph.next[id].items():
            for target in targets if is_passed or action == ERROR else ():
                if target not in seen and (id, target) not in closed:
                    seen.add(target)
                    todo.append(target)
    return seen


def doubts(flow: WiredFlow, id: str, writers: tuple[str, ...]) -> Iterator[str]:
    """What is said where a step takes the write of these, though one right before it may write what nobody knows of."""
    read = flow.steps[id].interface.pipe_read
    if read is None or flow.steps[id].step.fills(read.name) or (read.required and not writers):
        return
    interfaces = {each: flow.steps[each].interface for each in flow.graph.before[id]}
    if unknown := [each for each, found in interfaces.items() if found.open and found.pipe_write is None]:
        taken = joined([each or "stdin" for each in writers]) or "nothing"
        yield f"what {joined(unknown)} writes is not known: '{id}' takes {taken}; --map-in={read.name}=PATH says what"


def _out_of_forks(flow: WiredFlow) -> set[tuple[str, str]]:
    """The edges that end a branch of a fork."""
    closed: set[tuple[str, str]] = set()
    for fork in flow.graph.forks():
        closed |= set(fork.exits)
        if fork.meet is not None:
            inside = set[str]().union(*fork.branches)
            inside |= {fork.source} if fork.meet in fork.starts else set()
            closed |= {(each, fork.meet) for each in inside if fork.meet in flow.graph.after(each)}
    return closed


def are_parallel(flow: WiredFlow, ids: set[str]) -> bool:
    """Whether two of the steps are in different branches of one fork."""
    return any(sum(bool(branch & ids) for branch in fork.branches) > 1 for fork in flow.graph.forks())


def is_certain(flow: WiredFlow, writers: set[str], id: str) -> bool:
    """Whether every path from the first step to this one passes a writer that succeeded."""
    first = flow.graph.first
    if first is None or id == first:
        return False
    seen, todo = {first}, [first]
    for each in todo:
        for action, targets in flow.graph.next[each].items():
            if each not in writers or action == ERROR:
                todo += [target for target in targets if target not in seen]
                seen.update(targets)
    return id not in seen
