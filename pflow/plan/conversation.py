"""A conversation with a model until its answer passes: findings go back to it, three tries in all.

The answer is a flow in pipe syntax or one JSON object, which may stand among prose, fences and other JSON.
"""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from pflow.catalog.kinds import Catalog
from pflow.errors import PflowError, shorten
from pflow.flow.findings import Finding
from pflow.flow.load import parse_json
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.unload import flow_to_ir
from pflow.models.ask import Answer, Talk
from pflow.models.choose import Model, is_small
from pflow.plan.flow_lines import find_flows, in_shell_quotes
from pflow.plan.limits import refuse_secrets
from pflow.process.signals import Deadline
from pflow.process.streams import Diverted
from pflow.values.jsontext import plain_words
from pflow.words.budget import Calls
from pflow.words.printable import clean, counted

Report = Callable[[str], None]
Judge = Callable[[Answer], tuple[Any, list[Finding]]]
"""Judges an answer: its result (None if it is unusable), and its faults (empty if it passes)."""

PL00 = "PL00"
PLACE = ("the answer",)

_REMEDY = "answer with one line: a flow, a => b, or cannot: why"
_OF_JSON = 'answer with one JSON object that has "nodes", and nothing else'
_TOO_DEEP = "it is nested too deeply"
_CUT = "it stopped at its token limit: answer with less"
_MOST_FAULTS = 20
"""Braces that do not begin JSON, after which the search ends: an answer may hold a megabyte of them."""

_SCAN = json.JSONDecoder(strict=False).raw_decode


TRIES = 3
TIMEOUT = 300.0
"""Seconds that all tries may take by default."""

_LONGEST = 1e8
"""The most seconds that a timer can be set to."""


class _Refusal(BaseModel, str_strip_whitespace=True):
    """An answer in place of a flow, which says why there is none."""

    cannot: str = Field(min_length=1)
    nodes: list[Any] | None = Field(None, max_length=0)


@dataclass
class PlanRequest:
    """A task for a model: the `system` text, the `task`, the text for findings, and the `schema` of an answer.

    `calls` let each call of the model begin.
    """

    system: str
    task: str
    correction_text: Callable[[Sequence[Finding]], str]
    schema: dict[str, Any]
    calls: Calls = field(default_factory=Calls)


@dataclass
class ConversationResult:
    """The answer that passed, else the best: its `result`, its findings, and the number of tries."""

    result: Any = None
    findings: list[Finding] = field(default_factory=list)
    tries: int = 0

    @property
    def is_right(self) -> bool:
        return self.result is not None and not self.findings


def converse(
    model: Model, request: PlanRequest, judge: Judge, report: Report, timeout: float | None = None, tries: int = TRIES
) -> ConversationResult:
    """Ask until an answer passes. `timeout` (seconds) is for all tries, `report` gets short lines on the progress.

    Raises PflowError: 2 for a secret in the task, 124 when the time runs out, what asking a model raises, and, if no
    answer was of use and the last has no text, why.
    """
    refuse_secrets(f"ask '{model.model_id}'", request.task, "the sentence or the flow")
    seconds = TIMEOUT if timeout is None else timeout
    best, text = ConversationResult(), request.task
    deadline = Deadline(min(seconds, _LONGEST), "--timeout", act=f"cannot ask '{model.model_id}'")
    with Diverted(), deadline, Talk(model, request.system, request.calls) as talk:  # no library may write to stdout
        schema = None if is_small(model) else request.schema
        while best.tries < tries and not best.is_right:
            best.tries += 1
            report(f"asking {model.model_id}" + (f" again, try {best.tries} of {tries}" if best.tries > 1 else ""))
            said = talk.say(text, schema=schema)
            result, findings = judge(said)
            if best.tries == 1 or (result is None, len(findings)) <= (best.result is None, len(best.findings)):
                best.result, best.findings = result, findings
            if findings:
                report(count_findings(findings))
                if refusal(said):
                    break
            text = request.correction_text(findings)
    if best.result is None and said.none:
        said.none.hint = "try again, or name another model with --model"
        raise said.none
    return best


