"""Judging a changed flow that a model proposed: the limits and the rules, and that what nobody spoke of stays."""

from __future__ import annotations

from pflow.errors import PflowError
from pflow.flow.findings import Finding
from pflow.flow.flow import MAX_VISITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from pflow.flow.flow import Flow
    from pflow.models.talk import Said

    IR = dict[str, Any]

_TRIES = (
    "retr", "try", "tries", "again", "repeat", "fail", "give", "wait", "time", "second", "minute", "visit", "loop",
    "often",
)  # fmt: skip
"""What words begin with that may speak of how often a step runs, and how long."""


class Judge:
    """What is made of a model's answers. `ir` is the last that was a flow, its secrets masked as it came."""

    def __init__(self, flow: Flow, sentence: str) -> None:
        self.flow = flow
        self.sentence = sentence
        self.ir: IR = {}
        self.warnings: list[Finding] = []
        self.let_be = {(each.rule, each.message) for each in _limits(flow)}

    @property
    def digest(self) -> str:
        """What the flow that is changed is known by."""
        import hashlib

        from pflow.flow.unload import canonical_json
        from pflow.plan.change.masks import hidden

        return hashlib.sha256(canonical_json(hidden(self.flow)).encode("utf-8", "surrogatepass")).hexdigest()

    def __call__(self, said: Said) -> tuple[Flow | None, list[Finding]]:
        from pflow.plan.answer import read_flow

        ir, findings = read_flow(said)
        return (None, findings) if ir is None else self.flow_of(ir)

    def flow_of(self, ir: IR) -> tuple[Flow | None, list[Finding]]:
        """The flow of an answer, as far as it is one, and what is wrong with it."""
        try:
            return self._flow_of(ir)
        except PflowError as error:
            return None, [Finding("PL00", ("the answer",), error.message, error.hint)]
        except RecursionError:
            return None, [Finding("PL00", ("the answer",), "it is nested too deeply", "write a plain flow")]

    def _flow_of(self, ir: IR) -> tuple[Flow | None, list[Finding]]:
        from pflow.flow.load import load_document
        from pflow.plan.change.masks import restored
        from pflow.plan.limits import check_document, drop_choices

        self.ir = ir
        loaded = load_document(restored(ir, self.flow), "the answer", self.flow.catalog)
        flow = loaded.flow
        found = [*loaded.findings, *self._new(check_document(flow))]
        if any(not each.is_warning for each in found):
            return (flow if flow.steps else None), [each for each in found if not each.is_warning]
        drop_choices(flow, f"{self.sentence}\n{_choices(self.flow)}")
        self._keep_unsaid(flow)
        findings = self._findings(flow)
        self.warnings = [each for each in findings if each.is_warning and each.rule.startswith("PL")]
        errors = [each for each in findings if not each.is_warning]
        if not errors and self.flow.inputs:
            from pflow.plan.lift import lift

            lift(flow, self.sentence)
        return flow, errors

    def _keep_unsaid(self, flow: Flow) -> None:
        """Let what the sentence does not speak of be what it was: models forget, and a schema may have no room."""
        flow.schema = self.flow.schema
        if not self._speaks_of("name", "rename", "call") or not flow.name:
            flow.name = self.flow.name
        if not self._speaks_of("descri") or not flow.description:
            flow.description = self.flow.description
        if not self._speaks_of("default", "require"):
            _keep_defaults(self.flow, flow)
        if not self._speaks_of(*_TRIES) and flow.max_visits == MAX_VISITS:
            flow.max_visits = self.flow.max_visits
        kept = ["version", *(() if self._speaks_of("descri") else ("description",))]
        kept += [] if self._speaks_of(*_TRIES) else ["retries", "wait", "timeout", "max_visits"]
        before = {(step.id, step.type): step for step in self.flow.steps}
        for step in flow.steps:
            old = before.get((step.id, step.type), step)
            for name in kept:
                setattr(step, name, getattr(step, name) or getattr(old, name))

    def _speaks_of(self, *stems: str) -> bool:
        """Whether a word of the sentence begins so."""
        words = "".join(sign if sign.isalnum() else " " for sign in self.sentence.lower()).split()
        return any(word.startswith(stems) for word in words)

    def _findings(self, flow: Flow) -> list[Finding]:
        from pflow.flow.rules import check
        from pflow.flow.wiring import wire

        findings = check(wire(flow))
        said = {each.place for each in findings if not each.is_warning}
        return [*findings, *_masks(flow), *(each for each in self._new(_limits(flow)) if each.place not in said)]

    def _new(self, findings: Sequence[Finding]) -> list[Finding]:
        """Those that the flow had not before: a person may write what a model may not."""
        return [each for each in findings if (each.rule, each.message) not in self.let_be]


def _keep_defaults(old: Flow, new: Flow) -> None:
    for name, given in new.inputs.items():
        before = old.inputs.get(name)
        if before is not None and before.has_default and not given.has_default:
            given.default, given.has_default, given.required = before.default, True, False


def _limits(flow: Flow) -> list[Finding]:
    from pflow.flow.wiring import wire
    from pflow.plan.limits import check_document, check_limits

    return [*check_document(flow), *check_limits(wire(flow))]


def _choices(flow: Flow) -> str:
    """What the flow says already of whom to ask."""
    from pflow.plan.limits import is_choice

    pairs = [(step, values) for step in flow.steps for values in (step.params, step.inputs)]
    found = [value for step, values in pairs for key, value in values.items() if is_choice(step, key)]
    return "\n".join([str(each) for value in found for each in (value if isinstance(value, list) else [value])])


def _masks(flow: Flow) -> list[Finding]:
    """A finding for each mask that stands where no secret was."""
    from pflow.explain.account import MASK
    from pflow.templates import TEMPLATE

    found = []
    for step in flow.steps:
        for part, values in (("inputs", step.inputs), ("params", step.params), ("mappings", step.input_mappings)):
            for key, value in values.items():
                if value in (MASK, TEMPLATE + MASK):
                    place = (*step.place, part, key) if part != "mappings" else ("mappings", step.id, key)
                    found.append(Finding("PL04", place, "a secret stands for itself only", "leave it out"))
    return found
