"""The limits of a flow that a model wrote, in addition to the rules: a person who writes a flow may do more."""

import re
from collections.abc import Iterator
from typing import Any

from pflow.catalog.find import find_type
from pflow.catalog.registry import is_flow_type
from pflow.errors import USAGE, PflowError, shorten
from pflow.flow.expressions import INPUT, MAPPING
from pflow.flow.findings import Finding
from pflow.flow.flow import FlowSpec
from pflow.flow.rules.answers import dropped_answers, finding_of
from pflow.flow.rules.paths import check_unfilled
from pflow.flow.wired_flow import WiredFlow
from pflow.plan.inputs import NAME, says
from pflow.text.printable import clean
from pflow.values.paths import Path
from pflow.values.secrets import is_secret_name, is_secret_value, secret_variables

LIMITS = {
    "PL00": "the answer is one flow, in pipe syntax or as a JSON object",
    "PL01": "a type is a node or flow:NAME, never a path",
    "PL02": "every source is an earlier step's write or a declared input",
    "PL03": "the flow's inputs, outputs and actions are plain words, and no input is a secret",
    "PL04": "no flow contains a secret, and no step asks the environment for one",
    "PL05": "a flow stays small: its steps, its commands, and how often they run",
    "PL07": "a step does not overwrite what the flow reads (a warning)",
    "PL08": "each command is written in its step: no step writes it, and no input gives it",
    "PL09": "the piped input is used",
    "PL10": "each value of the sentence is in a step, and so is the form that it asks for (a warning)",
    "PL11": "each file, number, address and word of a step is in the sentence, or a default (a warning)",
    "PL12": "a command starts a program that is on PATH",
    "PL13": "each step does what the sentence asks for, and no two the same (a warning)",
    "PL14": "the model was sure of each word of its line (a warning)",
}

MOST_STEPS = 50
MOST_RETRIES = 10
MOST_VISITS = 1_000
MOST_JOBS = 32
LONGEST_COMMAND = 2_000
"""The most characters of a command: a person is shown no more, and must not run an unseen rest."""

_PERSONS = ("model", "option", "at")
"""Params of llm that only a person chooses. They are dropped unless the sentence has the value."""

_ACTION = re.compile(r"[A-Za-z0-9_-]{1,60}")
_LEAVE_OUT = "leave it out"
_OWN_SECRETS = "leave it out: nodes get their secrets by themselves"


def drop_choices(flow: FlowSpec, sentence: str) -> None:
    """Delete each `repeats`, and the choices of a model and its options, unless the sentence has their values."""
    for step in flow.steps:
        step.repeats = None
        for values in (step.params, step.inputs):
            for key in [key for key in values if is_choice(step.type, key) and not _is_said(values[key], sentence)]:
                del values[key]


def is_choice(type: str, key: str) -> bool:
    """Return True for a param that chooses the model or its options, of an llm node, also inside a saved flow."""
    if type.startswith("flow:"):
        return "." in key and key.rpartition(".")[2] in _PERSONS
    node_type = find_type(type)
    return node_type is not None and node_type.name == "llm" and key in _PERSONS


def _is_said(value: Any, sentence: str) -> bool:
    texts = value if isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(text, str) and text and says(sentence, text) for text in texts)


def check_document(flow: FlowSpec) -> list[Finding]:
    """Check the types and the number of steps before nodes are looked up, since a path as a type would be opened."""
    found = [
        Finding("PL01", (*place, "type"), f"the type '{_shown(step.type)}' is a path", "a node, or flow:NAME")
        for place, step in flow.all_steps()
        if is_flow_type(step.type) and not step.type.startswith("flow:")
    ]
    if (count := len([*flow.all_steps()])) > MOST_STEPS:
        message = f"it has {count} steps, more than {MOST_STEPS}"
        found.append(Finding("PL05", ("nodes",), message, "do it with fewer; a batch runs a step for each item"))
    return found


def check_limits(wired: WiredFlow) -> list[Finding]:
    """Check a wired flow and the flows written in its steps."""
    checks = (_check_sources, _check_inputs, _check_names, _check_counts, _check_steps, _check_unused_writes)
    found = [finding for check in checks for finding in check(wired)]
    for step in wired.steps.values():
        inside = check_limits(step.inline) if step.inline is not None else []
        found += [each.at((*step.step.location, *each.location), each.message, each.remedy) for each in inside]
    return found


