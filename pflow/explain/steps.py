"""The account of each step, and of the store: what is where, who writes it, who reads it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pflow.catalog.kinds import FLOW
from pflow.explain.effects import effects_of_step
from pflow.explain.origins import Origins
from pflow.flow.graph import ERROR, Fork
from pflow.flow.reaching import data_of, is_stored, writes_of
from pflow.flow.wired import WiredFlow, WiredStep
from pflow.paths import Path, write_path

Account = dict[str, Any]

_ERROR, _ERRORS = "dict{exit: int, message: str}", "list[dict{index: int, item: any, exit: int, message: str}]"


def step_accounts(flow: WiredFlow, origins: Origins) -> list[Account]:
    """An account of each step, in the order of the file."""
    order = {id: at for at, id in enumerate(flow.graph.order())}
    forks = {(fork.source, fork.action): fork for fork in flow.graph.forks()}
    return [
        {
            **_identity(step),
            "reached": step.id in order,
            "reads": _reads(step, origins),
            "writes": _writes(flow, step, origins),
            "params": {key: origins.of_param(step, key) for key in step.step.params if key not in step.interface.reads},
            "effects": list(effects_of_step(step)),
            **_manner(step, origins),
            "next": [_edge(step, action, flow, order, forks) for action in _actions(flow, step)],
        }
        for step in flow.steps.values()
    ]


def _identity(step: WiredStep) -> Account:
    """What the step is: its node, and what is not known of it."""
    kind, interface = step.kind, step.interface
    return {
        "number": step.number,
        "id": step.id,
        "type": step.step.type,
        "version": kind.version if kind is not None and kind.origin != FLOW else None,
        "origin": kind.origin if kind is not None else None,
        "file": kind.file if kind is not None else None,
        "summary": interface.summary,
        "open": interface.open,
        "fault": step.fault or interface.fault or ("" if kind is not None else "there is no such node"),
    }


def _reads(step: WiredStep, origins: Origins) -> list[Account]:
    reads = []
    for key in dict.fromkeys([*step.interface.reads, *step.step.inputs, *step.step.input_mappings]):
        item = step.interface.reads.get(key)
        account: Account = {"key": key, "type": str(item.type) if item else "any", "doc": item.doc if item else ""}
        reads.append({**account, "required": bool(item and item.required), "from": origins.of_read(step, key)})
    return reads


def _writes(flow: WiredFlow, step: WiredStep, origins: Origins) -> list[Account]:
    return [
        {
            "key": write.key,
            "type": str(flow.write_type(write)),
            "doc": write.item.doc if write.item else "",
            "to": write_path(write.target),
            "read_by": origins.readers_of(write.target, {step.id}),
        }
        for write in writes_of(step)
    ]


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
        batch = step.batch
        over = origins.of_batch(wired)
        manner["batch"] = {"over": over, "as": batch.item, "jobs": batch.jobs, "on_error": batch.on_error}
    if wired.subflow is not None:
        manner["steps"] = len(wired.subflow.steps)
    return manner


def _actions(flow: WiredFlow, step: WiredStep) -> list[str]:
    """The actions that have an edge, then those that the node may return and have none."""
    edges = flow.graph.next[step.id]
    return list(dict.fromkeys([*edges, *step.interface.actions])) if edges else []


def _edge(
    step: WiredStep, action: str, flow: WiredFlow, order: dict[str, int], forks: dict[tuple[str, str], Fork]
) -> Account:  # fmt: skip
    targets = flow.graph.next[step.id].get(action, [])
    at = order.get(step.id, 0)
    account: Account = {"action": action, "to": targets, "back": any(order.get(each, at + 1) <= at for each in targets)}
    fork = forks.get((step.id, action))
    return account if fork is None else {**account, "meet": fork.meet}


@dataclass
class _Place:
    """One place of the store. `writers` are steps and flags, of which only `steps` write while the flow runs."""

    types: list[str] = field(default_factory=list)
    writers: list[str] = field(default_factory=list)
    steps: set[str] = field(default_factory=set)


def store_layout(flow: WiredFlow, origins: Origins) -> list[Account]:
    """A row a place: its `path`, `type`, who it is `written_by`, and the steps (or outputs) that it is `read_by`.

    A flag writes too; an optional one is in brackets.
    """
    places: dict[Path, _Place] = {}
    for path, type, writer in [*_at_start(flow), *_while_it_runs(flow)]:
        place = places.setdefault(path, _Place())
        place.types.append(type)
        place.writers.append(writer)
        place.steps |= {writer} & flow.steps.keys()
    return [
        {
            "path": write_path(path),
            "type": " or ".join(dict.fromkeys(place.types)),
            "written_by": list(dict.fromkeys(place.writers)),
            "read_by": origins.readers_of(path, place.steps),
        }
        for path, place in places.items()
    ]


def _at_start(flow: WiredFlow) -> Iterator[tuple[Path, str, str]]:
    """What is in the store before the first step: the flow's inputs, and what comes through the pipe."""
    for input in flow.inputs.values():
        if input.step is not None and not is_stored(flow.steps[input.step], input.readers[0][1]):
            continue
        yield input.path, str(input.type), input.flag if input.required else f"[{input.flag}]"
        if input.pipe:
            yield input.path, str(input.type), "the pipe"
    takes_stdin = flow.first_read is not None and not any(input.pipe for input in flow.inputs.values())
    if takes_stdin or any(reference.input == "stdin" for reference in flow.references):
        yield ("stdin",), "any", "the pipe"


def _while_it_runs(flow: WiredFlow) -> Iterator[tuple[Path, str, str]]:
    for id in dict.fromkeys([*flow.graph.order(), *flow.steps]):
        step = flow.steps[id]
        for write in [*data_of(step), *writes_of(step)]:
            yield write.target, str(flow.write_type(write)), id
        if ERROR in flow.graph.next[id]:
            yield (id, ERROR), _ERROR, id
        if step.step.batch is not None and step.step.batch.on_error == "keep":
            yield (id, "errors"), _ERRORS, id
