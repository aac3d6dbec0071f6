"""The account of a flow that has not run, as JSON: its steps, store, inputs, outputs and effects."""

from collections.abc import Iterable, Iterator
from typing import Any

from pflow.catalog.find import FLOW
from pflow.errors import PflowError
from pflow.explain.effects import Provenance, effects_of_flow
from pflow.explain.pipe_form import pipe_of
from pflow.flow.findings import Finding
from pflow.flow.flow import FlowInput
from pflow.flow.graph import ERROR
from pflow.flow.pipe.carry import carried_behind
from pflow.flow.references import data_of, is_stored
from pflow.flow.subflow import repeats
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.interface import UNDECLARED
from pflow.values.paths import Path, write_path

Account = dict[str, Any]

_REFUSED = "cannot write the flow in pipe syntax: "
_ERROR, _ERRORS = "dict{exit: int, message: str}", "list[dict{index: int, item: any, exit: int, message: str}]"


def explain(flow: WiredFlow, findings: Iterable[Finding] = ()) -> Account:
    """Return the account of a flow: its `pipe` (or `pipe_fault`: why it has none), `steps`, what it `touches`, `needs`
    and `gives`, the layout of its `store`, and every finding.
    """
    provenance = Provenance(flow)
    try:
        pipe, fault = pipe_of(flow).rstrip("\n"), ""
    except PflowError as error:
        pipe, fault = None, error.message.removeprefix(_REFUSED)
    found = list(findings)
    warnings = [*flow.flow.warnings, *(str(finding) for finding in found if finding.is_warning)]
    return {
        "name": flow.flow.name,
        "description": flow.flow.description,
        "dialect": flow.flow.dialect,
        "pipe": pipe,
        "pipe_fault": fault,
        "steps": _steps(flow, provenance),
        **outside(provenance),
        "store": _store(flow, provenance),
        "warnings": list(dict.fromkeys(warnings)),
        "findings": [finding.as_json() for finding in found],
    }


def outside(provenance: Provenance) -> Account:
    """Return the outside view of a flow: its effects, its inputs, who reads the pipe, and its outputs."""
    flow = provenance.flow
    outputs = {
        name: {"type": str(flow.output_type(name)), "from": provenance.of_output(name)} for name in flow.flow.outputs
    }
    return {
        "touches": [effect.as_json() for effect in effects_of_flow(provenance)],
        "needs": needs(flow),
        "piped": _piped(flow),
        "gives": {"outputs": outputs, "carries": carried_behind(flow)},
    }


def needs(flow: WiredFlow) -> list[Account]:
    """Return the inputs of a flow, required ones first."""
    return sorted((_need(flow, each) for each in flow.asked()), key=lambda need: not need["required"])


def _need(flow: WiredFlow, input: FlowInput) -> Account:
    need: Account = {
        "name": input.name,
        "flag": input.name if input.is_unflagged else input.flag,
        "type": str(flow.help_type(input)),
        "doc": input.doc,
        "required": input.required,
        "pipe": flow.is_given_by_pipe(input),
        "read_by": list(dict.fromkeys(step for step, _ in input.readers)),
    }
    default = flow.default_of(input)
    return need if default is UNDECLARED else {**need, "default": default}


def _piped(flow: WiredFlow) -> dict[str, str] | None:
    """Return who reads the pipe: a `step` and its `key`, or an `input` of the flow."""
    for input in flow.inputs.values():
        if input.pipe or input.readers == [flow.first_read]:
            return {"input": input.name}
    readers = [(each.step, each.key or "batch.over") for each in flow.references if each.input == "stdin"]
    reader = flow.first_read or next(iter(readers), None)
    return {"step": reader[0], "key": reader[1]} if reader else None


def _steps(flow: WiredFlow, provenance: Provenance) -> list[Account]:
    order = {id: at for at, id in enumerate(flow.order)}
    meets = {(fork.source, fork.action): fork.meet for fork in flow.graph.forks()}
    return [
        {
            **_identity(step),
            "reached": step.id in order,
            "reads": _reads(step, provenance),
            "writes": _writes(flow, step, provenance),
            "params": {
                key: provenance.of_param(step, key) for key in step.step.params if step.interface.fills_no_read(key)
            },
            "effects": list(step.interface.touches),
            "repeats": repeats(step),
            **_manner(step, provenance),
            "next": list(_edges(flow, step.id, order, meets)),
        }
        for step in flow.steps.values()
    ]


