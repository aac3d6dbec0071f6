"""Judging a flow that a model proposed: the limits, every rule, and then its inputs lifted."""

from __future__ import annotations

from pflow.errors import PflowError
from pflow.flow.findings import Finding
from pflow.flow.load import load_document
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wiring import wire
from pflow.plan.answer import PL00, PLACE
from pflow.plan.lift import lift
from pflow.plan.limits import check_document, check_limits, drop_choices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow

_LONGEST_NAME = 40


def judge(document: dict[str, Any], sentence: str) -> tuple[Flow | None, list[Finding]]:
    """The flow, named and with its inputs lifted, and its warnings; or None, and what is wrong with it."""
    try:
        return _judged(document, sentence)
    except PflowError as error:
        return None, [Finding(PL00, PLACE, error.message, error.hint)]
    except RecursionError:
        return None, [Finding(PL00, PLACE, "it is nested too deeply", "write a plain flow")]


def _judged(document: dict[str, Any], sentence: str) -> tuple[Flow | None, list[Finding]]:
    loaded = load_document(document, "the plan", FlowCatalog())
    flow = loaded.flow
    found = check_document(flow)
    if found:
        return None, [*loaded.findings, *found]
    drop_choices(flow, sentence)
    findings = _findings(flow, loaded.findings)
    if any(not each.is_warning for each in findings):
        return None, findings
    flow.name = short_name(flow.name) or short_name(sentence) or "plan"
    flow.description = sentence
    lifted = lift(flow, sentence)
    return flow, [*check(lifted), *(each for each in findings if each.rule.startswith("PL"))]


def _findings(flow: Flow, shape: list[Finding]) -> list[Finding]:
    plan = wire(flow)
    findings = check(plan, shape)
    said = {(each.place, each.rule[:2]) for each in findings if not each.is_warning}
    return [*findings, *(each for each in check_limits(plan) if (each.place, "PF") not in said)]


def short_name(text: str) -> str:
    """A text as the name of a flow: small words of ASCII, with - between them."""
    words = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in text.lower()).split()
    name = ""
    for word in words:
        if len(name) + len(word) >= _LONGEST_NAME:
            break
        name = f"{name}-{word}" if name else word
    return name or (words[0][:_LONGEST_NAME] if words else "")
