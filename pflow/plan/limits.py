"""What a model's flow may not hold though the rules would let it pass: a person who writes a flow may do more."""

from __future__ import annotations

import re

from pflow.catalog.flows import is_flow_type
from pflow.catalog.kinds import find_kind
from pflow.flow.findings import Finding
from pflow.paths import write_path
from pflow.plan.commands import check_commands
from pflow.plan.secrets import is_secret_name, is_secret_value, secret_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.flow import Flow, Step
    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.paths import Path

LIMITS = {
    "PL00": "the answer is one flow, as a JSON object",
    "PL01": "a type is a node or flow:NAME, never a path",
    "PL02": "every source is an earlier step's write or a declared input",
    "PL03": "the flow's inputs, outputs and actions are plain words, and no input is a secret",
    "PL04": "no secret stands in a flow, and no step asks the environment for one",
    "PL05": "a flow stays small: its steps, its commands, and how often they run",
    "PL06": "a schema stands in the flow: no file is read for it",
    "PL07": "a step does not overwrite what the flow reads (a warning)",
    "PL08": "a command stands in its step: no step writes it, and no input gives it",
    "PL09": "to --wire an answer adds mappings only, and only those that were asked for",
}

MOST_STEPS = 50
MOST_RETRIES = 10
MOST_VISITS = 1_000
MOST_JOBS = 32

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_ACTION = re.compile(r"[A-Za-z0-9_-]{1,60}")

PERSONS = ("model", "option")
"""Params of llm by which a person says whom to ask: dropped, unless the sentence says the value."""


def drop_choices(flow: Flow, sentence: str) -> None:
    """Take away what a person chooses and the sentence does not: whom to ask. The person's own choice counts then."""
    for step in flow.steps:
        for values in (step.params, step.inputs):
            for key in [key for key in values if is_choice(step, key) and not _is_said(values[key], sentence)]:
                del values[key]


def is_choice(step: Step, key: str) -> bool:
    """Whether a param says which model is asked and how: of the llm node, or of one in a saved flow."""
    return _own_key(step, key) in PERSONS


def _own_key(step: Step, key: str) -> str:
    """The key of an llm node's param; empty for any other's."""
    if step.type.startswith("flow:"):
        return key.rpartition(".")[2] if "." in key else ""
    kind = find_kind(step.type)
    return key if kind is not None and kind.name == "llm" else ""


def _is_said(value: Any, sentence: str) -> bool:
    texts = value if isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(text, str) and text and _has_word(sentence, text) for text in texts)


def _has_word(sentence: str, word: str) -> bool:
    return re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w/-]|\.\w)", sentence) is not None


def check_document(flow: Flow) -> list[Finding]:
    """What is seen before anything that the flow names is looked up."""
    found = [each for step in flow.steps for each in _check_type(step)]
    if len(flow.steps) > MOST_STEPS:
        message = f"it has {len(flow.steps)} steps, more than {MOST_STEPS}"
        found.append(Finding("PL05", ("nodes",), message, "do it with fewer; a batch runs a step for each item"))
    return found


def _check_type(step: Step) -> Iterator[Finding]:
    if is_flow_type(step.type) and not step.type.startswith("flow:"):
        message = f"the type '{_shown(step.type)}' is a path"
        yield Finding("PL01", (*step.place, "type"), message, "a node's name, or flow:NAME for a saved flow")


def check_limits(plan: WiredFlow) -> list[Finding]:
    """What is found in a wired flow."""
    flow = plan.flow
    found = [*_check_sources(plan), *_check_inputs(plan), *_check_names(flow), *_check_counts(flow)]
    for step in flow.steps:
        found += [*_check_secrets(step), *_check_schema(step)]
    return [*found, *_check_constants(plan), *check_commands(plan), *_check_overwriting(plan)]


def _check_sources(plan: WiredFlow) -> Iterator[Finding]:
    """What stands for an input of the flow that was not declared."""
    named = set()
    for reference in plan.references:
        name = reference.input
        if name is not None and name != "stdin" and name not in plan.flow.inputs:
            named.add(name)
            message = f"'{_shown(name)}' is no earlier step's write, and no declared input"
            yield Finding("PL02", reference.place, message, "take STEP.WRITE, or write $$ for a dollar")
    for needed in plan.inputs.values():
        if needed.required and not needed.declared and not needed.pipe and needed.name not in named:
            for id, key in needed.readers[:1]:
                step = plan.steps[id].step
                message = f"nothing gives '{id}' its '{key}'" + (f" ({needed.doc})" if needed.doc else "")
                remedy = f'"inputs": {{"{key}": …}} of {write_path(step.place)}, or a mapping'
                yield Finding("PL02", step.place, message, remedy)


