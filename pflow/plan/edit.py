"""pflow plan --edit: a change in words to a flow. A model answers with the whole flow, held to the rules of a plan."""

from collections.abc import Sequence
from copy import copy
from typing import Any

from pflow.errors import BAD_DATA, USAGE, PflowError, result_of
from pflow.explain.pipe_form import pipe_of
from pflow.flow.build import STEP_MEMBERS
from pflow.flow.findings import Finding, errors_of
from pflow.flow.flow import Batch, FlowSpec, Step
from pflow.flow.load import load_document
from pflow.flow.rules import check
from pflow.flow.secrets import literal_secrets
from pflow.flow.unload import flow_to_ir
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.models.ask import Answer
from pflow.models.choose import choose_capable
from pflow.plan.change import Change, ChangeOptions, change_error, open_flow, say
from pflow.plan.conversation import PL00, PLACE, PlanRequest, converse, plan_line, plan_request, read_plan
from pflow.plan.limits import check_document, check_limits, drop_choices, is_choice
from pflow.plan.node_text import interfaces_text
from pflow.plan.planner import check_answer, checked_sentence
from pflow.plan.prompt import listed, plan_prompt
from pflow.values.fast_json import write_json

_USE = "pflow plan --edit FLOW 'use b.txt instead of a.txt'"

_ABOUT = """\
A flow:
{flow}

Its nodes:
{nodes}{wrong}
"""
_CHANGE = "write this flow anew, with its ids, so that only this changes: "
_AS_JSON = "; answer with the whole flow, changed, as one JSON object"


def main(words: Sequence[str], options: ChangeOptions) -> int:
    """Change the flow that the first word names as the sentence after it says, and return the exit code.

    Raises PflowError: 2 without a flow or a sentence, 65 if no try passes the rules, 78 if no model is capable, and
    what asking a model raises.
    """
    if len(words) < 2 or words[1].startswith("-"):
        raise PflowError("cannot edit: it takes a flow and a sentence that says what to change", hint=_USE, exit=USAGE)
    sentence = checked_sentence(" ".join(words[1:]), f"edit '{words[0]}'")
    file, old = open_flow(words[:1], options, "edit")
    for place, remedy in literal_secrets(old):
        what = f"cannot edit '{file}': a secret stands in it, in {'.'.join(place)}, and it would be sent to a model"
        raise PflowError(what, hint=remedy, exit=BAD_DATA)
    model = choose_capable(options.model, f"tell what '{sentence}' changes")
    shown, seen = _shown(old)
    request = _request(old, shown, sentence if seen else sentence + _AS_JSON)
    outcome = converse(model, request, lambda said: _judge(said, old, seen, sentence), say, options.timeout)
    if not outcome.is_right:
        if outcome.result is not None:
            say("the best try, which does not pass:")
            Change(old, outcome.result, file).show(options)
        hint = "nothing was written; say it in other words, or name another model with --model"
        message = f"cannot edit '{file}': no flow of '{model.model_id}' passed in {outcome.tries} tries"
        raise change_error(message, outcome.findings, hint=hint)
    return Change(old, outcome.result, file, {"sentence": sentence, "model": model.model_id}).finish(options)


def _shown(old: WiredFlow) -> tuple[str, FlowSpec | None]:
    """Return the flow for a model, and as it is read from an answer: pipe syntax, or else IR and None."""
    bare = old.flow.copied()
    bare.outputs, bare.max_visits, bare.document = {}, None, None
    for step in bare.steps:
        step.description, step.version, step.repeats = "", None, None
    text = result_of(lambda: pipe_of(wire(bare)).strip(), of=PflowError, otherwise="")
    ir, _ = read_plan(Answer(f"```\n{text}\n```"), old.flow.catalog)
    seen = load_document(ir, "the flow", old.flow.catalog) if ir else FlowSpec([], [])
    if [(step.id, step.type) for step in seen.steps] != [(step.id, step.type) for step in old.flow.steps]:
        return write_json(flow_to_ir(old.flow)), None
    return text, seen


def _request(old: WiredFlow, shown: str, change: str) -> PlanRequest:
    errors, prompt = errors_of(check(old)), plan_prompt()
    wrong = f"\nWhat is wrong with it now:\n{listed(errors)}\n" if errors else ""
    about = _ABOUT.format(flow=shown, nodes=interfaces_text(old), wrong=wrong)
    return plan_request(prompt, lambda attempt: f"{about}\n{prompt.task(_CHANGE + change, attempt=attempt)}")


