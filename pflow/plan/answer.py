"""The flow in a model's answer: the one JSON object that is a flow, among prose, fences and other JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from pflow.errors import PflowError
from pflow.flow.findings import Finding
from pflow.flow.load import parse_json
from pflow.models.talk import Said
from pflow.terminal.columns import clean

PL00 = "PL00"
PLACE = ("the answer",)

_REMEDY = 'answer with one JSON object that has "nodes", and nothing else'
_MOST_FAULTS = 20
"""Braces that begin no JSON, after which the search ends: an answer may hold a megabyte of them."""

_SCAN = json.JSONDecoder(strict=False).raw_decode


@dataclass
class Objects:
    """The JSON objects in an answer with their texts, and what is wrong with the first that is not whole."""

    values: list[dict[str, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    fault: str = ""


def find_objects(said: Said) -> Objects:
    """Every JSON object behind the model's thoughts; empty for an answer that is too long to be read."""
    text = "" if said.is_too_long else said.text.rpartition("</think>")[2]
    found, faults, at = Objects(), 0, text.find("{")
    while at >= 0 and faults < _MOST_FAULTS:
        end = at + 1
        if text[at + 1 : at + 100].lstrip()[:1] in ('"', "}"):
            try:
                value, end = _SCAN(text, at)
                found.values.append(value)
                found.texts.append(text[at:end])
            except (ValueError, RecursionError) as error:
                faults += 1
                found.fault = found.fault or _in_words(text, at, error)
        at = text.find("{", end)
    return found


def read_flow(said: Said) -> tuple[dict[str, Any] | None, list[Finding]]:
    """The flow's document, or a finding that says why there is none. Two different flows are a fault."""
    if said.is_too_long:
        return None, [_finding("it is longer than a flow can be")]
    if "<think>" in said.text.rpartition("</think>")[2]:
        return None, [_finding("it stops while it still thinks")]
    found = find_objects(said)
    if reason := _reason(found):
        return None, [_finding(f"it says that the task cannot be done: {reason}", "say it in other words")]
    flows = {text: None for text, value in zip(found.texts, found.values, strict=True) if "nodes" in value}
    if len(flows) > 1:
        return None, [_finding(f"it holds {len(flows)} flows", "decide for one")]
    if flows and not (said.is_limited and found.fault):  # a whole one before the one that was cut is an example
        return _parsed(next(iter(flows)))
    return None, [_why_none(said, found)]


def refusal(said: Said) -> str:
    """Why a model says that the task cannot be done; empty where it does not."""
    return _reason(find_objects(said))


def _reason(found: Objects) -> str:
    reasons = [value.get("cannot") for value in found.values if not value.get("nodes")]
    return next((_shown(each.strip(), 300) for each in reasons if isinstance(each, str) and each.strip()), "")


def _in_words(text: str, at: int, error: Exception) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated"):
        return "it ends in the middle"
    return f"{error.msg.lower()} at '{_shown(text[max(at, error.pos - 20) : error.pos + 20])}'"


def _parsed(text: str) -> tuple[dict[str, Any] | None, list[Finding]]:
    try:
        return parse_json(text, "the plan"), []
    except (PflowError, RecursionError) as error:
        why = error.message.partition(": ")[2] if isinstance(error, PflowError) else "it is nested too deeply"
        return None, [_finding(f"its JSON cannot be read: {_shown(why, 200)}")]


def _why_none(said: Said, found: Objects) -> Finding:
    if found.fault:
        remedy = "it stopped at its token limit: answer with less" if said.is_limited else _REMEDY
        return _finding(f"its JSON cannot be read: {found.fault}", remedy)
    if found.values:
        return _finding('its JSON has no "nodes"')
    text = said.text.rpartition("</think>")[2].strip()
    return _finding(f"it holds no JSON: '{_shown(text)}'" if text else "it is empty")


def _finding(message: str, remedy: str = _REMEDY) -> Finding:
    return Finding(PL00, PLACE, message, remedy)


def _shown(text: str, longest: int = 80) -> str:
    text = " ".join(clean(text[: longest + 1]).split())
    return text if len(text) <= longest else text[:longest] + "…"