def count_findings(findings: Sequence[Finding]) -> str:
    """Return the number of faults and the first one, in a line."""
    return f"{counted(len(findings), 'fault')}, the first: {shorten(str(findings[0]), 160)}"


def find_objects(said: Answer) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the JSON objects after a model's thoughts, each by its text, and the fault of the first broken one."""
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
                faults.append("it ends in the middle" if is_cut else plain_words(error.msg))
            except (ValueError, RecursionError):
                faults.append("it is nested too deeply")
        at = text.find("{", end)
    return found, faults[0] if faults else ""


def read_plan(said: Answer, catalog: Catalog) -> tuple[dict[str, Any] | None, list[Finding]]:
    """Return the flow's document, or a finding that says why there is no flow. Two different flows are a fault."""
    found, fault = find_objects(said)
    if reason := refusal(said):
        return None, [_finding(f"it says that the task cannot be done: {reason}", "say it in other words")]
    lines = find_flows(_spoken(said))
    flows = [text for text, value in found.items() if "nodes" in value and not any(text in line for line in lines)]
    if len(flows or lines) > 1:
        return None, [_finding(f"it holds {len(flows or lines)} flows", "choose one")]
    if lines and not flows:
        return _read_line(lines[0], said, catalog)
    if flows and not (said.is_limited and fault):  # a whole flow before one that was cut is an example
        try:
            return parse_json(flows[0], "the plan"), []
        except (PflowError, RecursionError) as error:
            fault = error.message.partition(": ")[2] if isinstance(error, PflowError) else _TOO_DEEP
    if fault:
        return None, [_finding(f"its JSON cannot be read: {_shown(fault, 200)}", _CUT if said.is_limited else _OF_JSON)]
    text = _spoken(said).strip()
    empty = said.none.message.partition("': ")[2] if said.none else "it is empty"
    none = f"it holds no flow: '{_shown(text)}'" if text else empty
    return None, [_finding('its JSON has no "nodes"' if found else none, _CUT if said.is_limited else _REMEDY)]


def plan_line(said: Answer) -> str:
    """Return an answer's flow in pipe syntax; "" if it has none, or several."""
    lines = find_flows(_spoken(said))
    return lines[0] if len(lines) == 1 else ""


def _read_line(line: str, said: Answer, catalog: Catalog) -> tuple[dict[str, Any] | None, list[Finding]]:
    if said.is_limited and said.response.rstrip().endswith(line.splitlines()[-1]):
        return None, [_finding("its flow ends in the middle", _CUT)]
    catalog = copy(catalog)
    catalog.opens_files = False  # else --text@FILE would put a file into the plan, and so before the model
    try:
        return flow_to_ir(parse_pipe([in_shell_quotes(line)], catalog)), []
    except PflowError as error:
        return None, [_finding(error.message, error.hint)]
    except RecursionError:
        return None, [_finding(_TOO_DEEP, "write a plain flow")]


def refusal(said: Answer) -> str:
    """Return the model's reason why the task cannot be done; empty if it gives no reason."""
    for value in find_objects(said)[0].values():
        with suppress(ValidationError):
            return _shown(_Refusal.model_validate(value).cannot, 300)
    why = _CANNOT.search(_spoken(said).partition("\nTask:")[0])
    return _shown(why[1], 300) if why else ""


_CANNOT = re.compile(r"^[^\w\n]{0,9}(?:flow:[^\w\n]{0,9})?cannot: *([^\s`*].*)", re.IGNORECASE | re.MULTILINE)


def _spoken(said: Answer) -> str:
    """Return the text after the model's thoughts; empty if it stopped while thinking."""
    text: str = said.response
    return text.rpartition("</think>")[2].partition("<think>")[0]


def _finding(message: str, remedy: str = _REMEDY) -> Finding:
    return Finding(PL00, PLACE, message, remedy)


def _shown(text: str, longest: int = 80) -> str:
    return shorten(" ".join(clean(text[: longest + 1]).split()), longest)
