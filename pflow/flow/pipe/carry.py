"""What the pipe carries into each step of a flow, and which steps write under their ids so that no write is lost."""

from __future__ import annotations

from pflow import Iterable, Iterator
from pflow.flow.graph import ERROR, distances
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.text.naming import joined
from pflow.values.paths import Path, parse_path, write_path

STDIN = ""
"""Stands for the flow's stdin where a writer's id is expected."""


def carried_into(flow: WiredFlow) -> tuple[dict[str, list[str]], set[str]]:
    """Find the writers of what the pipe carries into each step: on each path, the step with the latest `[pipe]` write.

    The writers are in the order of the flow. The set has the steps into which the pipe carries something on every path.
    It carries nothing out of a fork, and nothing along the `error` edge of a failed step.
    """
    closed = _out_of_forks(flow)
    first = flow.graph.first
    piped = [first] if first is not None and _takes_stdin(flow.steps[first]) else []
    writers: dict[str, list[str]] = {id: [] for id in flow.steps}
    for writer in [STDIN, *flow.steps]:
        for id in _passed_on(flow, piped if writer == STDIN else _handed_to(flow, writer, closed), closed):
            writers[id].append(writer)
    bare = _passed_on(flow, {target for _, target in closed} | ({first} if first and not piped else set()), set())
    return writers, writers.keys() - bare


def _takes_stdin(first: WiredStep) -> bool:
    if first.step.takes_pipe_apart:
        return True
    read = first.interface.pipe_read
    return read is not None and read.required and not first.step.fills(read.name)


def _handed_to(flow: WiredFlow, id: str, closed: set[tuple[str, str]]) -> list[str]:
    """Return the next steps to which the pipe carries a step's write; along `error` only if the node returns that."""
    interface = flow.steps[id].interface
    if interface.pipe_write is None:
        return []
    actions = flow.graph.next[id].items()
    found = [targets for action, targets in actions if action != ERROR or ERROR in interface.actions]
    return [target for targets in found for target in targets if (id, target) not in closed]


def _passed_on(flow: WiredFlow, starts: Iterable[str], closed: set[tuple[str, str]]) -> set[str]:
    """Return these steps and all after them, up to those with a `[pipe]` write of their own, unless they fail."""

    def follow(id: str) -> list[str]:
        is_passed = flow.steps[id].interface.pipe_write is None
        found = [targets for action, targets in flow.graph.next[id].items() if is_passed or action == ERROR]
        return [target for targets in found for target in targets if (id, target) not in closed]

    return set(distances(starts, follow))


def doubts(flow: WiredFlow, id: str, writers: list[str]) -> Iterator[str]:
    """Warn if a step takes what `writers` wrote, though an open step right before it may have written a newer value."""
    read = flow.steps[id].interface.pipe_read
    step = flow.steps[id].step
    if read is None or step.is_unfed or step.fills(read.name) or (read.required and not writers):
        return
    interfaces = {each: flow.steps[each].interface for each in flow.graph.before[id]}
    if unknown := [each for each, found in interfaces.items() if found.may_carry_any and found.pipe_write is None]:
        taken = joined([each or "stdin" for each in writers]) or "nothing"
        yield f"{joined(unknown)} may write any key: '{id}' takes {taken}; --map-in={read.name}=PATH names the value"


def _out_of_forks(flow: WiredFlow) -> set[tuple[str, str]]:
    """Return the edges out of forks. Nothing is carried along them, since no branch comes before another one."""
    closed: set[tuple[str, str]] = set()
    for fork in flow.graph.forks():
        closed |= set(fork.exits)
        if fork.meet is not None:
            inside = set[str]().union(*fork.branches)
            inside |= {fork.source} if fork.meet in fork.starts else set()
            closed |= {(each, fork.meet) for each in inside if fork.meet in flow.graph.after(each)}
    return closed


UNKNOWN: Path = ()
"""The place of the value that the pipe carries from an open step: only the run knows it."""


