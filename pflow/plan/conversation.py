"""A conversation with a model until its answer passes: three tries with the findings, or four draws with grammars.

The answer is a flow in pipe syntax or one JSON object, which may stand in a fence or among prose.
"""

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from pflow.catalog.find import Catalog
from pflow.errors import PflowError, result_of, shorten
from pflow.flow.findings import Finding, errors_of
from pflow.flow.ir import flow_to_ir
from pflow.flow.load import parse_json
from pflow.flow.pipe.read import parse_pipe
from pflow.flow.pipe.scan import is_misspelt_step, is_pipe_text, names_node
from pflow.flow.subflow import FlowCatalog
from pflow.models.ask import ModelAnswer, ask_after
from pflow.models.choose import Model
from pflow.models.local import in_talk
from pflow.models.request_form import takes_grammar
from pflow.models.schema import Unfit, read_answer
from pflow.plan.limits import refuse_secrets
from pflow.plan.meaning import NO_PROGRAM
from pflow.plan.prompt import CANNOT, Prompt
from pflow.process.signals import Deadline
from pflow.process.streams import Diverted
from pflow.text.printable import clean, counted
from pflow.values.json_input import fences
from pflow.values.jsontext import compact
from pflow.values.paths import Path, look_up
from pflow.values.usage import Calls

Report = Callable[[str], None]
Judge = Callable[[ModelAnswer], tuple[Any, list[Finding]]]
"""A function that judges an answer. It returns the result, None if it is unusable, and the findings: errors, or only
doubts if the answer passes."""

PL00 = "PL00"
PLACE = ("the answer",)

_REMEDY = "answer with one line: a flow, a => b, or cannot: why"
_OF_JSON = 'answer with one JSON object that has "nodes", and nothing else'
_TOO_DEEP = "it is nested too deeply"
_IR = {"type": "object", "required": ["nodes"]}
_CUT = "it stopped at its token limit: answer with less"
_LONGEST_SEARCHED = 20_000
"""Characters that are searched for lines, since an answer may be a megabyte long."""

TRIES = 3
TIMEOUT = 300.0
"""The seconds for all tries, by default."""


_DRAWS = 2
"""The number of answers that a model draws with each grammar, if it takes grammars. Such models are small: a correction
helped them in none of forty plans. It takes ten times as long as another draw, for which the prompt is read already.
"""


@dataclass
class UserTurns:
    """The user turns of a conversation and the grammars of their answers, each by attempt (0, 1, 2).

    `calls` allows each call of the model.
    """

    prompt: Prompt
    first: Callable[[int], str]
    grammar: Callable[[int], str] = lambda attempt: ""
    calls: Calls = field(default_factory=Calls)

    def correction(self, attempt: int, said: ModelAnswer, findings: Sequence[Finding]) -> str:
        """Return the user turn after a wrong answer. It is complete, so that no earlier turn is sent again."""
        document = read_plan(said, FlowCatalog())[0] or {}
        found = [each.at(_place_in_line(each.location, document), each.message, each.remedy) for each in findings]
        return self.prompt.correction(self.first(attempt), plan_line(said) or said.value.strip(), found)


def _place_in_line(place: Path, document: dict[str, Any]) -> Path:
    """Return a finding's place as the id of its step and the flag, such as `read-file.path`, which a line has."""
    id = result_of(look_up, document, (*place[:2], "id"), of=PflowError, otherwise=None)
    return tuple(part for part in ((str(id), *place[2:]) if id else place) if part not in _OF_IR)


_OF_IR = ("nodes", "mappings", "inputs", "params", "input_mappings", "output_mappings", "type", "id")


@dataclass
class ConversationResult:
    """The answer that passed, else the best one: its `line`, `result` and findings, and the number of tries."""

    line: str = ""
    result: Any = None
    findings: list[Finding] = field(default_factory=list)
    tries: int = 0

    @property
    def is_right(self) -> bool:
        return self.result is not None and not errors_of(self.findings)

    def take(self, line: str, result: Any, findings: list[Finding]) -> None:
        """Keep an answer if it is better than the kept one, or as good and the kept one does not pass.

        A plan with doubts never replaces one whose program is missing: when it is asked again, a small model takes any
        program that is installed, whatever the sentence says.
        """
        if findings and any(each.rule == NO_PROGRAM for each in self.findings):
            return
        old, new = (
            (each is None, len(errors_of(faults)), len(faults))
            for each, faults in ((self.result, self.findings), (result, findings))
        )
        if self.tries == 1 or new < old or (new == old and not self.is_right):
            self.line, self.result, self.findings = line, result, findings


