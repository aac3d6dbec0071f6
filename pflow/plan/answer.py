"""The flow in a model's answer: the one JSON object that is a flow, among prose, fences and other JSON."""

from __future__ import annotations

import json
from typing import Any

from pflow.errors import PflowError
from pflow.flow.findings import Finding
from pflow.flow.load import parse_json
from pflow.models.talk import Said
from pflow.terminal.columns import clean, shorten

PL00 = "PL00"
PLACE = ("the answer",)

_REMEDY = 'answer with one JSON object that has "nodes", and nothing else'
_MOST_FAULTS = 20
"""Braces that begin no JSON, after which the search ends: an answer may hold a megabyte of them."""

_SCAN = json.JSONDecoder(strict=False).raw_decode


def find_objects(said: Said) -> tuple[dict[str, dict[str, Any]], str]:
    """The JSON objects behind a model's thoughts, each by its text; and what is wrong with one that is not whole."""
    text, found, faults = _spoken(said), dict[str, dict[str, Any]](), list[str]()
    at = text.find("{")
    while at >= 0 and len(faults) < _MOST_FAULTS:
        end = at + 1
        if text[at + 1 : at + 100].lstrip()[:1] in ('"', "}"):
            try:
                value, end = _SCAN(text, at)
                found[text[at:end]] = value
            except json.JSONDecodeError as error:
                is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")
                faults.append("it ends in the middle" if is_cut else error.msg.lower())
            except (ValueError, RecursionError):
                faults.append("it is nested too deeply")
        at = text.find("{", end)
    return found, faults[0] if faults else ""


def read_flow(said: Said) -> tuple[dict[str, Any] | None, list[Finding]]:
    """The flow's document, or a finding that says why there is none. Two different flows are a fault."""
    found, fault = find_objects(said)
    if reason := refusal(said):
        return None, [_finding(f"it says that the task cannot be done: {reason}", "say it in other words")]
    flows = [text for text, value in found.items() if "nodes" in value]
    if len(flows) > 1:
        return None, [_finding(f"it holds {len(flows)} flows", "decide for one")]
    if flows and not (said.is_limited and fault):  # a whole one before the one that was cut is an example
        try:
            return parse_json(flows[0], "the plan"), []
        except (PflowError, RecursionError) as error:
            fault = error.message.partition(": ")[2] if isinstance(error, PflowError) else "it is nested too deeply"
    if fault:
        remedy = "it stopped at its token limit: answer with less" if said.is_limited else _REMEDY
        return None, [_finding(f"its JSON cannot be read: {_shown(fault, 200)}", remedy)]
    text = _spoken(said).strip()
    none = f"it holds no JSON: '{_shown(text)}'" if text else "it is empty"
    return None, [_finding('its JSON has no "nodes"' if found else none)]


def refusal(said: Said) -> str:
    """Why a model says that the task cannot be done; empty where it does not."""
    reasons = [value.get("cannot") for value in find_objects(said)[0].values() if not value.get("nodes")]
    return next((_shown(each, 300) for each in reasons if isinstance(each, str) and each.strip()), "")


def _spoken(said: Said) -> str:
    """What comes after the model's thoughts; nothing where it stopped while it still thought."""
    return said.text.rpartition("</think>")[2].partition("<think>")[0]


def _finding(message: str, remedy: str = _REMEDY) -> Finding:
    return Finding(PL00, PLACE, message, remedy)


def _shown(text: str, longest: int = 80) -> str:
    return shorten(" ".join(clean(text[: longest + 1]).split()), longest)