def _check_names(flow: Flow) -> Iterator[Finding]:
    for name in flow.outputs:
        if not _NAME.fullmatch(name):
            remedy = "small letters, digits and _"
            yield Finding("PL03", ("outputs", _shown(name)), f"'{_shown(name)}' is no name for an output", remedy)
    for edge in flow.edges:
        if not _ACTION.fullmatch(edge.action):
            message = f"'{_shown(edge.action)}' is no action"
            yield Finding("PL03", (*edge.place, "action"), message, "one of the node's actions")


def _check_inputs(plan: WiredFlow) -> Iterator[Finding]:
    for name, given in plan.flow.inputs.items():
        place = ("inputs", _shown(name))
        if is_secret_name(name):
            message = f"the input '{_shown(name)}' looks like a secret"
            yield Finding("PL03", place, message, "leave it out: nodes get their secrets by themselves")
        elif not _NAME.fullmatch(name) or name == "stdin":
            yield Finding("PL03", place, f"'{_shown(name)}' is no name for an input", "small letters, digits and _")
        if given.has_default and plan.inputs[name].secret:
            yield Finding("PL04", (*place, "default"), "it is the default of a secret", "leave it out")
        elif given.has_default and any(map(is_secret_value, _texts(given.default))):
            yield Finding("PL04", (*place, "default"), "the default looks like a secret", "leave it out")


def _check_secrets(step: Step) -> Iterator[Finding]:
    parts = [((*step.place, "inputs", key), value) for key, value in step.inputs.items()]
    parts += [((*step.place, "params", key), value) for key, value in step.params.items()]
    parts += [(("mappings", step.id, "input_mappings", key), value) for key, value in step.input_mappings.items()]
    for place, value in parts:
        for text in _texts(value):
            if is_secret_value(text):
                yield Finding("PL04", place, "what stands here looks like a secret", "leave it out")
            for name in secret_variables(text):
                message = f"'{name}' looks like a secret of the environment"
                yield Finding("PL04", place, message, "leave it out: nodes get their secrets by themselves")


def _check_constants(plan: WiredFlow) -> Iterator[Finding]:
    """A secret that is a template without a reference: PF13 finds the others."""
    for id, wired in plan.steps.items():
        for key, item in wired.interface.reads.items():
            source = wired.sources.get(key) if key in wired.step.input_mappings else None
            if source is not None and "secret" in item.marks and not source.paths:
                place = ("mappings", id, "input_mappings", key)
                yield Finding("PL04", place, f"'{key}' is secret and stands in the flow", "leave it out")


def _check_counts(flow: Flow) -> Iterator[Finding]:
    counts: list[tuple[Path, int, int]] = [(("max_visits",), flow.max_visits, MOST_VISITS)]
    for step in flow.steps:
        counts += [((*step.place, "retries"), step.retries or 0, MOST_RETRIES)]
        counts += [((*step.place, "max_visits"), step.max_visits or 0, MOST_VISITS)]
        counts += [((*step.place, "batch", "jobs"), (step.batch and step.batch.jobs) or 0, MOST_JOBS)]
    for place, count, most in counts:
        if count > most:
            yield Finding("PL05", place, f"{count} is more than {most}", "take less, or leave it out")


def _check_schema(step: Step) -> Iterator[Finding]:
    for name, values in (("inputs", step.inputs), ("params", step.params)):
        for key, schema in values.items():
            is_file = isinstance(schema, str) and not schema.lstrip().startswith("{")
            if is_file and _own_key(step, key) == "schema":
                message = "a schema that is no JSON object would be read from a file"
                yield Finding("PL06", (*step.place, name, key), message, "write the schema here, as an object")


def _check_overwriting(plan: WiredFlow) -> Iterator[Finding]:
    """A warning where one path is read and written: it may be what the sentence wants."""
    read: dict[str, str] = {}
    for id, wired in plan.steps.items():
        for key, path in _paths(plan, wired):
            if "reads files" in wired.interface.effects:
                read.setdefault(_plain(path), id)
            elif "writes files" in wired.interface.effects and _plain(path) in read:
                message = f"'{id}' overwrites '{_shown(path)}', which '{read[_plain(path)]}' reads"
                remedy = "another path, unless the task says so"
                yield Finding("PL07", (*wired.step.place, "inputs", key), message, remedy, is_warning=True)


def _paths(plan: WiredFlow, wired: WiredStep) -> Iterator[tuple[str, str]]:
    """The reads of a step that are paths and known: written in the step, or an input's default."""
    for key, item in wired.interface.reads.items():
        value = wired.step.inputs.get(key)
        mapped = wired.step.input_mappings.get(key)
        if value is None and isinstance(mapped, str) and mapped in plan.flow.inputs:
            value = plan.flow.inputs[mapped].default
        if item.type.name == "path" and isinstance(value, str):
            yield key, value


def _plain(path: str) -> str:
    import posixpath

    return posixpath.normpath(path)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from (key, *_texts(each))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _shown(text: str) -> str:
    from pflow.terminal.columns import clean

    text = clean(text)
    return text if len(text) <= 60 else text[:59] + "…"
