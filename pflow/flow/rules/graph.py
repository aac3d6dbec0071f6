"""PF12: ids are unique, edges name known steps, every step is reached, loops have a way out, forks are closed."""

from __future__ import annotations

from pflow import Iterator
from pflow.catalog.find import FLOW
from pflow.flow.findings import Finding, Rule
from pflow.flow.graph import ERROR
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.interface import ONE_OF
from pflow.text.naming import guess, joined, meant
from pflow.values.paths import Path, is_step_name, write_path


def check_graph(flow: WiredFlow) -> Iterator[Finding]:
    """Check ids and edges, and the graph only if these are right."""
    yield from _check_ids(flow)
    for edge in flow.flow.edges:
        for end, id in (("from", edge.source), ("to", edge.target)):
            if id not in flow.steps:
                yield Finding("PF12", (*edge.location, end), f"no step is called '{id}'", guess(id, flow.steps))
    for id in flow.flow.stray_mappings:
        yield Finding("PF12", ("mappings", id), f"no step is called '{id}'", guess(id, flow.steps))
    yield from _check_actions(flow)
    if not flow.is_uncertain:
        yield from _check_reach(flow)
        yield from _check_loops(flow)
        yield from _check_forks(flow)
        for step in flow.steps.values():
            yield from _check_ends(step, flow.graph.next[step.id])


def _check_ids(flow: WiredFlow) -> Iterator[Finding]:
    first: dict[str, Path] = {}
    for id, step in zip(flow.steps, flow.flow.steps, strict=True):
        if step.id in first:
            remedy = f"rename this one, to '{id}' for example: {write_path(first[step.id])} has the same id"
            yield Finding("PF12", (*step.location, "id"), f"two steps are called '{step.id}'", remedy)
        elif not is_step_name(step.id) and step.id != "stdin":  # PF05 reports that it is reserved
            remedy = "letters, digits, _ and -, with a letter first"
            yield Finding("PF12", (*step.location, "id"), f"'{step.id}' is not a valid name for a step", remedy)
        first.setdefault(step.id, step.location)


def _check_reach(flow: WiredFlow) -> Iterator[Finding]:
    """Yield a finding for each step that is not reached, but none for the steps after it."""
    seen = set(flow.order)
    left = [id for id in flow.steps if id not in seen]
    # Steps without an edge to them come first, so that their finding covers the steps after them.
    starts = [id for id in left if all(each in seen for each in flow.graph.before[id])]
    for id in [*starts, *left]:
        if id not in seen:
            seen.update(flow.graph.reach(id))
            is_line = flow.flow.dialect == "pipe"
            remedy = f"… => {id}" if is_line else f"add an edge to '{id}' from a step that is reached"
            yield Finding("PF12", flow.steps[id].step.location, f"no edge leads to '{id}'", remedy)


def _check_loops(flow: WiredFlow) -> Iterator[Finding]:
    for loop in flow.graph.loops():
        if not any(_may_leave(flow, flow.steps[id], loop) for id in loop):
            way = " → ".join([*loop[:8], "…"] if len(loop) > 8 else [*loop, loop[0]])
            remedy = "add an edge out of it, for an action of one of its steps"
            yield Finding("PF12", flow.steps[loop[0]].step.location, f"the loop {way} has no way out", remedy)


def _may_leave(flow: WiredFlow, step: WiredStep, loop: list[str]) -> bool:
    """Return True if the flow can leave the loop after this step, or end with it."""
    edges = flow.graph.next[step.id]
    leaves = any(target not in loop for target in flow.graph.after(step.id))
    return leaves or not _has_actions(step) or any(action not in edges for action in _own_actions(step))


def _has_actions(step: WiredStep) -> bool:
    """Return True if a step's actions are known. A flow's are not, since they depend on its last step."""
    is_flow = step.node_type is None or step.node_type.origin == FLOW
    return step.is_known and not is_flow and not step.actions[0].startswith(ONE_OF)


def _own_actions(step: WiredStep) -> list[str]:
    """Return the declared actions without `error`, which any step may return."""
    return [action for action in step.actions if action != ERROR]


def _check_forks(flow: WiredFlow) -> Iterator[Finding]:
    """Yield one finding for all forks that share steps, since one wrong edge spoils all of them."""
    seen: set[str] = set()
    for fork in flow.graph.forks():
        crossing = flow.graph.open_edges(fork)
        steps = {fork.source}.union(*fork.branches)
        if crossing and steps.isdisjoint(seen):
            seen |= steps
            source, target = crossing[0]
            location = next(edge.location for edge in flow.flow.edges if (edge.source, edge.target) == (source, target))
            leaves = any(source in branch and target not in branch for branch in fork.branches)
            edge = f"the edge from '{source}' to '{target}' {'leaves' if leaves else 'enters'}"
            where = f"only '{fork.meet}', where they meet, may follow" if fork.meet else "they must meet at one step"
            remedy = f"branches begin at {joined(fork.starts)}; {where}"
            yield Finding("PF12", location, f"{edge} a branch of the fork at '{fork.source}'", remedy)


def _check_actions(flow: WiredFlow) -> Iterator[Finding]:
    """Find edges that are never taken. They are errors only if the step's actions are declared."""
    for edge in flow.flow.edges:
        step = flow.steps.get(edge.source)
        is_known = step is not None and step.are_actions_known
        if step and (is_known or _has_actions(step)) and edge.action not in (*step.actions, ERROR):
            message = f"'{step.id}' never returns '{edge.action}'"
            others = dict.fromkeys(each.action for each in flow.flow.edges if each.source == step.id)
            words = " ".join(each for each in others if each not in ("default", ERROR))
            to_branch = f"to branch on its answer: '{step.id} => choose:answer {words}; answer ={edge.action}=> …'"
            remedy = guess(edge.action, step.actions, to_branch if step.interface.actions == ("default",) else "")
            yield Finding("PF12", (*edge.location, "action"), message, remedy, is_warning=not is_known)


def _check_ends(step: WiredStep, edges: dict[str, list[str]]) -> Iterator[Finding]:
    """Warn of actions without an edge, which end the flow, if another action of the step has one."""
    own = _own_actions(step) if _has_actions(step) else []
    misspelt = {meant(action, own) for action in edges if action not in own}
    ending = [action for action in own if action not in edges and action not in misspelt]
    if ending and any(action in edges for action in own):
        message = f"the flow ends where '{step.id}' returns {joined(ending)}: no edge has that action"
        remedy = f'{{"from": "{step.id}", "to": …, "action": "{ending[0]}"}}'
        yield Finding("PF12", step.step.location, message, remedy, is_warning=True, is_said_by_run=True)


RULES = (Rule("PF12", "ids are unique, steps known and reached; loops end, forks close", check_graph),)
