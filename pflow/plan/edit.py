"""pflow plan --edit: a change in words to a flow. A model answers with the whole flow, held to the rules of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pflow.errors import BAD_DATA, USAGE, PflowError
from pflow.flow.findings import Finding
from pflow.flow.flow import Flow
from pflow.flow.load import load_document
from pflow.flow.unload import canonical_json, flow_to_ir
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.library.save import is_literal, secrets_of
from pflow.models.choose import choose_capable
from pflow.models.talk import Said
from pflow.plan.building_blocks import building_blocks, interfaces_text, room_for
from pflow.plan.change import Change, Options, change_error, errors_of, open_flow, say
from pflow.plan.conversation import PL00, PLACE, Request, converse, read_flow
from pflow.plan.limits import check_document, check_limits, drop_choices, is_choice
from pflow.plan.planner import checked_sentence
from pflow.plan.prompt import SYSTEM, findings_text, listed, plan_schema

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


def main(words: Sequence[str], options: Options) -> int:
    """Change the flow that the first word names as the sentence after it says; the exit code.

    Raises PflowError: 2 without a flow or a sentence, 65 where no try passes the rules, 78 where no model is capable,
    and what asking a model raises.
    """
    if len(words) < 2 or words[1].startswith("-"):
        raise PflowError("cannot edit: it takes a flow and a sentence that says what to change", hint=_USE, exit=USAGE)
    sentence = checked_sentence(" ".join(words[1:]), f"edit '{words[0]}'")
    file, old = open_flow(words[:1], options, "edit")
    for place, value, remedy in secrets_of(old):
        if is_literal(value):
            what = f"cannot edit '{file}': a secret stands in it, in {'.'.join(place)}, and it would be sent to a model"
            raise PflowError(what, hint=remedy, exit=BAD_DATA)
    model = choose_capable(options.model, f"tell what '{sentence}' changes")
    blocks = building_blocks(sentence, room_for(model))
    judge = _Judge(old, sentence)
    outcome = converse(model, judge.request(SYSTEM + blocks.text), judge, say, options.timeout)
    if not outcome.is_right:
        if outcome.result is not None:
            say("the best try, which will not do:")
            Change(old, outcome.result, file).show(options)
        hint = "nothing was written; say it in other words, or name another model with --model"
        message = f"cannot edit '{file}': no flow of '{model.model_id}' passed in {outcome.tries} tries"
        raise change_error(message, outcome.findings, hint=hint)
    return Change(old, outcome.result, file, {"sentence": sentence, "model": model.model_id}).finish(options)


class _Judge:
    """What a model's answers amount to.

    What the limits found in the old flow does not count: a person may write what a model may not.
    """

    def __init__(self, old: WiredFlow, sentence: str) -> None:
        self.old = old
        self.sentence = sentence
        self.known = {(each.rule, each.message) for each in [*check_document(old.flow), *check_limits(old)]}

    def request(self, system: str) -> Request:
        errors = errors_of(self.old)
        wrong = f"\nWhat is wrong with it now:\n{listed(errors)}\n" if errors else ""
        flow, nodes = canonical_json(flow_to_ir(self.old.flow)), interfaces_text(self.old)
        task = _TASK.format(flow=flow, nodes=nodes, wrong=wrong, sentence=self.sentence)
        about = f"change the flow: {self.sentence}"
        return Request(system, task, lambda findings: findings_text(about, findings), plan_schema)

    def __call__(self, said: Said) -> tuple[WiredFlow | None, list[Finding]]:
        """The flow of an answer, and what is wrong with it; None for an answer that cannot be loaded."""
        ir, findings = read_flow(said)
        try:
            return (None, findings) if ir is None else self._of_document(ir)
        except PflowError as error:
            return None, [Finding(PL00, PLACE, error.message, error.hint)]
        except RecursionError:
            return None, [Finding(PL00, PLACE, "it is nested too deeply", "write a plain flow")]

    def _of_document(self, ir: dict[str, Any]) -> tuple[WiredFlow | None, list[Finding]]:
        loaded = load_document(ir, "the answer", self.old.flow.catalog)
        flow = loaded.flow
        errors = [each for each in [*loaded.findings, *self._new(check_document(flow))] if not each.is_warning]
        if errors:
            return None, errors
        drop_choices(flow, f"{self.sentence}\n{_choices(self.old.flow)}")
        _keep_unsaid(self.old.flow, flow, self.sentence.lower())
        wired = wire(flow)
        found = [*errors_of(wired), *self._new(check_limits(wired))]
        return wired, [each for each in found if not each.is_warning]

    def _new(self, findings: Sequence[Finding]) -> list[Finding]:
        return [each for each in findings if (each.rule, each.message) not in self.known]


def _keep_unsaid(old: Flow, new: Flow, sentence: str) -> None:
    """Copy what models leave out or change unasked, and what their schema has no room for."""
    new.schema = old.schema
    new.name = new.name if new.name and ("name" in sentence or "call" in sentence) else old.name
    new.description = new.description if new.description and "descri" in sentence else old.description
    before = {(step.id, step.type): step for step in old.steps}
    for step in new.steps:
        same = before.get((step.id, step.type), step)
        step.version, step.description = step.version or same.version, step.description or same.description


def _choices(flow: Flow) -> str:
    """What the flow says already of which model is asked."""
    pairs = [(step, values) for step in flow.steps for values in (step.params, step.inputs)]
    return "\n".join(str(value) for step, values in pairs for key, value in values.items() if is_choice(step, key))
