"""The flow in a model's answer: the one JSON object that is a flow, whatever stands around it."""

from __future__ import annotations

from pflow.errors import PflowError
from pflow.flow.findings import Finding
from pflow.scanner import WHITESPACE, ScanError, scan_loosely

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.models.talk import Said

PL00 = "PL00"
PLACE = ("the answer",)

_REMEDY = 'answer with one JSON object that has "nodes", and nothing else'
_MOST_FAULTS = 20
"""Braces that begin no JSON, after which nothing more is looked for: an answer may be a megabyte of them."""

_BEGINNING = 80


def read_flow(said: Said) -> tuple[dict[str, Any] | None, list[Finding]]:
    """The flow's document, or a finding that says why there is none.

    Prose and a fence around it, and other JSON beside it, are let be; two different flows are not.
    """
    if said.is_too_long:
        return None, [_finding("it is longer than a flow can be", _REMEDY)]
    text = said.text.rpartition("</think>")[2]
    if "<think>" in text:
        return None, [_finding("it stops while it still thinks", _REMEDY)]
    objects, fault = _objects(text)
    if reason := _refusal(objects):
        return None, [_finding(f"it says that the task cannot be done: {reason}", "say it in other words")]
    flows = list(dict.fromkeys(each for each in objects if _is_flow(each)))
    if len(flows) > 1:
        return None, [_finding(f"it holds {len(flows)} flows", "decide for one")]
    if flows and not (said.is_limited and fault):  # a whole one before the one that was cut is an example
        return _parsed(flows[0])
    return None, [_why_none(said, text, objects, fault)]


def refusal(said: Said) -> str:
    """Why a model says that the task cannot be done; empty where it does not."""
    return "" if said.is_too_long else _refusal(_objects(said.text.rpartition("</think>")[2])[0])


def _refusal(objects: list[str]) -> str:
    reasons = [document.get("cannot") for document in map(_loosely, objects) if not document.get("nodes")]
    return next((_shown(reason.strip(), 300) for reason in reasons if isinstance(reason, str) and reason.strip()), "")


def _loosely(text: str) -> dict[str, Any]:
    value = scan_loosely(text)[0]
    assert isinstance(value, dict)
    return value


def _objects(text: str) -> tuple[list[str], str]:
    """The text of each whole JSON object, and what is wrong with the first that is not whole."""
    objects, fault, faults, at = [], "", 0, text.find("{")
    while at >= 0 and faults < _MOST_FAULTS:
        try:
            end = scan_loosely(text, at)[1] if _may_begin(text, at) else at + 1
            if end > at + 1:
                objects.append(text[at:end])
        except ValueError as error:
            faults += 1
            fault = fault or _in_words(text, at, error)
            end = at + 1
        at = text.find("{", end)
    return objects, fault


def _may_begin(text: str, at: int) -> bool:
    return text[at + 1 : at + 100].lstrip(WHITESPACE)[:1] in ('"', "}")


def _in_words(text: str, at: int, error: ValueError) -> str:
    if isinstance(error, ScanError) and error.is_deep:
        return "it is nested too deeply"
    place = getattr(error, "pos", None)
    if place is None:
        return str(error)
    if place >= len(text.rstrip()):
        return "it ends in the middle"
    what = str(error).partition(":")[0].lower().removesuffix(" starting at")
    return f"{what} at '{_shown(text[max(at, place - 20) : place + 20])}'"


def _is_flow(text: str) -> bool:
    return '"nodes"' in text and "nodes" in scan_loosely(text)[0]


def _parsed(text: str) -> tuple[dict[str, Any] | None, list[Finding]]:
    from pflow.flow.jsonfile import parse_json

    try:
        return parse_json(text, "the plan"), []
    except (PflowError, RecursionError) as error:
        why = error.message.partition(": ")[2] if isinstance(error, PflowError) else "it is nested too deeply"
        return None, [_finding(f"its JSON cannot be read: {_shown(why, 200)}", _REMEDY)]


def _why_none(said: Said, text: str, objects: list[str], fault: str) -> Finding:
    if fault:
        remedy = "it stopped at its token limit: answer with less" if said.is_limited else _REMEDY
        return _finding(f"its JSON cannot be read: {fault}", remedy)
    if objects:
        return _finding('its JSON has no "nodes"', _REMEDY)
    if not text.strip():
        return _finding("it is empty", _REMEDY)
    return _finding(f"it holds no JSON: '{_shown(text.strip())}'", _REMEDY)


def _finding(message: str, remedy: str) -> Finding:
    return Finding(PL00, PLACE, message, remedy)


def _shown(text: str, longest: int = _BEGINNING) -> str:
    from pflow.terminal.columns import clean

    text = " ".join(clean(text[: longest + 1]).split())
    return text if len(text) <= longest else text[:longest] + "…"
