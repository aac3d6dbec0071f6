"""pflow plan --edit: a change in words to a flow. A model answers with the whole flow, held to the rules of a plan."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pflow.errors import USAGE, PflowError
from pflow.flow.findings import Finding
from pflow.flow.flow import Flow
from pflow.flow.load import load_document
from pflow.flow.named import find_file, load_named
from pflow.flow.pipe import is_pipe
from pflow.flow.rules import check
from pflow.flow.unload import canonical_json
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.models.choose import choose_capable
from pflow.models.talk import Said
from pflow.plan.answer import PL00, PLACE, read_flow
from pflow.plan.building_blocks import building_blocks, interfaces_text, room_for
from pflow.plan.change.change import Change, Options, change_error, errors_of, flow_file_of, say, say_findings
from pflow.plan.conversation import Request, converse
from pflow.plan.declare_inputs import declare_inputs
from pflow.plan.limits import check_document, check_limits, drop_choices, is_choice
from pflow.plan.planner import CachedPlan, checked_sentence
from pflow.plan.prompt import SYSTEM, VERSION, findings_text, listed, plan_schema
from pflow.plan.secrets import is_mask, masked, unmasked

_USE = "pflow plan --edit FLOW 'use b.txt instead of a.txt'"
_FORM = "edit 1"
"""Goes up with every change of the task: an answer to other words is not taken from the cache."""

_TASK = """\
Change this flow:

{flow}
Its nodes:
{nodes}
{wrong}
The change that is asked for: {sentence}

