"""Planning: a sentence to a flow that passes every rule, with a model in between."""

from __future__ import annotations

import time

from pflow.errors import BAD_DATA, USAGE, PflowError
from pflow.plan.hearing import TIMEOUT, TRIES, faults_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from llm import Model

    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow
    from pflow.models.talk import Said
    from pflow.plan.cache import Kept
    from pflow.plan.catalogue import Catalogue

    Tell = Callable[[str], None]

LONGEST = 20_000
"""Characters of a sentence."""


class Planned:
    """A flow that was planned: it passes every rule. `findings` are the warnings that are left.

    `flow.inputs` hold the values that the sentence names as their defaults; `flow.description` is the sentence.
    """

    def __init__(self, flow: Flow, findings: list[Finding], model: str) -> None:
        self.flow = flow
        self.findings = findings
        self.model = model
        self.tries = 1
        self.is_remembered = False
        """Whether it was planned before, and no model was asked."""


class Unplannable(PflowError):
    """No try passed. `ir` is the best one as the model wrote it, None where none was a flow; `findings` are its."""

    def __init__(self, model: str, tries: int, ir: dict[str, Any] | None, findings: list[Finding]) -> None:
        errors = [each for each in findings if not each.is_warning]
        many = f"{tries} tries" if tries > 1 else "one try"
        what = f"its best has {faults_line(errors)}" if ir is not None else f"no flow: {errors[0].message}"
        super().__init__(
            f"cannot plan: no flow of '{model}' passed in {many}; {what}",
            hint="say it in other words, or name another model with --model",
            exit=BAD_DATA,
        )
        self.model = model
        self.tries = tries
        self.ir = ir
        self.findings = findings
        self.details = {"tries": tries, "flow": ir, "findings": [each.as_json() for each in findings]}


def plan_sentence(
    sentence: str, *, model: str | None = None, fresh: bool = False, timeout: float | None = None,
    tell: Callable[[str], None] | None = None, tries: int = TRIES,
) -> Planned:  # fmt: skip
    """Plan. `tell` hears what is going on, in short lines. `timeout` (seconds) is for all but choosing the model.

    Raises PflowError: 65 (an Unplannable) where no try passes the rules, 78 where no model can plan, 124 where the time
    runs out, and what asking a model raises. An answer that the provider refuses, cuts off or fails at is no try: it is
    raised. Whatever else comes back is a try.
    """
    from pflow.plan.timing import limited

    sentence = checked_sentence(sentence)
    seconds = TIMEOUT if timeout is None else timeout
    chosen = _capable(model, sentence)  # not on the clock: llm never loads its plugins again when it is interrupted
    planning = _Planning(sentence, time.monotonic() + seconds, tell or _say_nothing, tries)
    with limited(seconds, "plan"):
        return planning.plan(chosen, fresh=fresh)


def checked_sentence(sentence: str, act: str = "plan") -> str:
    """The sentence, its white space made plain. Raises PflowError (2) for what is none, and for a secret in it."""
    from pflow.plan.secrets import refuse_secrets

    sentence = " ".join(sentence.split())
    if not sentence:
        raise PflowError(f"cannot {act}: there is no sentence", exit=USAGE)
    if len(sentence) > LONGEST:
        what = f"cannot {act}: the sentence has {len(sentence)} characters, more than {LONGEST}"
        raise PflowError(what, hint="name the file that the rest stands in", exit=USAGE)
    try:
        sentence.encode()
    except UnicodeEncodeError:
        raise PflowError(f"cannot {act}: the sentence is not UTF-8", exit=USAGE) from None
    refuse_secrets(act, sentence, "the sentence")
    return sentence


def _say_nothing(line: str) -> None:
    return


def _capable(name: str | None, sentence: str) -> Model:
    from pflow.models.choose import NoCapableModel, choose_capable

    try:
        return choose_capable(name)
    except NoCapableModel as error:
        from pflow.plan.nearby import add_nearest

        raise add_nearest(error, sentence) from error.__cause__


class _Planning:
    """One sentence being planned. `ends_at` is when it has to be over."""

    def __init__(self, sentence: str, ends_at: float, tell: Tell, tries: int) -> None:
        self.sentence = sentence
        self.ends_at = ends_at
        self.tell = tell
        self.tries = tries

    def plan(self, model: Model, *, fresh: bool) -> Planned:
        from pflow.catalog.kinds import forget_kinds
        from pflow.flow.unload import flow_to_ir
        from pflow.plan.cache import Kept
        from pflow.plan.catalogue import catalogue, room_for
        from pflow.plan.prompt import VERSION

        forget_kinds()
        there = catalogue(self.sentence, room_for(model))
        kept = Kept(self.sentence, there.digest, model.model_id, VERSION)
        if not fresh and (planned := self._remembered(kept, model.model_id)):
            self.tell("planned before: no model is asked")
            return planned
        planned = self._ask(model, there)
        kept.write(flow_to_ir(planned.flow))
        return planned

    def _remembered(self, kept: Kept, model: str) -> Planned | None:
        """The plan that is kept, if it still passes."""
        from pflow.plan.judge import judge

        ir = kept.read()
        flow, findings = judge(ir, self.sentence) if ir is not None else (None, [])
        if flow is None:
            return None
        planned = Planned(flow, findings, model)
        planned.is_remembered = True
        return planned

    def _ask(self, model: Model, there: Catalogue) -> Planned:
        """Ask, and hand the findings back, until a flow passes. Raises Unplannable."""
        from pflow.plan.hearing import Request, hear_until
        from pflow.plan.prompt import findings_text, system_text, task_text
        from pflow.plan.schema import plan_schema

        request = Request(
            system_text(there.text),
            task_text(self.sentence),
            lambda findings: findings_text(self.sentence, findings),
            lambda: plan_schema(there.types),
        )
        heard = hear_until(self.ends_at, model, request, self._judge, self.tell, self.tries)
        tried: Try | None = heard.result
        if tried is None or tried.flow is None:
            findings = tried.findings if tried is not None else heard.findings
            raise Unplannable(model.model_id, heard.tries, tried.ir if tried is not None else None, findings)
        planned = Planned(tried.flow, tried.findings, model.model_id)
        planned.tries = heard.tries
        return planned

    def _judge(self, said: Said) -> tuple[Try | None, list[Finding]]:
        from pflow.plan.answer import read_flow
        from pflow.plan.judge import judge

        ir, findings = read_flow(said)
        if ir is None:
            return None, findings
        flow, findings = judge(ir, self.sentence)
        return Try(ir, flow, findings), [] if flow is not None else [each for each in findings if not each.is_warning]


class Try:
    """An answer: the IR as the model wrote it, its flow where that passes, and its findings."""

    def __init__(self, ir: dict[str, Any], flow: Flow | None, findings: list[Finding]) -> None:
        self.ir = ir
        self.flow = flow
        self.findings = findings
