"""The visits of a run by their paths: their steps, and which of them run again with a step."""

from __future__ import annotations

from pflow.flow.wired import WiredFlow, WiredStep
from pflow.record.records import name_of

FORK = ":fork"
"""The end of the path of a fork's visit, after that of the step before it."""


def steps_by_name(flow: WiredFlow, prefix: str = "") -> dict[str, tuple[WiredFlow, WiredStep]]:
    """Return each step with its flow; a step of a subflow is called `outer/inner`."""
    found: dict[str, tuple[WiredFlow, WiredStep]] = {}
    for id, step in flow.steps.items():
        found[prefix + id] = flow, step
        if step.subflow is not None:
            found |= steps_by_name(step.subflow, f"{prefix}{id}/")
    return found


def is_of(path: str, name: str) -> bool:
    """Return True if a visit is one of this step, or inside one."""
    return f"{name_of(path)}/".startswith(f"{name}/")


def is_again(flow: WiredFlow, name: str, path: str, *, with_later: bool) -> bool:
    """Return True if a visit is one of a step that runs again, of one around it or, `with_later`, of one after it."""
    ids = path.split("/")
    for level, wanted in enumerate(name.split("/")):
        id = ids[level].partition("@")[0]
        if ids[level].endswith(FORK) and any(
            wanted in branch for fork in flow.graph.forks() if fork.source == id for branch in fork.branches
        ):
            return True
        if id != wanted or ids[level].endswith(FORK):
            return with_later and id in flow.graph.reach(wanted)
        inner = flow.steps[id].subflow
        if level == len(ids) - 1 or inner is None:
            return True
        flow = inner
    return True
