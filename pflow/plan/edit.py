"""pflow plan --edit: change a flow as a sentence says. A model answers with the whole flow, judged as a plan is."""

from collections.abc import Iterator, Sequence

from pflow.errors import BAD_DATA, DENIED, USAGE, PflowError, result_of
from pflow.explain.pipe_form import pipe_of
from pflow.flow.findings import Finding, errors_of
from pflow.flow.flow import FlowSpec
from pflow.flow.ir import IR, flow_to_ir, literal_secrets
from pflow.flow.rules import check
from pflow.flow.wired_flow import WiredFlow
from pflow.flow.wiring import wire
from pflow.models.ask import ModelAnswer
from pflow.models.choose import choose_capable
from pflow.plan.change import Change, ChangeOptions, change_error, merge_edit, open_flow, say
from pflow.plan.conversation import PL00, PLACE, UserTurns, converse, plan_line, read_plan
from pflow.plan.limits import check_document, check_limits, drop_choices, is_choice
from pflow.plan.meaning import doubts
from pflow.plan.planner import check_answer, checked_sentence
from pflow.plan.prompt import interfaces_text, listed, plan_prompt
from pflow.text.printable import counted
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
    """Change the flow that the first word names, as the sentence in the others says, and return the exit code.

    Raises PflowError: 2 without a flow or a sentence, 65 if no try passes the rules, 78 if no model is capable, and the
    errors of asking a model.
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
    turns = _turns(old, shown, sentence if seen else sentence + _AS_JSON)
    outcome = converse(model, turns, lambda said: _judge(said, old, seen, sentence), say, options.timeout)
    if not outcome.is_right:
        if outcome.result is not None:
            say("the best try, which does not pass:")
            Change(old, outcome.result, file).show(options)
        hint = "nothing was written; say it in other words, or name another model with --model"
        message = f"cannot edit '{file}': no flow of '{model.model_id}' passed in {outcome.tries} tries"
        raise change_error(message, outcome.findings, hint=hint)
    for each in outcome.findings:
        say(f"in doubt: {each.message}")
    if outcome.findings and options.write and options.yes:
        count = counted(len(outcome.findings), "doubt")
        message = f"cannot edit '{file}': {count} whether it does what the sentence says"
        raise PflowError(message, hint="nothing was written; without --yes it asks", exit=DENIED)
    return Change(old, outcome.result, file, {"sentence": sentence, "model": model.model_id}).finish(options)


def _shown(old: WiredFlow) -> tuple[str, IR | None]:
    """Return the text of the flow for a model. It is pipe syntax, with the IR that this text stands for; or else the
    flow's JSON, with None.
    """
    bare = old.flow.copied()
    bare.outputs = {}
    text = result_of(lambda: pipe_of(wire(bare)).strip(), of=PflowError, otherwise="")
    ir, _ = read_plan(ModelAnswer(f"```\n{text}\n```"), old.flow.catalog)
    kept = [(node["id"], node["type"]) for node in ir["nodes"]] if ir else []
    is_whole = kept == [(step.id, step.type) for step in old.flow.steps]
    return (text, ir) if is_whole else (write_json(flow_to_ir(old.flow)), None)


def _turns(old: WiredFlow, shown: str, change: str) -> UserTurns:
    errors, prompt = errors_of(check(old)), plan_prompt()
    wrong = f"\nWhat is wrong with it now:\n{listed(errors)}\n" if errors else ""
    about = _ABOUT.format(flow=shown, nodes=interfaces_text(old), wrong=wrong)
    return UserTurns(prompt, lambda attempt: f"{about}\n{prompt.user_turn(_CHANGE + change, attempt=attempt)}")


def _judge(said: ModelAnswer, old: WiredFlow, seen: IR | None, sentence: str) -> tuple[WiredFlow | None, list[Finding]]:
    """Return the flow of an answer, None if it cannot be loaded, and its errors; if there are none, its doubts.

    A limit that the old flow breaks too does not count: a person may write things that a model may not.
    """
    ir, findings = read_plan(said, old.flow.catalog)
    if ir is not None and (line := plan_line(said)):
        if seen is None:
            return None, [Finding(PL00, PLACE, "pipe syntax cannot say all that the flow has", _AS_JSON[2:])]
        ir = merge_edit(flow_to_ir(old.flow), seen, ir, line)
    if ir is None:
        return None, findings

    def adjust(flow: FlowSpec) -> None:
        drop_choices(flow, f"{sentence}\n{_choices(old.flow)}")
        _keep_unsaid(old.flow, flow, sentence.lower())

    known = {each.message for each in [*check_document(old.flow), *check_limits(old)]}
    new, findings = check_answer(ir, old.flow.catalog, adjust, known)
    return new, errors_of(findings) or [*_doubts(old, new, sentence)]


def _doubts(old: WiredFlow, new: WiredFlow | None, sentence: str) -> Iterator[Finding]:
    """Find an answer that changes nothing, and values that are neither in the sentence nor in the old flow."""
    before, after = flow_to_ir(old.flow), flow_to_ir(new.flow) if new is not None else None
    if after == before:
        yield Finding(PL00, PLACE, "it changes nothing", "make the change", is_warning=True)
    elif new is not None:
        said = f"{sentence} {write_json(before)}"
        yield from (each for each in doubts(new, said) if each.rule == "PL11")


def _keep_unsaid(old: FlowSpec, new: FlowSpec, sentence: str) -> None:
    """Copy from the old flow the parts that models leave out, or change although the sentence does not ask for it."""
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
    return "\n".join(str(value) for step, values in pairs for key, value in values.items() if is_choice(step.type, key))