def carried_out(flow: WiredFlow) -> list[Path | None]:
    """Find the places of the values that the pipe may carry at the end of a flow, in the order of the flow.

    There is one for each latest `[pipe]` write on a path to the end, and None if some path has no such write. An open
    step may write something (UNKNOWN), or pass on the value that it gets.
    """
    in_forks = {id for fork in flow.graph.forks() for branch in fork.branches for id in branch}
    writers: set[str] = set()
    todo = [(id, False) for id in flow.order if endings(flow, id)]
    met = set(todo)
    for id, has_failed in todo:
        interface = flow.steps[id].interface
        if not has_failed and id not in in_forks and (interface.pipe_write is not None or interface.may_carry_any):
            writers.add(id)
            if interface.pipe_write is not None:
                continue
        if id == flow.graph.first:
            writers.add(STDIN)
        for each in flow.graph.before[id]:
            for action in (action for action, targets in flow.graph.next[each].items() if id in targets):
                is_returned = action != ERROR or ERROR in flow.steps[each].interface.actions
                ends = [(each, False)] * is_returned + [(each, True)] * (action == ERROR)
                todo += [end for end in ends if end not in met]
                met.update(ends)
    writes = [(flow.steps[id], flow.steps[id].interface.pipe_write) for id in flow.order if id in writers]
    places = [UNKNOWN if write is None else step.place_of(write.name) for step, write in writes]
    return [None, *places] if STDIN in writers else [*places]


def carried_behind(flow: WiredFlow) -> str | None:
    """Return the path of the value that the pipe carries after a flow, if known; of several, the latest step's."""
    known = [place for place in map(flow.place_outside, carried_out(flow)) if place]
    return write_path(known[-1]) if known else None


def endings(flow: WiredFlow, id: str) -> list[str]:
    """Return the actions that end the flow after a step: those without an edge, `error` only without a default edge."""
    edges, actions = flow.graph.next[id].keys(), flow.steps[id].actions
    return [action for action in actions if action not in edges and (action != ERROR or "default" not in edges)]


def are_parallel(flow: WiredFlow, ids: set[str]) -> bool:
    """Return True if two of the steps are in different branches of one fork."""
    return any(sum(bool(branch & ids) for branch in fork.branches) > 1 for fork in flow.graph.forks())


def is_certain(flow: WiredFlow, writers: set[str], id: str) -> bool:
    """Return True if on every path from the first step to this one, a writer has succeeded."""
    first = flow.graph.first
    if first is None or id == first:
        return False

    def lead(id: str) -> list[str]:
        actions = flow.graph.next
        return [each for each in flow.graph.before[id] if each not in writers or id in actions[each].get(ERROR, [])]

    return first not in distances([id], lead)  # backwards, since a writer is usually nearer than the first step


def find_moved(flow: WiredFlow, apart: set[str]) -> set[str]:
    """Find the steps that move under their ids: those `apart`, and those that write a key that another step writes too.

    A moved step's id may be a key that another step writes, so this goes on until no more steps move.
    """
    moved = set(apart)
    while more := _meeting(flow, moved):
        moved |= more
    return moved


def _meeting(flow: WiredFlow, moved: set[str]) -> set[str]:
    """Return the steps that write under the same key at the top of the store as another step."""
    writers: dict[str, set[str]] = {}
    free: list[tuple[str, str]] = []
    for id, step in flow.steps.items():
        mapped = step.step.output_mappings
        for key in step.interface.writes:
            root = str(parse_path(mapped[key])[0]) if key in mapped else id if id in moved else key
            writers.setdefault(root, set()).add(id)
            free += [(id, key)] if key not in mapped and id not in moved else []
        for key in step.step.inputs:
            if key in step.interface.reads and step.interface.reads[key].is_stored:
                writers.setdefault(id if is_whole(step, moved) else key, set()).add(id)
    return {id for id, key in free if len(writers[key]) > 1}


def is_whole(step: WiredStep, moved: set[str]) -> bool:
    """Return True if all writes of a step go under its id; then its data flags do too."""
    writes = step.interface.writes
    return step.id in moved and bool(writes) and not any(key in step.step.output_mappings for key in writes)
