"""The lock file of a flow: the state of its steps when it was locked, and what has changed since (PF17)."""

from __future__ import annotations

import os

from pflow import Any, Iterator
from pflow.cache.code import code_of, pack_part
from pflow.catalog.find import FLOW
from pflow.catalog.packs import pack_of
from pflow.catalog.registry import flow_name
from pflow.errors import BAD_DATA, USAGE, PflowError, shorten
from pflow.flow.findings import Finding
from pflow.flow.flow import FlowSpec, Input, Step
from pflow.flow.ir import flow_hash
from pflow.flow.load import parse_json, read_text
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.interface import Field, Interface
from pflow.values.digest import digest_of
from pflow.values.fast_json import write_json
from pflow.values.jsontext import compact
from pflow.values.paths import Path

Facts = dict[str, Any]

VERSION = 1
_MARK = "pflow_lock"
_GONE = object()
_LONGEST = 40
_WORDS = {
    "flow_hash": "flow hash",
    "inputs": "input",
    "outputs": "output",
    "interface": "interface's",
    "input_mappings": "input mapping",
    "output_mappings": "output mapping",
    "reads": "read",
    "writes": "write",
    "params": "param",
}
"""The words of messages for keys of the lock file."""


def lock_file(flow: FlowSpec) -> str:
    """Return the path of a flow's lock file. Raises PflowError (2) for a flow that is not in a file."""
    if not flow.file:
        hint = "pflow save NAME 'FLOW' puts it into one"
        raise PflowError("cannot find the lock file of a flow that is not in a file", hint=hint, exit=USAGE)
    return lock_of(flow.file)


def lock_of(file: str) -> str:
    """Return the path of the lock file for a flow's file: FLOW.lock.json beside it."""
    return file.removesuffix(".json").removesuffix(".pflow") + ".lock.json"


def lock_text(flow: WiredFlow) -> str:
    """Return the text of a lock file: JSON with sorted keys, one fact a line, so that git shows what changed."""
    return write_json({_MARK: VERSION, **_facts(flow)}, sort=True)


def drift(flow: WiredFlow) -> list[Finding]:
    """Return a finding for each difference from the lock file. Raises PflowError (2) if the flow has no file."""
    file = lock_file(flow.flow)
    remedy = lock_command(flow.flow.file)
    if not os.path.exists(file):
        return [Finding("PF17", (), f"there is no lock file '{file}'", remedy)]
    now = parse_json(lock_text(flow), file)
    try:
        then = parse_json(read_text(file, f"the lock file '{file}'"), file, "lock file")
        found = [*_differences(now, then, ())]
        if found:  # the check of its form loads pydantic, which takes twice as long as the rest of a run
            _check_form(then, file)
    except PflowError as error:
        return [Finding("PF17", (), error.message, remedy)]
    if found and compact(then[_MARK]) != compact(VERSION):
        what = f"'{file}' has version {compact(then[_MARK])}, but this pflow reads version {VERSION}"
        return [Finding("PF17", (), what, remedy)]
    return [_finding(flow, path, said) for path, said in found]


def _check_form(document: Any, file: str) -> None:
    """Raise PflowError (65) if a document is not a lock file, whatever its version."""
    from pydantic import create_model

    from pflow.files.schema import read_as

    members: Any = {_MARK: object, "flow_hash": (str, ""), "steps": (dict[str, dict[str, object]], {})}
    form: Any = create_model("LockFile", **members)
    read_as(form, document, f"'{file}' is not a lock file", exit=BAD_DATA)


def _facts(flow: WiredFlow) -> Facts:
    return {
        "flow_hash": flow_hash(flow),
        "inputs": {name: _input(each) for name, each in flow.flow.inputs.items()},
        "outputs": flow.flow.outputs,
        "steps": {step.id: _facts_of_step(step) for step in flow.steps.values()},
    }