Answer with the whole flow, changed, as one JSON object. What the change does not ask for stays as it is: the name, the
description, the ids of the steps, the inputs and their defaults, every prompt, every mapping. *** stands for a secret:
leave it where it is.
"""


def main(words: Sequence[str], options: Options) -> int:
    """Change the flow that the first words name as the sentence after them says; the exit code.

    Raises PflowError: 2 without a flow or a sentence, 65 where no try passes the rules, 78 where no model is capable,
    and what asking a model raises.
    """
    of_flow, sentence = split_words(words)
    file = flow_file_of(of_flow)
    options.check(file)
    loaded = load_named(of_flow)
    errors = [each for each in loaded.findings if not each.is_warning]
    if errors:
        say_findings(errors)
        raise change_error(f"cannot edit '{file}': its parts have wrong shapes", errors, hint="correct the file first")
    model = choose_capable(options.model, f"tell what '{sentence}' changes")
    old = wire(loaded.flow)
    judge = _Judge(old, sentence)
    blocks = building_blocks(sentence, room_for(model))
    cached = CachedPlan(f"{_FORM}: {judge.digest}: {sentence}", blocks.digest, model.model_id, VERSION)
    ir = None if options.fresh else cached.read()
    new, findings = judge.of_document(ir) if ir is not None else (None, [])
    if new is not None and not findings:
        say("asked before: no model is asked")
    else:
        outcome = converse(model, judge.request(SYSTEM + blocks.text), judge, say, options.timeout)
        new = outcome.result
        if not outcome.is_right:
            if new is not None:
                say("the best try, which will not do:")
                Change(old, new, file).show(options)
            say_findings(outcome.findings)
            hint = "nothing was written; say it in other words, or name another model with --model"
            message = f"cannot edit '{file}': no flow of '{model.model_id}' passed in {outcome.tries} tries"
            raise change_error(message, outcome.findings, hint=hint)
        cached.write(judge.ir)
    say_findings(judge.warnings)
    return Change(old, new, file, {"sentence": sentence, "model": model.model_id}).finish(options)


def split_words(words: Sequence[str]) -> tuple[list[str], str]:
    """The words of the flow, and the sentence. Raises PflowError (2) where one of them is missing."""
    words = list(words)
    if not words:
        raise PflowError("cannot tell which flow to edit: no words", hint=_USE, exit=USAGE)
    is_whole = words[0] == "-" or find_file(words[0]) is not None or is_pipe(words[:1])
    has_flags = "".join(words[1:2]).startswith("--")
    at = len(words) - 1 if not is_whole and (is_pipe(words[:-1]) or has_flags) else 1
    sentence = " ".join(words[at:])
    if not sentence.strip():
        raise PflowError(f"cannot edit '{words[0]}': nothing says what to change", hint=_USE, exit=USAGE)
    return words[:at], checked_sentence(sentence, f"edit '{words[0]}'")


class _Judge:
    """What a model's answers amount to. `ir` is the last flow as it came, its secrets masked.

    What the limits found in the old flow does not count: a person may write what a model may not.
    """

    def __init__(self, old: WiredFlow, sentence: str) -> None:
        self.old = old
        self.sentence = sentence
        self.ir: dict[str, Any] = {}
        self.warnings: list[Finding] = []
        self.known = {(each.rule, each.message) for each in [*check_document(old.flow), *check_limits(old)]}

    @property
    def digest(self) -> str:
        """Of the flow that is changed."""
        return hashlib.sha256(canonical_json(masked(self.old)).encode("utf-8", "surrogatepass")).hexdigest()

    def request(self, system: str) -> Request:
        errors = errors_of(self.old)
        wrong = f"\nWhat is wrong with it now:\n{listed(errors)}\n" if errors else ""
        flow, nodes = canonical_json(masked(self.old)), interfaces_text(self.old)
        task = _TASK.format(flow=flow, nodes=nodes, wrong=wrong, sentence=self.sentence)
        about = f"change the flow: {self.sentence}"
        return Request(system, task, lambda findings: findings_text(about, findings), plan_schema)

    def __call__(self, said: Said) -> tuple[WiredFlow | None, list[Finding]]:
        ir, findings = read_flow(said)
        return (None, findings) if ir is None else self.of_document(ir)

    def of_document(self, ir: dict[str, Any]) -> tuple[WiredFlow | None, list[Finding]]:
        """The flow of an answer, and what is wrong with it; None for an answer that cannot be loaded."""
        self.ir = ir
        try:
            return self._of_document(ir)
        except PflowError as error:
            return None, [Finding(PL00, PLACE, error.message, error.hint)]
        except RecursionError:
            return None, [Finding(PL00, PLACE, "it is nested too deeply", "write a plain flow")]

    def _of_document(self, ir: dict[str, Any]) -> tuple[WiredFlow | None, list[Finding]]:
        loaded = load_document(unmasked(ir, self.old), "the answer", self.old.flow.catalog)
        flow = loaded.flow
        errors = [each for each in [*loaded.findings, *self._new(check_document(flow))] if not each.is_warning]
        if errors:
            return (wire(flow) if flow.steps else None), errors
        drop_choices(flow, f"{self.sentence}\n{_choices(self.old.flow)}")
        _keep_unsaid(self.old.flow, flow, self.sentence.lower())
        wired = wire(flow)
        findings = check(wired)
        broken = {each.place for each in findings if not each.is_warning}
        limits = [each for each in self._new(check_limits(wired)) if each.place not in broken]
        errors = [each for each in [*findings, *_masks(flow), *limits] if not each.is_warning]
        self.warnings = [each for each in limits if each.is_warning]
        if not errors and self.old.flow.inputs:
            wired = declare_inputs(wired, self.sentence)
        return wired, errors

    def _new(self, findings: Sequence[Finding]) -> list[Finding]:
        return [each for each in findings if (each.rule, each.message) not in self.known]


def _keep_unsaid(old: Flow, new: Flow, sentence: str) -> None:
    """Copy what models leave out or change unasked, and what their schema has no room for."""
    new.schema = old.schema
    if not new.name or not re.search(r"\b(re)?nam|\bcall", sentence):
        new.name = old.name
    if not new.description or "descri" not in sentence:
        new.description = old.description
    before = {(step.id, step.type): step for step in old.steps}
    for step in new.steps:
        same = before.get((step.id, step.type), step)
        step.version, step.description = step.version or same.version, step.description or same.description


def _choices(flow: Flow) -> str:
    """What the flow says already of which model is asked."""
    pairs = [(step, values) for step in flow.steps for values in (step.params, step.inputs)]
    found = [value for step, values in pairs for key, value in values.items() if is_choice(step, key)]
    return "\n".join(str(each) for value in found for each in (value if isinstance(value, list) else [value]))


def _masks(flow: Flow) -> Iterator[Finding]:
    """A finding for each mask where the flow had no secret."""
    for step in flow.steps:
        parts = (("inputs", step.inputs), ("params", step.params), ("input_mappings", step.input_mappings))
        for part, values in parts:
            for key in [key for key, value in values.items() if isinstance(value, str) and is_mask(value)]:
                place = ("mappings", step.id, part, key) if part == "input_mappings" else (*step.place, part, key)
                yield Finding("PL04", place, "a mask stands only where the flow has its secret", "leave it out")
