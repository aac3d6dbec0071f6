"""pflow plan --edit: a change in words to a flow. A model answers with the whole flow, held to the rules of a plan."""

from collections.abc import Sequence

from pflow.errors import BAD_DATA, USAGE, PflowError
from pflow.flow.findings import Finding, errors_of
from pflow.flow.flow import FlowSpec
from pflow.flow.rules import check
from pflow.flow.secrets import literal_secrets
from pflow.flow.unload import flow_to_ir
from pflow.flow.wired import WiredFlow
from pflow.models.ask import Answer
from pflow.models.choose import choose_capable
from pflow.plan.building_blocks import building_blocks, correction_text, plan_schema, task_text
from pflow.plan.change import Change, ChangeOptions, change_error, open_flow, say
from pflow.plan.conversation import PlanRequest, converse, read_plan
from pflow.plan.limits import check_document, check_limits, drop_choices, is_choice
from pflow.plan.node_text import interfaces_text
from pflow.plan.planner import check_answer, checked_sentence
from pflow.plan.prompt import listed
from pflow.values.fast_json import write_json

_USE = "pflow plan --edit FLOW 'use b.txt instead of a.txt'"

_TASK = """\
Change this flow:

{flow}
Its nodes:
{nodes}
{wrong}
The change that is asked for: {sentence}

Answer with the whole flow, changed, as one JSON object. What the change does not ask for stays as it is: the name, the
description, the ids of the steps, the inputs and their defaults, every prompt, every mapping.
"""


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
    request = _request(old, sentence, building_blocks(sentence, model).system)
    outcome = converse(model, request, lambda said: _judge(said, old, sentence), say, options.timeout)
    if not outcome.is_right:
        if outcome.result is not None:
            say("the best try, which does not pass:")
            Change(old, outcome.result, file).show(options)
        hint = "nothing was written; say it in other words, or name another model with --model"
        message = f"cannot edit '{file}': no flow of '{model.model_id}' passed in {outcome.tries} tries"
        raise change_error(message, outcome.findings, hint=hint)
    return Change(old, outcome.result, file, {"sentence": sentence, "model": model.model_id}).finish(options)


def _request(old: WiredFlow, sentence: str, system: str) -> PlanRequest:
    errors = errors_of(check(old))
    wrong = f"\nWhat is wrong with it now:\n{listed(errors)}\n" if errors else ""
    flow, nodes = write_json(flow_to_ir(old.flow)), interfaces_text(old)
    task = _TASK.format(flow=flow, nodes=nodes, wrong=wrong, sentence=sentence)
    again = task_text(f"change the flow: {sentence}")
    return PlanRequest(system, task, lambda said, findings: correction_text(again, findings), plan_schema())


def _judge(said: Answer, old: WiredFlow, sentence: str) -> tuple[WiredFlow | None, list[Finding]]:
    """Return the flow of an answer and its errors; None for an answer that cannot be loaded.

    Findings of the limits that the old flow has too do not count: a person may write what a model may not.
    """
    ir, findings = read_plan(said, old.flow.catalog)
    if ir is None:
        return None, findings

    def adjust(flow: FlowSpec) -> None:
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


def _choices(flow: FlowSpec) -> str:
    pairs = [(step, values) for step in flow.steps for values in (step.params, step.inputs)]
    return "\n".join(str(value) for step, values in pairs for key, value in values.items() if is_choice(step, key))
