"""Each step of a flow: what it is, where its values come from and go to, how it runs, what comes after it."""

from __future__ import annotations

from pflow.catalog.kinds import FLOW
from pflow.explain.effects import effects_of
from pflow.explain.layout import reader_name, writes_of
from pflow.paths import write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.explain.origins import Origins
    from pflow.flow.graph import Fork
    from pflow.flow.wired import WiredFlow, WiredStep

    Account = dict[str, Any]


def steps(plan: WiredFlow, origins: Origins) -> list[Account]:
    """An account of each step, in the order of the file."""
    order = {id: at for at, id in enumerate(plan.graph.order())}
    forks = {(fork.source, fork.action): fork for fork in plan.graph.forks()}
    return [
        {
            **_identity(wired),
            "reached": wired.id in order,
            "reads": _reads(wired, origins),
            "writes": _writes(plan, wired, origins),
            "params": {key: origins.of_param(wired, key) for key in _own_params(wired)},
            "effects": list(effects_of(wired)),
            **_manner(wired, origins),
            "next": [_edge(wired, action, plan, order, forks) for action in _actions(plan, wired)],
        }
        for wired in plan.steps.values()
    ]


def _identity(wired: WiredStep) -> Account:
    """What the step is: its node, and what is not known of it."""
    kind, interface = wired.kind, wired.interface
    return {
        "number": wired.number,
        "id": wired.id,
        "type": wired.step.type,
        "version": kind.version if kind is not None and kind.origin != FLOW else None,
        "origin": kind.origin if kind is not None else None,
        "file": kind.file if kind is not None else None,
        "summary": interface.summary,
        "open": interface.open,
        "fault": wired.fault or interface.fault or ("" if kind is not None else "there is no such node"),
    }


def _reads(wired: WiredStep, origins: Origins) -> list[Account]:
    reads = []
    for key in dict.fromkeys([*wired.interface.reads, *wired.step.inputs, *wired.step.input_mappings]):
        item = wired.interface.reads.get(key)
        account: Account = {"key": key, "type": str(item.type) if item else "any", "doc": item.doc if item else ""}
        reads.append({**account, "required": bool(item and item.required), "from": origins.of_read(wired, key)})
    return reads


def _writes(plan: WiredFlow, wired: WiredStep, origins: Origins) -> list[Account]:
    return [
        {
            "key": write.key,
            "type": str(plan.write_type(write)),
            "doc": write.item.doc if write.item else "",
            "to": write_path(write.target),
            "read_by": list(dict.fromkeys(map(reader_name, origins.readers_of(write.target, {wired.id})))),
        }
        for write in writes_of(wired)
    ]


def _own_params(wired: WiredStep) -> list[str]:
    """The params that are set and do not stand in for a read."""
    return [key for key in wired.step.params if key not in wired.interface.reads]


def _manner(wired: WiredStep, origins: Origins) -> Account:
    """How the step runs, as far as the flow says it."""
    step = wired.step
    manner: Account = {"has_model": "model" in wired.interface.params}
    for name in ("retries", "wait", "timeout", "max_visits"):
        value = getattr(step, name)
        if value is not None:
            manner[name] = value
    if step.version is not None:
        manner["asks_version"] = step.version
    if step.batch is not None:
        manner["batch"] = {
            "over": origins.of_batch(wired),
            "as": step.batch.item,
            "jobs": step.batch.jobs,
            "on_error": step.batch.on_error,
        }
    if wired.subplan is not None:
        manner["steps"] = len(wired.subplan.steps)
    return manner


def _actions(plan: WiredFlow, wired: WiredStep) -> list[str]:
    """The actions that have an edge, then those that the node may return and have none."""
    edges = plan.graph.next[wired.id]
    if not edges:
        return []
    return list(dict.fromkeys([*edges, *wired.interface.actions]))


def _edge(
    wired: WiredStep, action: str, plan: WiredFlow, order: dict[str, int], forks: dict[tuple[str, str], Fork]
) -> Account:  # fmt: skip
    targets = plan.graph.next[wired.id].get(action, [])
    at = order.get(wired.id, 0)
    account: Account = {"action": action, "to": targets, "back": any(order.get(each, at + 1) <= at for each in targets)}
    fork = forks.get((wired.id, action))
    if fork is not None:
        account["meet"] = fork.meet
    return account