def _judge(
    said: Answer, old: WiredFlow, seen: FlowSpec | None, sentence: str
) -> tuple[WiredFlow | None, list[Finding]]:
    """Return the flow of an answer and its errors; None for an answer that cannot be loaded.

    Findings of the limits that the old flow has too do not count: a person may write what a model may not.
    """
    ir, findings = read_plan(said, old.flow.catalog)
    is_line = bool(plan_line(said))
    if is_line and seen is None:
        findings = [Finding(PL00, PLACE, "pipe syntax cannot say all that the flow has", _AS_JSON.strip("; "))]
    if ir is None or (is_line and seen is None):
        return None, findings

    def adjust(flow: FlowSpec) -> None:
        if seen is not None and is_line:
            _keep_unchanged(old.flow, seen, flow)
        drop_choices(flow, f"{sentence}\n{_choices(old.flow)}")
        _keep_unsaid(old.flow, flow, sentence.lower())

    known = {each.message for each in [*check_document(old.flow), *check_limits(old)]}
    new, findings = check_answer(ir, old.flow.catalog, adjust, known)
    return new, errors_of(findings)


def _keep_unsaid(old: FlowSpec, new: FlowSpec, sentence: str) -> None:
    """Copy the parts that models leave out or change unasked, and those that their schema has no room for."""
    new.schema = old.schema
    new.name = new.name if new.name and ("name" in sentence or "call" in sentence) else old.name
    new.description = new.description if new.description and "descri" in sentence else old.description
    before = {(step.id, step.type): step for step in old.steps}
    for step in new.steps:
        same = before.get((step.id, step.type), step)
        step.version, step.description = step.version or same.version, step.description or same.description
        step.repeats = same.repeats


def _keep_unchanged(old: FlowSpec, seen: FlowSpec, new: FlowSpec) -> None:
    """Copy what an answer in pipe syntax has as it was shown, and what pipe syntax cannot say.

    Another value where an input gave one is the input's new default, if nothing else takes that.
    """
    new.inputs = {name: copy(each) for name, each in old.inputs.items()}
    new.outputs, new.max_visits = old.outputs, old.max_visits
    new.edges = old.edges if _ends(new) == _ends(seen) else new.edges
    before = {step.id: (step, shown) for step, shown in zip(old.steps, seen.steps, strict=True)}
    changed: dict[str, list[tuple[Step, str]]] = {}
    for step in new.steps:
        was, shown = before.get(step.id, (step, step))
        for name in _KEPT if was.type == step.type else ():
            if _plain(getattr(step, name)) == _plain(getattr(shown, name)):
                setattr(step, name, getattr(was, name))
        for key in {*_keys(step), *_keys(shown)} if was.type == step.type else ():
            source = was.input_mappings.get(key)
            if _is_same(step, shown, key):
                _give(step, key, was)
            elif isinstance(source, str) and source in new.inputs and key in step.inputs:
                changed.setdefault(source, []).append((step, key))
    for name, places in changed.items():
        values = [step.inputs[key] for step, key in places]
        if all(value == values[0] for value in values) and not wire(new).inputs[name].readers:
            new.inputs[name].default, new.inputs[name].has_default = values[0], True
            for step, key in places:
                step.input_mappings[key] = name
                del step.inputs[key]


_KEPT = (*(name for name in STEP_MEMBERS if name not in ("params", "inputs")), "batch", "flow", "output_mappings")
_PARTS = ("params", "inputs", "input_mappings")


def _ends(flow: FlowSpec) -> list[tuple[str, str, str]]:
    return [(edge.source, edge.target, edge.action) for edge in flow.edges]


def _plain(value: Any) -> Any:
    return value.members if isinstance(value, Batch) else flow_to_ir(value) if isinstance(value, FlowSpec) else value


def _keys(step: Step) -> list[str]:
    return [key for part in _PARTS for key in getattr(step, part)]


def _is_same(step: Step, shown: Step, key: str) -> bool:
    """Return True if both give an item the same; a mapping may be implied, `content` for `read.content`."""
    one, other = ([getattr(each, part).get(key) for part in _PARTS] for each in (step, shown))
    return one == other or (bool(one[2]) and one[:2] == other[:2] and str(other[2]).endswith(f".{one[2]}"))


def _give(step: Step, key: str, was: Step) -> None:
    for part in _PARTS:
        values = {**getattr(step, part)}
        values.pop(key, None)
        setattr(step, part, values | {name: each for name, each in getattr(was, part).items() if name == key})


def _choices(flow: FlowSpec) -> str:
    pairs = [(step, values) for step in flow.steps for values in (step.params, step.inputs)]
    return "\n".join(str(value) for step, values in pairs for key, value in values.items() if is_choice(step, key))