def _facts_of_step(wired: WiredStep) -> Facts:
    step, node_type = wired.step, wired.node_type
    facts = {"type": step.type, **_written(step)}
    if wired.subflow is not None:
        return {**facts, "flow": _facts(wired.subflow)}
    if node_type is None or node_type.origin == FLOW:
        return facts
    code = code_of(node_type)
    parts = {"unknown": code.fault} if code.fault else {**code.parts}
    if node_type.pack is not None:
        # The pack has its own, more detailed fact.
        parts.pop(pack_part(node_type.pack), None)
        facts["pack"] = {name: getattr(node_type.pack, name) for name in ("name", "version", "commit", "tree")}
    return {**facts, "version": node_type.version, "code": parts, "interface": _interface(wired.interface)}


def _written(step: Step) -> Facts:
    """Return what the flow says of a step. Inputs may be long, so the lock file has their digests."""
    batch = step.batch.members if step.batch is not None else {}
    facts = {
        "input_mappings": step.input_mappings,
        "output_mappings": step.output_mappings,
        "soft": step.soft,
        "params": step.params,
        "inputs": {name: digest_of(value) for name, value in step.inputs.items()},
        "batch": {name: batch[name] for name in ("over", "as", "on_error", "keep_item") if batch},
    }
    return {name: each for name, each in facts.items() if each}


def _interface(interface: Interface) -> Facts:
    kinds = {"reads": interface.reads, "writes": interface.writes, "params": interface.params}
    facts: Facts = {
        name: {key: _field(field) for key, field in fields.items()} for name, fields in kinds.items() if fields
    }
    facts |= {"actions": ", ".join(interface.actions), "effects": ", ".join(interface.effects) or "none"}
    return {**facts, "repeats": interface.repeats, "open": interface.open}


def _field(field: Field) -> str:
    """Write a field as in an interface, without its name and doc: `int = 1 [env N]`."""
    marks = [*sorted(field.marks), *(f"flag {flag}" for flag in field.flags)]
    marks += [f"short {field.letter}"] * bool(field.letter) + [f"env {field.env}"] * bool(field.env)
    default = "" if field.required else f" = {compact(field.default)}"
    return "".join([str(field.type), default, *(f" [{mark}]" for mark in marks)])


def _input(given: Input) -> str:
    default = f" = {compact(given.default)}" if given.has_default else ""
    return f"{given.type}{default}{' [pipe]' * given.pipe}{' [optional]' * (not given.required)}"


def _differences(now: Any, then: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(now, dict) and isinstance(then, dict):
        for key in sorted({*now, *then}):
            yield from _differences(now.get(key, _GONE), then.get(key, _GONE), (*path, key))
    elif then is _GONE:
        yield path, f"is {_shown(now)}, and was not there" if not isinstance(now, dict) else "was not there"
    elif now is _GONE:
        yield path, f"is gone, and was {_shown(then)}" if not isinstance(then, dict) else "is gone"
    elif compact(now) != compact(then):
        is_shown = _shown(now) != _shown(then)
        yield path, f"is {_shown(now)}, was {_shown(then)}" if is_shown else "has changed"


def _shown(value: Any) -> str:
    text = compact(value)
    is_digest = isinstance(value, str) and len(value) == 64 and not set(value) - set("0123456789abcdef")
    return text[1:13] if is_digest else shorten(text, _LONGEST)


def _finding(flow: WiredFlow, path: Path, said: str) -> Finding:
    """Make a finding of a difference, at its outermost step: `code words.py of 'outer/inner' is ab…, was cd…`."""
    ids, rest = [], list(path)
    while rest[:1] == ["steps"] and len(rest) > 1:
        ids.append(str(rest[1]))
        rest = rest[3:] if rest[2:3] == ["flow"] else rest[2:]
    names = " ".join([_WORDS.get(part, part) for part in map(str, rest[:2])] + list(map(str, rest[2:])))
    of = f"'{'/'.join(ids)}'" if ids else ""
    location = flow.steps[ids[0]].step.location if ids and ids[0] in flow.steps else ()
    what = " of ".join(filter(None, (names, of)))
    return Finding("PF17", location, f"{what} {said}", lock_command(flow.flow.file))


def lock_command(file: str) -> str:
    """Return the command that locks a flow's file. A flow of a pack has to be saved as the user's own first."""
    from shlex import quote

    if pack_of(os.path.abspath(file)) is None:
        return f"pflow lock {quote(file)}"
    name = quote(flow_name(os.path.basename(file)))
    return f"pflow save {name} flow:{name} makes your own, and pflow lock flow:{name} locks that"
