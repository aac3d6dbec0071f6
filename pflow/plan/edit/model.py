"""A change to a flow by a model: the whole new IR, held to the same limits and rules as a plan."""

from __future__ import annotations

from pflow.plan.change.faults import errors_of
from pflow.plan.edit.judge import Judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow
    from pflow.plan.hearing import Heard

    IR = dict[str, Any]

VERSION = "edit 1"
"""Goes up with every change of the words below: what was edited under other words is asked for anew."""

_TASK = """\
Change this flow:

{flow}
{nodes}{findings}
The change that is asked for: {sentence}

Answer with the whole flow, changed, as one JSON object. What the change does not ask for stays as it is: the name, the
description, the ids of the steps, the inputs and their defaults, every prompt, every mapping. *** stands for a secret:
leave it where it is.
"""


class Edited:
    """A flow that was changed and passes every rule, the `warnings` that are left, and which model did it."""

    def __init__(self, flow: Flow, warnings: list[Finding], model: str) -> None:
        self.flow = flow
        self.warnings = warnings
        self.model = model


class NoTryPassed(Exception):
    """The best try: its flow, None where none was one, and what is wrong with it."""

    def __init__(self, model: str, heard: Heard) -> None:
        super().__init__(model)
        self.model = model
        self.tries = heard.tries
        self.flow: Flow | None = heard.result
        self.findings = heard.findings


def edit_by_model(flow: Flow, sentence: str, options: IR, tell: Callable[[str], None]) -> Edited:
    """Have a model make the change, unless it made the same one before.

    Raises NoTryPassed; PflowError: 78 where no model is capable, 124 where the time runs out, and what asking raises.
    """
    from pflow.models.choose import choose_capable
    from pflow.plan.cache import Kept
    from pflow.plan.catalogue import catalogue, room_for
    from pflow.plan.hearing import hear

    model = choose_capable(options.get("model"), f"tell what '{sentence}' changes")
    judge = Judge(flow, sentence)
    there = catalogue(sentence, room_for(model))
    kept = Kept(f"{VERSION}: {judge.digest}: {sentence}", there.digest, model.model_id, _version())
    ir = None if options.get("fresh") else kept.read()
    if ir is not None and (before := judge.flow_of(ir))[0] is not None and not before[1]:
        tell("asked before: no model is asked")
        return Edited(before[0], judge.warnings, model.model_id)
    heard = hear(model, _request(flow, sentence, there.text), judge, tell, options.get("timeout"))
    if not heard.is_right:
        raise NoTryPassed(model.model_id, heard)
    kept.write(judge.ir)
    return Edited(heard.result, judge.warnings, model.model_id)


def _version() -> int:
    from pflow.plan.prompt import VERSION

    return VERSION


def _request(flow: Flow, sentence: str, there: str) -> Any:
    from pflow.flow.unload import canonical_json
    from pflow.flow.wiring import wire
    from pflow.plan.change.masks import hidden
    from pflow.plan.hearing import Request
    from pflow.plan.prompt import findings_text, system_text
    from pflow.plan.schema import plan_schema
    from pflow.plan.wire.words import interfaces

    plan = wire(flow)
    errors = errors_of(flow)
    wrong = "\nWhat is wrong with it now:\n" + "\n".join(f"- {each}" for each in errors) + "\n" if errors else ""
    task = _TASK.format(
        flow=canonical_json(hidden(flow)), nodes="Its nodes:\n" + interfaces(plan), findings=wrong, sentence=sentence
    )
    about = f"change the flow: {sentence}"
    return Request(system_text(there), task, lambda findings: findings_text(about, findings), plan_schema)
