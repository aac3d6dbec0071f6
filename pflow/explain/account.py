"""The account of a flow before it runs, as JSON documents: what it does, and what a check says of it."""

from collections.abc import Iterable
from typing import Any

from pflow.errors import PflowError, names_meant
from pflow.explain.effects import effects_of_flow
from pflow.explain.origins import Origins
from pflow.explain.pipe_form import pipe_of
from pflow.explain.steps import step_accounts, store_layout
from pflow.flow.findings import Finding, pointer
from pflow.flow.wired import FlowInput, WiredFlow
from pflow.jsontext import decode
from pflow.paths import write_path

Account = dict[str, Any]

_REFUSED = "cannot write the flow in pipe syntax: "


def explain(flow: WiredFlow, findings: Iterable[Finding] = ()) -> Account:
    """The account of a flow: its `pipe` (or `pipe_fault`: why it has none), `steps`, what it `touches`, `needs` and
    `gives`, the layout of its `store`, and every finding of it."""
    origins = Origins(flow)
    pipe, fault = _pipe(flow)
    found = list(findings)
    warnings = [*flow.flow.warnings, *(str(finding) for finding in found if finding.is_warning)]
    return {
        "name": flow.flow.name,
        "description": flow.flow.description,
        "dialect": flow.flow.dialect,
        "pipe": pipe,
        "pipe_fault": fault,
        "steps": step_accounts(flow, origins),
        **_outside(flow, origins),
        "store": store_layout(flow, origins),
        "warnings": list(dict.fromkeys(warnings)),
        "findings": [finding.as_json() for finding in found],
    }


def _outside(flow: WiredFlow, origins: Origins) -> Account:
    return {
        "touches": [effect.as_json() for effect in effects_of_flow(flow, origins)],
        "needs": needs(flow),
        "piped": piped(flow),
        "gives": gives(flow, origins),
    }


def _pipe(flow: WiredFlow) -> tuple[str | None, str]:
    """The flow in pipe syntax; without one, why there is none."""
    try:
        return pipe_of(flow).rstrip("\n"), ""
    except PflowError as error:
        return None, error.message.removeprefix(_REFUSED)


def needs(flow: WiredFlow) -> list[Account]:
    """The flow's inputs, what is required first."""
    return sorted((_need(flow, input) for input in flow.inputs.values()), key=lambda need: not need["required"])


def _need(flow: WiredFlow, input: FlowInput) -> Account:
    need = {
        "name": input.name,
        "flag": input.flag,
        "type": str(input.type),
        "doc": input.doc,
        "required": input.required,
        "pipe": input.pipe,
        "read_by": list(dict.fromkeys(step for step, _ in input.readers)),
    }
    readers = [(step, key) for step, key in input.readers if key in (input.name, *input.flags)]
    items = [item for step, key in readers if (item := flow.steps[step].interface.reads.get(key))]
    if input.secret:
        return need
    if input.has_default:
        return {**need, "default": input.default}
    defaults = [item.default for item in items if not item.required]
    is_shared = bool(defaults) and defaults == [defaults[0]] * len(input.readers)
    return {**need, "default": defaults[0]} if is_shared and not input.required else need


def piped(flow: WiredFlow) -> dict[str, str] | None:
    """What takes what comes through the pipe: a `step` and its `key`, or the `input` of the flow that does."""
    for input in flow.inputs.values():
        if input.pipe:
            return {"input": input.name}
    if flow.first_read is not None:
        return {"step": flow.first_read[0], "key": flow.first_read[1]}
    reader = next((each for each in flow.references if each.input == "stdin"), None)
    return {"step": reader.step, "key": reader.key} if reader else None


def gives(flow: WiredFlow, origins: Origins) -> Account:
    """The flow's declared `outputs`, each with its type and where it comes from, and what the pipe `carries` on."""
    outputs = {
        name: {"type": str(flow.output_type(name)), "from": origins.of_output(name)} for name in flow.flow.outputs
    }
    return {"outputs": outputs, "carries": write_path(flow.carried) if flow.carried else None}


def verdict(flow: WiredFlow | None, findings: Iterable[Finding], code: int) -> Account:
    """The document of a check that ends with this exit code. `flow` is None where it could not be read."""
    written = flow.flow if flow else None
    document: Account = {
        "ok": code == 0,
        "exit": code,
        "dialect": written.dialect if written else None,
        "steps": len(written.steps) if written else None,
        "findings": [finding_entry(each) for each in findings],
    }
    if flow is None:
        return document
    names = {"name": flow.flow.name, "description": flow.flow.description}
    return {**document, **names, **_outside(flow, Origins(flow))}


def finding_entry(finding: Finding) -> Account:
    """A finding with its place as a JSON `pointer`; where the remedy has them, the names that may have been meant
    (`near`, the nearest first), and what to `merge` into the flow (RFC 7396)."""
    entry = {**finding.as_json(), "pointer": pointer(finding.place)}
    if near := names_meant(finding.remedy):
        entry["near"] = near
    if merge := _merge(finding.remedy):
        entry["merge"] = merge
    return entry


def _merge(remedy: str) -> Account | None:
    """The members of a flow that a remedy writes out: `"mappings": {…}`."""
    if not remedy.startswith(('"mappings": {', '"inputs": {')):
        return None
    try:
        merge = decode(f"{{{remedy}}}".encode())
    except ValueError:  # a part of it is for a person to fill in
        return None
    return merge if isinstance(merge, dict) else None