def _check_sources(wired: WiredFlow) -> Iterator[Finding]:
    """Find references to undeclared inputs, and reads without a source."""
    named = set()
    for reference in wired.references:
        name = reference.input
        if name is not None and name != "stdin" and name not in wired.flow.inputs and wired.flow.item_names is None:
            named.add(name)
            message = f"'{_shown(name)}' is neither an earlier step's write nor a declared input"
            yield Finding("PL02", reference.location, message, "${STEP.WRITE} of a step before, or $$ for a dollar")
    for needed in wired.inputs.values():
        is_piped = wired.first_read in needed.readers and not needed.type.is_url  # a URL has to be in the plan
        is_given = not needed.required or needed.declared or is_piped or needed.name in named
        for id, key in [] if is_given or wired.flow.item_names is not None else needed.readers[:1]:
            message = f"nothing gives '{id}' its '{key}'" + (f" ({needed.doc})" if needed.doc else "")
            step = wired.steps[id]
            remedy = f"{step.step.type} {step.interface.reads[key].flag}=…"
            yield Finding("PL02", step.step.location, message, remedy)


def _check_inputs(wired: WiredFlow) -> Iterator[Finding]:
    for name, declared in wired.flow.inputs.items():
        place = ("inputs", _shown(name))
        if is_secret_name(name):
            yield Finding("PL03", place, f"the input '{_shown(name)}' looks like a secret", _OWN_SECRETS)
        if declared.has_default and (wired.inputs[name].secret or any(map(is_secret_value, _texts(declared.default)))):
            yield Finding("PL04", (*place, "default"), "the default looks like a secret", _LEAVE_OUT)


def _check_names(wired: WiredFlow) -> Iterator[Finding]:
    for part, names in (("inputs", wired.flow.inputs), ("outputs", wired.flow.outputs)):
        for name in [name for name in names if not NAME.fullmatch(name)]:
            message = f"'{_shown(name)}' is not a valid name for an {part[:-1]}"
            yield Finding("PL03", (part, _shown(name)), message, "small letters, digits and _")
    for edge in wired.flow.edges:
        if not _ACTION.fullmatch(edge.action):
            message = f"'{_shown(edge.action)}' is not a valid action"
            yield Finding("PL03", (*edge.location, "action"), message, "one of the node's actions")


def _check_counts(wired: WiredFlow) -> Iterator[Finding]:
    counts: list[tuple[Path, int | None, int]] = [(("max_visits",), wired.flow.max_visits, MOST_VISITS)]
    for step in wired.flow.steps:
        counts += [((*step.location, "retries"), step.retries, MOST_RETRIES)]
        counts += [((*step.location, "max_visits"), step.max_visits, MOST_VISITS)]
        counts += [((*step.location, "batch", "jobs"), step.batch.jobs if step.batch else 0, MOST_JOBS)]
    for place, count, most in counts:
        if (count or 0) > most:
            yield Finding("PL05", place, f"{count} is more than {most}", "take less, or leave it out")


def _check_steps(wired: WiredFlow) -> Iterator[Finding]:
    """Find values that look like secrets, and commands that are outside their step or too long to be shown."""
    for each in wired.steps.values():
        commands = {key for key, field in each.interface.reads.items() if field.marks >= {"explicit", "verbatim"}}
        for expr in wired.expressions[each.id]:
            key, value = expr.key, expr.written
            yield from _check_texts(expr.location, value)
            if expr.role == INPUT and key in commands and len(clean(str(value))) > LONGEST_COMMAND:
                message = f"the '{key}' has more than {LONGEST_COMMAND} letters"
                yield Finding("PL05", expr.location, message, "a shorter one, or several steps")
            if expr.role == MAPPING and key in commands - each.step.inputs.keys():
                remedy = f"{each.step.type} --{key}='…'; values go in as arguments, or on stdin"
                yield Finding("PL08", expr.location, f"the '{key}' of '{each.id}' is not in its step", remedy)


def _check_texts(place: Path, value: Any) -> Iterator[Finding]:
    for text in _texts(value):
        if is_secret_value(text):
            yield Finding("PL04", place, "this value looks like a secret", _LEAVE_OUT)
        for name in secret_variables(text):
            yield Finding("PL04", place, f"'{name}' looks like a secret of the environment", _OWN_SECRETS)


def _check_unused_writes(wired: WiredFlow) -> Iterator[Finding]:
    """Find PF14 in commands, and PF18 where a read takes an older write. They are errors: warnings do not go back to a
    model.
    """
    yield from check_unfilled(wired, is_warning=False)
    found = dropped_answers(wired)
    if any(dropped.older for dropped in found):
        yield from (finding_of(wired, dropped, is_warning=False) for dropped in found)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from _texts(each)


def _shown(text: str) -> str:
    return shorten(clean(text), 60)


def refuse_secrets(act: str, text: str, what: str) -> None:
    """Raise PflowError (2) for a text with a secret, which would be sent to a model."""
    if is_secret_value(text):
        message = f"cannot {act}: {what} holds something like a secret, which would be sent to a model"
        raise PflowError(message, hint=_OWN_SECRETS, exit=USAGE)
