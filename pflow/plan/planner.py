"""Make a flow from a sentence with a model, until it passes every rule; plans are cached."""

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from pflow.catalog.find import Catalog, forget_types
from pflow.errors import BAD_DATA, USAGE, PflowError, result_of
from pflow.files.atomic import write_cached
from pflow.files.directories import cache_directory, read_cached
from pflow.flow.findings import Finding, errors_of
from pflow.flow.flow import FlowSpec
from pflow.flow.ir import flow_to_ir, load_document
from pflow.flow.rules import check
from pflow.flow.subflow import FlowCatalog
from pflow.flow.wired_flow import WiredFlow
from pflow.flow.wiring import wire
from pflow.models.ask import ModelAnswer
from pflow.models.choose import Model, NoCapableModel, choose_capable
from pflow.plan.conversation import PL00, PLACE, Report, UserTurns, converse, count_findings, plan_line, read_plan
from pflow.plan.grammar import plan_grammar
from pflow.plan.inputs import Piped, check_piped, declare_inputs, declare_keys, declare_piped
from pflow.plan.limits import LIMITS, check_document, check_limits, drop_choices, refuse_secrets
from pflow.plan.meaning import doubts, pruned
from pflow.plan.prompt import add_nearest, plan_prompt
from pflow.values.digest import bytes_digest
from pflow.values.fast_json import write_json
from pflow.values.jsontext import decode, encode
from pflow.values.usage import Calls

LONGEST = 20_000
"""The most characters of a sentence."""

_LONGEST_NAME = 40
_FORM = "plan 3"
_MOST = 500
"""The most plans in the cache; the oldest are removed first."""


class CachedPlan:
    """The cache file of a plan. `prompt` is the digest of the model's prompt, `piped` the form of the piped input."""

    def __init__(self, sentence: str, prompt: str, model: str, piped: Any = None) -> None:
        name = bytes_digest(encode([_FORM, sentence, prompt, model, piped])) + ".json"
        self.file = Path(cache_directory() or "/dev/null", "plans", name)  # without a cache: no such file

    def read(self) -> dict[str, Any] | None:
        """Return the plan's IR; None if the file is missing, damaged or another user's."""
        content = read_cached(str(self.file)) or b""
        ir = result_of(decode, content, of=(ValueError, RecursionError), otherwise=None)
        return ir if isinstance(ir, dict) else None

    def write(self, ir: dict[str, Any]) -> None:
        """Keep a plan; do nothing if the cache cannot be written."""
        with suppress(OSError, UnicodeEncodeError, PflowError):
            write_cached(str(self.file), write_json(ir).encode())
            _prune(self.file.parent)


def _prune(folder: Path) -> None:
    files = [file for file in folder.glob("*.json") if len(file.stem) == 64]  # the name of a plan is a digest
    for file in sorted(files, key=lambda file: file.lstat().st_mtime_ns)[: max(len(files) - _MOST, 0)]:
        file.unlink(missing_ok=True)


class Unplannable(PflowError):
    """Raised if every try has failed. `draft` is the text of the best try: its `line`, else its `ir`, else empty."""

    def __init__(self, model: str, tries: int, line: str, ir: dict[str, Any] | None, findings: list[Finding]) -> None:
        errors = errors_of(findings)
        many = f"{tries} tries" if tries > 1 else "one try"
        what = f"its best has {count_findings(errors)}" if ir is not None else f"no flow: {errors[0].message}"
        shown = {"flow": ir, "line": line, "findings": [each.as_json() for each in findings]}
        super().__init__(
            f"cannot plan: no flow of '{model}' passed in {many}; {what}",
            hint="say it in other words, or name another model with --model",
            exit=BAD_DATA,
            details={"tries": tries, **shown},
        )
        self.draft = line or (write_json(ir) if ir is not None else "")
        self.findings = findings


def plan_sentence(
    sentence: str, *, model: str | None = None, fresh: bool = False, timeout: float | None = None,
    report: Report = lambda line: None, piped: Piped | None = None, calls: Calls | None = None,
) -> FlowSpec:  # fmt: skip
    """Return a flow that passes every rule. The values that the sentence names are its inputs.

    `report` gets short lines on the progress, and the warnings of the limits; `calls` allows each call of the model.
    `timeout` (seconds) is for all tries.

    Raises PflowError: 65 (Unplannable) if no try passes the rules, 78 if no model can plan, 124 when the time runs out,
    and the errors of asking a model. A refusal, an answer truncated before its text or a failure of the provider is
    raised at once; any other answer counts as a try.
    """
    sentence = checked_sentence(sentence)
    chosen = _choose_model(model, sentence)
    forget_types()
    prompt = plan_prompt()
    cached = CachedPlan(sentence, prompt.digest, chosen.model_id, piped and piped.form)
    ir = None if fresh else cached.read()
    flow, findings = judge(ir, sentence, piped) if ir is not None else (None, [])
    if flow is not None:
        report("planned before: no model is asked")
    else:
        turns = UserTurns(
            prompt,
            lambda attempt: prompt.user_turn(sentence, piped, attempt=attempt),
            lambda attempt: plan_grammar(
                prompt.kinds if attempt else prompt.likely_types(sentence),
                sentence,
                shown=prompt.user_turn(sentence),
                is_piped=piped is not None,
                is_strict=not attempt,
            ),
            calls or Calls(),
        )
        outcome = converse(chosen, turns, lambda said: _judge_answer(said, sentence, piped), report, timeout)
        ir, flow, findings = outcome.result or (None, None, outcome.findings)
        if flow is None:
            raise Unplannable(chosen.model_id, outcome.tries, outcome.line, ir, findings)
        if not flow.guess:  # the cache keeps no guess, so a cached plan would lose the warning about it
            cached.write(flow_to_ir(flow))
    for each in findings:
        report(str(each))
    return flow


