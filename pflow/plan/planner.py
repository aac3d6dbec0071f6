"""Planning: a sentence becomes a flow that passes every rule, with a model in between."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pflow.catalog.kinds import forget_kinds
from pflow.errors import BAD_DATA, USAGE, PflowError
from pflow.flow.findings import Finding
from pflow.flow.flow import Flow
from pflow.flow.load import load_document
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire
from pflow.models.choose import NoCapableModel, choose_capable
from pflow.models.talk import Said
from pflow.plan.answer import PL00, PLACE, read_flow
from pflow.plan.building_blocks import Blocks, add_nearest, building_blocks, room_for
from pflow.plan.conversation import TIMEOUT, TRIES, Report, Request, converse_until, count_findings, time_limit
from pflow.plan.declare_inputs import declare_inputs
from pflow.plan.limits import check_document, check_limits, drop_choices
from pflow.plan.prompt import SYSTEM, VERSION, findings_text, plan_schema, task_text
from pflow.plan.secrets import refuse_secrets

if TYPE_CHECKING:
    from pflow.models.choose import Model


import hashlib
from pathlib import Path

from pflow.atomic import replace
from pflow.flow.load import write_json
from pflow.jsontext import decode, encode
from pflow.xdg import cache_directory, read_cached

LONGEST = 20_000
"""Characters of a sentence."""

_LONGEST_NAME = 40


_FORM = "plan 1"
_MOST = 500
"""Plans that are kept; the oldest go first."""


class CachedPlan:
    """The place of one plan, by what it was made of: `blocks` is the digest of the nodes and saved flows."""

    def __init__(self, sentence: str, blocks: str, model: str, prompt: int) -> None:
        self._made_of = {"pflow": _FORM, "sentence": sentence, "nodes": blocks, "model": model, "prompt": prompt}
        folder = cache_directory()
        name = hashlib.sha256(encode(self._made_of)).hexdigest() + ".json"
        self.file = Path(folder, "plans", name) if folder else None
        """None where the environment names no cache."""

    def read(self) -> dict[str, Any] | None:
        """The plan's IR; None where the file is missing, damaged or somebody else's."""
        data = read_cached(str(self.file)) if self.file else None
        try:
            value = decode(data) if data else None
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or {key: value.get(key) for key in self._made_of} != self._made_of:
            return None
        ir = value.get("ir")
        return ir if isinstance(ir, dict) else None

    def write(self, ir: dict[str, Any]) -> None:
        """Keep a plan. A cache that cannot be written is left alone."""
        if self.file is None:
            return
        try:
            data = write_json({**self._made_of, "ir": ir}).encode()
            self.file.parent.mkdir(0o700, parents=True, exist_ok=True)
            replace(str(self.file), data, mode=0o600)
            _prune(self.file.parent)
        except (OSError, UnicodeEncodeError, PflowError):
            return


def _prune(folder: Path) -> None:
    files = [file for file in folder.glob("*.json") if len(file.stem) == 64]
    for file in sorted(files, key=lambda file: file.lstat().st_mtime_ns)[: max(len(files) - _MOST, 0)]:
        file.unlink(missing_ok=True)


@dataclass
class Planned:
    """A flow that passes every rule; `findings` are its warnings.

    `flow.inputs` have the values that the sentence names as their defaults; `flow.description` is the sentence.
    """

    flow: Flow
    findings: list[Finding]
    model: str
    tries: int = 1
    is_remembered: bool = False
    """Whether it was planned before, and no model was asked."""


@dataclass
class _Try:
    """An answer: the IR as the model wrote it, its flow where that passes, and its findings."""

    ir: dict[str, Any]
    flow: Flow | None
    findings: list[Finding]


class Unplannable(PflowError):
    """No try passed. `ir` is the best one as the model wrote it, None where no answer was a flow."""

    def __init__(self, model: str, tries: int, ir: dict[str, Any] | None, findings: list[Finding]) -> None:
        errors = [each for each in findings if not each.is_warning]
        many = f"{tries} tries" if tries > 1 else "one try"
        what = f"its best has {count_findings(errors)}" if ir is not None else f"no flow: {errors[0].message}"
        super().__init__(
            f"cannot plan: no flow of '{model}' passed in {many}; {what}",
            hint="say it in other words, or name another model with --model",
            exit=BAD_DATA,
            details={"tries": tries, "flow": ir, "findings": [each.as_json() for each in findings]},
        )
        self.tries = tries
        self.ir = ir
        self.findings = findings


def plan_sentence(
    sentence: str, *, model: str | None = None, fresh: bool = False, timeout: float | None = None,
    report: Report = lambda line: None, tries: int = TRIES,
) -> Planned:  # fmt: skip
    """Plan. `report` gets short lines on the progress. `timeout` (seconds) is for all but choosing the model.

    Raises PflowError: 65 (an Unplannable) where no try passes the rules, 78 where no model can plan, 124 where the time
    runs out, and what asking a model raises. An answer that the provider refuses, cuts off or fails at is no try: it is
    raised. Whatever else comes back is a try.
    """
    sentence = checked_sentence(sentence)
    seconds = TIMEOUT if timeout is None else timeout
    chosen = _choose_model(model, sentence)  # not on the clock: llm never loads its plugins again when interrupted
    ends_at = time.monotonic() + seconds
    with time_limit(seconds, "plan"):
        forget_kinds()
        blocks = building_blocks(sentence, room_for(chosen))
        cached = CachedPlan(sentence, blocks.digest, chosen.model_id, VERSION)
        if not fresh and (remembered := _remembered(cached, sentence, chosen.model_id)):
            report("planned before: no model is asked")
            return remembered
        planned = _ask(sentence, chosen, blocks, ends_at, report, tries)
        cached.write(flow_to_ir(planned.flow))
        return planned


def checked_sentence(sentence: str, act: str = "plan") -> str:
    """The sentence on one line. Raises PflowError (2) for an empty one, a long one and a secret in it."""
    sentence = " ".join(sentence.split())
    if not sentence:
        raise PflowError(f"cannot {act}: there is no sentence", exit=USAGE)
    if len(sentence) > LONGEST:
        what = f"cannot {act}: the sentence has {len(sentence)} characters, more than {LONGEST}"
        raise PflowError(what, hint="name the file that holds the rest", exit=USAGE)
    try:
        sentence.encode()
    except UnicodeEncodeError:
        raise PflowError(f"cannot {act}: the sentence is not UTF-8", exit=USAGE) from None
    refuse_secrets(act, sentence, "the sentence")
    return sentence


def _choose_model(name: str | None, sentence: str) -> Model:
    try:
        return choose_capable(name)
    except NoCapableModel as error:
        raise add_nearest(error, sentence) from error.__cause__


def _remembered(cached: CachedPlan, sentence: str, model: str) -> Planned | None:
    """The plan in the cache, if it still passes."""
    ir = cached.read()
    flow, findings = judge(ir, sentence) if ir is not None else (None, [])
    return Planned(flow, findings, model, is_remembered=True) if flow is not None else None


def _ask(sentence: str, model: Model, blocks: Blocks, ends_at: float, report: Report, tries: int) -> Planned:
    """Ask, and hand the findings back, until a flow passes. Raises Unplannable."""

    def judge_answer(said: Said) -> tuple[_Try | None, list[Finding]]:
        ir, findings = read_flow(said)
        if ir is None:
            return None, findings
        flow, findings = judge(ir, sentence)
        return _Try(ir, flow, findings), [each for each in findings if flow is None and not each.is_warning]

    request = Request(
        SYSTEM + blocks.text,
        task_text(sentence),
        lambda findings: findings_text(sentence, findings),
        lambda: plan_schema(blocks.types),
    )
    outcome = converse_until(ends_at, model, request, judge_answer, report, tries)
    best: _Try | None = outcome.result
    if best is None or best.flow is None:
        raise Unplannable(
            model.model_id, outcome.tries, best.ir if best else None, best.findings if best else outcome.findings
        )
    return Planned(best.flow, best.findings, model.model_id, tries=outcome.tries)


def judge(document: dict[str, Any], sentence: str) -> tuple[Flow | None, list[Finding]]:
    """The flow, named and with its inputs declared, and its warnings; or None, and what is wrong with it."""
    try:
        return _judge(document, sentence)
    except PflowError as error:
        return None, [Finding(PL00, PLACE, error.message, error.hint)]
    except RecursionError:
        return None, [Finding(PL00, PLACE, "it is nested too deeply", "write a plain flow")]


def _judge(document: dict[str, Any], sentence: str) -> tuple[Flow | None, list[Finding]]:
    loaded = load_document(document, "the plan", FlowCatalog())
    flow = loaded.flow
    if found := check_document(flow):
        return None, [*loaded.findings, *found]
    drop_choices(flow, sentence)
    wired = wire(flow)
    findings = check(wired, loaded.findings)
    broken = {each.place for each in findings if not each.is_warning}
    limits = [each for each in check_limits(wired) if each.place not in broken]
    if any(not each.is_warning for each in [*findings, *limits]):
        return None, [*findings, *limits]
    flow.name = short_name(flow.name) or short_name(sentence) or "plan"
    flow.description = sentence
    planned = declare_inputs(wired, sentence)
    return planned.flow, [*check(planned), *limits]


def short_name(text: str) -> str:
    """A text as the name of a flow: small ASCII words with - between them."""
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in text.lower()).split()
    name = ""
    for word in words:
        if len(name) + len(word) >= _LONGEST_NAME:
            break
        name = f"{name}-{word}" if name else word
    return name or (words[0][:_LONGEST_NAME] if words else "")