def _identity(step: WiredStep) -> Account:
    node_type, interface = step.node_type, step.interface
    return {
        "number": step.number,
        "id": step.id,
        "type": step.step.type,
        "version": node_type.version if node_type is not None and node_type.origin != FLOW else None,
        "pack": node_type.pack.about if node_type is not None and node_type.pack is not None else None,
        "origin": node_type.origin if node_type is not None else None,
        "file": node_type.file if node_type is not None else None,
        "summary": interface.summary,
        "open": interface.open,
        "inferred": interface.inferred,
        "fault": step.fault or interface.fault or ("" if node_type is not None else "there is no such node"),
    }


def _reads(step: WiredStep, provenance: Provenance) -> list[Account]:
    reads = []
    for key in dict.fromkeys([*step.interface.reads, *step.step.inputs, *step.step.input_mappings]):
        field = step.interface.reads.get(key)
        account: Account = {"key": key, "type": str(field.type) if field else "any", "doc": field.doc if field else ""}
        reads.append({**account, "required": bool(field and field.required), "from": provenance.of_read(step, key)})
    return reads


def _writes(flow: WiredFlow, step: WiredStep, provenance: Provenance) -> list[Account]:
    return [
        {
            "key": write.key,
            "type": str(flow.write_type(write)),
            "doc": write.field.doc if write.field else "",
            "to": write_path(write.target),
            "read_by": provenance.readers_of(write.target, {step.id}),
        }
        for write in flow.writes[step.id]
    ]


def _manner(wired: WiredStep, provenance: Provenance) -> Account:
    step, batch = wired.step, wired.step.batch
    values = {name: getattr(step, name) for name in ("retries", "wait", "timeout", "max_visits", "cache")}
    manner: Account = {"has_model": "model" in wired.interface.params, **values, "asks_version": step.version}
    if batch is not None:
        manner["batch"] = {**batch.members, "over": provenance.of_batch(wired)}
    if wired.subflow is not None:
        manner["steps"] = len(wired.subflow.steps)
    return {name: value for name, value in manner.items() if value is not None}


def _edges(
    flow: WiredFlow, id: str, order: dict[str, int], meets: dict[tuple[str, str], str | None]
) -> Iterator[Account]:  # fmt: skip
    """Yield the edges of a step, then its actions without an edge. A step without edges yields nothing."""
    edges = flow.graph.next[id]
    at = order.get(id, 0)
    for action in dict.fromkeys([*edges, *flow.steps[id].actions]) if edges else ():
        # A node that lists `error` under Actions takes the default edge if there is none for it.
        is_implied = action == ERROR and action not in edges
        taken = "default" if is_implied else action
        targets = edges.get(taken, [])
        back = any(order.get(each, at + 1) <= at for each in targets)
        meet = {"meet": meets[id, taken]} if (id, taken) in meets else {}
        yield {"action": action, "to": targets, "back": back, "implied": is_implied, **meet}


def _store(flow: WiredFlow, provenance: Provenance) -> list[Account]:
    """Return a row for each place in the store: its `path`, `type`, writers (`written_by`) and readers (`read_by`).

    A flag counts as a writer; an optional one is in brackets.
    """
    places: dict[Path, list[tuple[str, str]]] = {}
    for path, type, writer in [*_at_start(flow), *_while_it_runs(flow)]:
        places.setdefault(path, []).append((type, writer))
    return [
        {
            "path": write_path(path),
            "type": " or ".join(dict.fromkeys(type for type, _ in there)),
            "written_by": list(dict.fromkeys(writer for _, writer in there)),
            "read_by": provenance.readers_of(path, {writer for _, writer in there} & flow.steps.keys()),
        }
        for path, there in places.items()
    ]


def _at_start(flow: WiredFlow) -> Iterator[tuple[Path, str, str]]:
    """Yield the places that the store has before the first step: inputs of the flow, and data from the pipe."""
    for input in flow.inputs.values():
        if input.step is not None and not is_stored(flow.steps[input.step], input.read):
            continue
        type = str(flow.help_type(input))
        flag = "the pipe" if input.is_unflagged else input.flag  # without a flag, only a store from the pipe gives it
        yield input.path, type, flag if input.required else f"[{flag}]"
        if input.pipe:
            yield input.path, type, "the pipe"
    takes_stdin = flow.first_read is not None and not any(each.pipe for each in flow.inputs.values())
    if takes_stdin or any(reference.input == "stdin" for reference in flow.references):
        yield ("stdin",), "any", "the pipe"


def _while_it_runs(flow: WiredFlow) -> Iterator[tuple[Path, str, str]]:
    for id in dict.fromkeys([*flow.order, *flow.steps]):
        step = flow.steps[id]
        for write in [*data_of(step), *flow.writes[id]]:
            yield write.target, str(flow.write_type(write)), id
        if ERROR in flow.graph.next[id]:
            yield (id, ERROR), _ERROR, id
        if step.step.batch is not None and step.step.batch.on_error == "keep":
            yield (id, "errors"), _ERRORS, id
