"""Planning: a sentence to a flow that passes every rule, with a model in between."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.flow.findings import Finding
    from pflow.flow.flow import Flow


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


def plan_sentence(
    sentence: str, *, model: str | None = None, fresh: bool = False, timeout: float | None = None,
    tell: Callable[[str], None] | None = None,
) -> Planned:  # fmt: skip
    """Plan. `tell` hears what is going on, in short lines.

    Raises PflowError: 65 (an Unplannable) where no try passes the rules, 78 where no model can plan, and what asking a
    model raises.
    """
    import json

    from pflow.flow.load import load_document
    from pflow.flow.rules import check
    from pflow.flow.wiring import wire
    from pflow.models.ask import Request, ask
    from pflow.models.choose import choose

    chosen: Any = choose(model)
    answer = ask(chosen, Request(sentence), lambda part: None)
    flow = load_document(json.loads(answer.response), "the plan").usable()
    flow.description = sentence
    return Planned(flow, check(wire(flow)), chosen.model_id)