def converse(
    model: Model, turns: UserTurns, judge: Judge, report: Report, timeout: float | None = None
) -> ConversationResult:
    """Ask until an answer passes or the same findings come again. If an answer only has doubts, ask once more.

    `timeout` (seconds) is for all tries, `report` gets short lines on the progress.

    Raises PflowError: 2 for a secret in the task, 124 when the time runs out, the errors of asking a model, and, if no
    answer was usable, the reason why the last answer has no text.
    """
    refuse_secrets(f"ask '{model.model_id}'", (text := turns.first(0)), "the sentence or the flow")
    best, heard = ConversationResult(), list[set[str]]()
    limit = TIMEOUT if timeout is None else timeout
    deadline = Deadline(limit, "--timeout", act=f"cannot ask '{model.model_id}'")
    with Diverted(), deadline, in_talk(model) as asked:  # libraries write to stdout
        is_constrained = bool(turns.grammar(0)) and takes_grammar(asked)
        tries = TRIES + is_constrained
        for attempt in range(tries):
            was_right = best.is_right
            best.tries += 1
            report(f"asking {model.model_id}" + (f" again, try {best.tries} of {tries}" if attempt else ""))
            grammar = turns.grammar(attempt // _DRAWS) if is_constrained else ""
            said = ask_after(asked, turns.prompt.system, text, turns.calls, grammar, attempt)
            result, findings = judge(said)
            best.take(plan_line(said), result, findings)
            report(count_findings(findings)) if findings else None
            is_over = was_right or {*map(str, findings)} in heard
            if is_constrained:  # no node can do the task, and another draw would name any program that exists
                is_over = CANNOT in text and any(each.rule == NO_PROGRAM for each in findings)
            if not findings or is_over or (refusal(said) and not (is_constrained and attempt)):
                break
            heard.append({*map(str, findings)})
            text = text if is_constrained else turns.correction(best.tries, said, findings)
    if best.result is None and said.no_text:
        said.no_text.hint = "try again, or name another model with --model"
        raise said.no_text
    return best


def count_findings(findings: Sequence[Finding]) -> str:
    """Return the number of findings and the first one, in a line."""
    what = "fault" if errors_of(findings) else "doubt"
    return f"{counted(len(findings), what)}, the first: {shorten(str(findings[0]), 160)}"


def read_plan(said: ModelAnswer, catalog: Catalog) -> tuple[dict[str, Any] | None, list[Finding]]:
    """Return the flow's document, or a finding with the reason why there is none, such as two different flows."""
    if reason := refusal(said):
        return None, [_finding(f"it says that the task cannot be done: {reason}", "say it in other words")]
    text, lines = said.value.strip(), _find_lines(said)
    if len(lines) > 1:
        return None, [_finding(f"it holds {len(lines)} flows", "choose one")]
    if lines:
        return _read_line(lines[0], said, catalog)
    if '"nodes"' in text:
        try:
            return parse_json(compact(read_answer(text, _IR, "")), "the plan"), []
        except PflowError as error:
            why = error.why if isinstance(error, Unfit) else error.message.partition(": ")[2]
            remedy = _CUT if said.is_limited else _OF_JSON
            return None, [_finding(f"its JSON cannot be read: {_shown(why, 200)}", remedy)]
    empty = said.no_text.message.partition("': ")[2] if said.no_text else "it is empty"
    none = f"it holds no flow: '{_shown(text)}'" if text else empty
    return None, [_finding(none, _CUT if said.is_limited else _REMEDY)]


def plan_line(said: ModelAnswer) -> str:
    """Return an answer's flow in pipe syntax; "" if it has none or several."""
    lines = _find_lines(said)
    return lines[0] if len(lines) == 1 else ""


def _read_line(line: str, said: ModelAnswer, catalog: Catalog) -> tuple[dict[str, Any] | None, list[Finding]]:
    if said.is_limited and said.value.rstrip().endswith(line.splitlines()[-1]):
        return None, [_finding("its flow ends in the middle", _CUT)]
    catalog = copy(catalog)
    catalog.opens_files = False  # otherwise --text@FILE would put a file's text into the plan, which the model may see
    try:
        return flow_to_ir(parse_pipe([line], catalog)), []
    except PflowError as error:
        return None, [_finding(error.message, error.hint)]
    except RecursionError:
        return None, [_finding(_TOO_DEEP, "write a plain flow")]


_BROKEN = re.compile(r"\\?\n[ \t]*+(?==[\w-]*=?> )")
"""A line break before a separator, where the flow goes on. The possessive *+ is needed for answers with many blank
lines: 18,000 of them took minutes."""
_AHEAD = re.compile(r"(?:[^\"'=`|#\n]{0,80}:(?=[\s*`]))?[\s*`$]*")
"""Text that may stand before a flow on its line: words that end in a colon, Markdown, the prompt of a shell."""


def _find_lines(said: ModelAnswer) -> list[str]:
    """Return the different flows in pipe syntax: those in code fences, else those that fill whole lines."""
    text = said.value.partition("\nTask:")[0]  # after its answer, a small model invents another task
    text = text[:_LONGEST_SEARCHED].encode("utf-8", "replace").decode()
    fenced = dict.fromkeys(_bare(text[start:end]) for _, start, end in fences(text))
    lines = dict.fromkeys(map(_bare, _BROKEN.sub(" ", text).splitlines()))
    flows = ["\n".join(group) for is_flow, group in groupby(lines, _begins) if is_flow]
    return [*filter(_begins, fenced)] or flows


def _bare(text: str) -> str:
    return _AHEAD.sub("", text, count=1).rstrip("` \n")


def _begins(line: str) -> bool:
    bare = line.lstrip("( ")
    return is_pipe_text(bare) or is_misspelt_step(bare) or names_node(bare)


def refusal(said: ModelAnswer) -> str:
    """Return the model's reason why the task cannot be done; empty if it does not refuse."""
    why = _CANNOT.search(said.value.partition("\nTask:")[0])
    return _shown(why[1], 300) if why else ""


_CANNOT = re.compile(r"^[^\w\n]{0,9}(?:flow:[^\w\n]{0,9})?cannot: *([^\s`*].*)", re.IGNORECASE | re.MULTILINE)


def _finding(message: str, remedy: str = _REMEDY) -> Finding:
    return Finding(PL00, PLACE, message, remedy)


def _shown(text: str, longest: int = 80) -> str:
    return shorten(" ".join(clean(text[: longest + 1]).split()), longest)