def checked_sentence(sentence: str, act: str = "plan") -> str:
    """Return the sentence on one line. Raises PflowError (2) for an empty or long one, and for a secret in it."""
    sentence = " ".join(sentence.split())
    if not sentence:
        raise PflowError(f"cannot {act}: the sentence is missing", exit=USAGE)
    if len(sentence) > LONGEST:
        what = f"cannot {act}: the sentence has {len(sentence)} characters, more than {LONGEST}"
        raise PflowError(what, hint="put the rest into a file and name it", exit=USAGE)
    if not result_of(sentence.encode, of=UnicodeEncodeError, otherwise=b""):
        raise PflowError(f"cannot {act}: the sentence is not UTF-8", exit=USAGE)
    refuse_secrets(act, sentence, "the sentence")
    return sentence


def _choose_model(name: str | None, sentence: str) -> Model:
    try:
        return choose_capable(name)
    except NoCapableModel as error:
        raise add_nearest(error, sentence) from error.__cause__


def _judge_answer(said: ModelAnswer, sentence: str, piped: Piped | None) -> tuple[Any, list[Finding]]:
    """Return a result, which is the model's IR, the flow and all findings; and the findings that count for the try.

    These are the doubts if there is a flow, else the errors.
    """
    ir, findings = read_plan(said, FlowCatalog())
    if ir is None:
        return None, findings
    flow, findings = judge(ir, sentence, piped, said.guess or _guessed_beginning(said))
    return (ir, flow, findings), findings if flow else errors_of(findings)


_MIGHT = 0.01
"""If a refusal was more probable than this, the first word of an answer is a guess."""


def _guessed_beginning(said: ModelAnswer) -> str:
    """Return the first word of the plan if the answer might have been a refusal instead; else ""."""
    might = [share for word, share in said.first_tokens.items() if word[2:] and "cannot".startswith(word)]
    return plan_line(said).partition(" ")[0] if sum(might) > _MIGHT else ""


def judge(
    document: dict[str, Any], sentence: str, piped: Piped | None = None, guess: str = ""
) -> tuple[FlowSpec | None, list[Finding]]:
    """Return the flow with a name and inputs, and the warnings of the limits; if it has errors, None and findings."""

    def adjust(flow: FlowSpec) -> None:
        flow.guess = guess
        drop_choices(flow, sentence)
        declare_keys(flow, piped)

    wired, findings = check_answer(document, FlowCatalog(), adjust)
    if wired is not None and not errors_of(findings):
        wired = declare_piped(wire(pruned(wired)), piped)
        findings += [*check_piped(wired, piped), *doubts(wired, sentence)]
    if wired is None or errors_of(findings):
        return None, findings
    wired.flow.name = short_name(wired.flow.name) or short_name(sentence) or "plan"
    wired.flow.description = sentence
    return declare_inputs(wired, sentence).flow, [each for each in findings if each.rule in LIMITS]


def check_answer(
    document: dict[str, Any], catalog: Catalog, adjust: Callable[[FlowSpec], None], known: Collection[str] = ()
) -> tuple[WiredFlow | None, list[Finding]]:
    """Load and check a model's document; return the wired flow, None if it cannot be loaded, and all findings.

    `adjust` may change the flow before it is wired. Findings of the limits with `known` messages are left out.
    """
    try:
        flow = load_document(document, "the plan", catalog)
        if found := [each for each in check_document(flow) if each.message not in known]:
            return None, [*flow.findings, *found]
        adjust(flow)
        dialect, flow.dialect = flow.dialect, "pipe"  # the model writes pipe syntax, so remedies have to name flags
        wired = wire(flow)
        findings = check(wired)
        broken = {each.location for each in errors_of(findings)}
        limits = [each for each in check_limits(wired) if each.location not in broken and each.message not in known]
        flow.dialect = dialect
        worse = {(each.rule, each.location) for each in errors_of(limits)}
        return wired, [*(each for each in findings if (each.rule, each.location) not in worse), *limits]
    except PflowError as error:
        return None, [Finding(PL00, PLACE, error.message, error.hint)]
    except RecursionError:
        return None, [Finding(PL00, PLACE, "it is nested too deeply", "write a plain flow")]


def short_name(text: str) -> str:
    """Make a flow's name from a text: lower-case ASCII words with - between them."""
    words = re.findall("[a-z0-9]+", text.lower())
    name = "-".join(words)
    while len(words) > 1 and len(name) > _LONGEST_NAME:
        name = "-".join(words := words[:-1])
    return name[:_LONGEST_NAME]
