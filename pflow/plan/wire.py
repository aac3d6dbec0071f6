"""pflow plan --wire: add mappings for reads that have no source, or a wrong one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pflow.flow.expressions import NO, YES, fits, source_of
from pflow.flow.findings import Finding, errors_of
from pflow.flow.ir import masked_ir
from pflow.flow.pipe.carry import STDIN, carried_into, is_certain
from pflow.flow.rules import check
from pflow.flow.rules.answers import dropped_answers, newer_source
from pflow.flow.rules.params import unset_params
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.flow.wiring import wire
from pflow.interface.interface import Field
from pflow.models.ask import ModelAnswer
from pflow.models.choose import NoCapableModel, choose_capable
from pflow.plan.change import Change, ChangeOptions, FlowFile, change_error, open_flow, say
from pflow.plan.conversation import UserTurns, converse
from pflow.plan.prompt import interfaces_text, plan_prompt
from pflow.values.fast_json import write_json
from pflow.values.jsontext import quote
from pflow.values.paths import Path, write_path
from pflow.values.types import Type

_TASK = """\
A flow:
{flow}
Its nodes:
{nodes}
Some reads of its steps want a source, which is one of those that are named for the read:
{reads}

Write STEP.READ = SOURCE; for each of these reads, instead of a flow. One that may be left out needs none.
"""
_DEPTH = 3
"""The most levels of a type's fields that are candidates."""
_MOST = 40
"""The most candidates of one read for a model to choose from."""


@dataclass
class Gap:
    """A read without a mapping, the types of its candidates by their paths, and the chosen `source`.

    If it `is_needed`, the flow breaks a rule without a source.
    """

    step: str
    field: Field
    candidates: dict[Path, Type]
    is_needed: bool = True
    source: str | list[str] = ""
    why: str = ""

    @property
    def place(self) -> Path:
        return "mappings", self.step, "input_mappings", self.field.name

    @property
    def texts(self) -> list[str]:
        return list(map(write_path, self.candidates))[:_MOST]

    def __str__(self) -> str:
        return f"{self.step}.{self.field.name}"

    def of_type(self) -> list[Path]:
        """Return the candidates of exactly the type that the read declares."""
        return [path for path, type in self.candidates.items() if type.name == self.field.type.name]

    def choices(self) -> str:
        shown = [f"{write_path(path)} ({type.name})" for path, type in self.candidates.items()][:_MOST]
        return "it could be " + ", ".join(shown) if shown else "nothing fits"


class Wiring:
    """A flow that is being wired: the gaps that are `filled`, the gaps that are `left`, and the flow's errors."""

    def __init__(self, old: WiredFlow) -> None:
        self.old, self.flow = old, mapped(old, [])
        self.filled: list[Gap] = []
        self.left: list[Gap] = []
        self.errors = errors_of(check(self.flow))
        self.carriers, self.surely_fed = carried_into(old)
        self.dropped = dropped_answers(old)
        self.is_closed = not any(each.node_type is None or each.interface.open for each in old.steps.values())

    def fill(self) -> None:
        """Fill the gaps that have one clear source. Begin at the last step: its mappings use up earlier writes."""
        for id in reversed(self.flow.graph.order):
            for field in reversed(self.flow.steps[id].interface.reads.values()):
                gap = self._gap(self.flow.steps[id], field)
                if gap is not None and not (gap.source and self.add([gap])) and (gap.is_needed or gap.of_type()):
                    self.left.insert(0, gap)

    def add(self, gaps: Sequence[Gap]) -> bool:
        """Add mappings to the flow and return True, unless they break a rule that the flow does not break now."""
        flow = mapped(self.flow, gaps)
        errors = errors_of(check(flow))
        if {(each.rule, each.location) for each in errors} - {(each.rule, each.location) for each in self.errors}:
            return False
        self.filled += gaps
        self.flow, self.errors = flow, errors
        for each in gaps:
            say(f"{each} ← {each.source if isinstance(each.source, str) else ' or '.join(each.source)}: {each.why}")
        return True

    def _gap(self, wired: WiredStep, field: Field) -> Gap | None:
        """Return the gap at a read, with a source if its name, the pipe or its type decide it; None without a gap."""
        step, key, inputs = wired.step, field.name, self.flow.flow.inputs
        gap = Gap(wired.id, field, self._candidates(wired, field), is_needed=bool(inputs))
        if key in step.input_mappings:  # a person wrote it on purpose, so its source must be chosen, not guessed
            gap.is_needed = True
            return gap if any(each.location == gap.place for each in self.errors) and key not in step.inputs else None
        is_item = step.batch is not None and key == step.batch.item
        if is_item or key in step.inputs or key in step.params or self.flow.first_read == (wired.id, key):
            return None
        if "explicit" in field.marks:
            return (self._by_name(gap) or gap) if field.required and inputs else None
        if not self.is_closed:
            return None
        if key in inputs or not field.required or self.flow.writes_at(wired.id, (key,)):
            return self._by_unused_write(gap)
        by_type = gap.of_type() if gap.is_needed else []
        return self._by_name(gap) or self._by_pipe(gap) or _only(gap, by_type, "it is the only one of the type") or gap

    def _candidates(self, wired: WiredStep, field: Field) -> dict[Path, Type]:
        """Return the sources that a read has on every path to its step: inputs, then writes, latest first.

        An [explicit] read, such as a file's path or a command, has only inputs: no step's result may decide it.
        """
        parts = [part for whole in self._sources(wired, field) for part in _parts(*whole)]
        written = wired.step.input_mappings.get(field.name)
        return {path: type for path, type in parts if fits(type, field.type) != NO and write_path(path) != written}

    def _sources(self, wired: WiredStep, field: Field) -> Iterator[tuple[Path, Type]]:
        if wired.step.batch is not None:
            yield (wired.step.batch.item,), wired.item_type
        for name in self.flow.flow.inputs:
            each = self.flow.inputs[name]
            if not each.secret and (each.required or each.has_default):
                yield (name,), each.type
        for id in [] if "explicit" in field.marks else reversed(self.flow.graph.order):
            for write in self.flow.writes[id] if is_certain(self.flow, {id}, wired.id) else ():
                if write.field is not None and not write.field.is_secret:
                    yield (id, write.key), self.flow.write_type(write)

    def _by_name(self, gap: Gap) -> Gap | None:
        named = [path for path in gap.candidates if path[-1] in {gap.field.name, *gap.field.flags}]
        return _only(gap, [path for path in named if len(path) < 3] or named, "it has the read's name")

    def _by_pipe(self, gap: Gap) -> Gap | None:
        """Fill the gap with the value that a pipe would carry there: several paths if several branches lead there."""
        carriers = self.carriers[gap.step]
        if "pipe" not in gap.field.marks or gap.step not in self.surely_fed or STDIN in carriers:
            return None
        carried = [
            each for id in carriers for each in self.flow.writes[id] if each.field and "pipe" in each.field.marks
        ]
        types = [self.flow.write_type(each) for each in carried if each.field and not each.field.is_secret]
        if len(types) < len(carriers) or not all(fits(type, gap.field.type) == YES for type in types):
            return None
        gap.source, gap.why = source_of((each.step, each.key) for each in carried), "it is what the pipe carries there"
        return gap

    def _by_unused_write(self, gap: Gap) -> Gap | None:
        """Fill the gap with an unused write, if the read now takes an older value or no value (PF18)."""
        for dropped in [*self.dropped, *dropped_answers(self.flow)]:
            if (dropped.reader, dropped.field.name) == (gap.step, gap.field.name):
                gap.source, gap.why = newer_source(self.flow, dropped) or "", "it is what the pipe carries there"
                return gap if gap.source else None
        return None

    def ask(self, file: FlowFile, options: ChangeOptions) -> None:
        """Ask a model to choose sources for the gaps that are left. Without a model, a flow that passes stays as is."""
        names = [str(gap) for gap in self.left if gap.is_needed] or [str(gap) for gap in self.left]
        try:
            model = choose_capable(options.model, f"wire {', '.join(names)} in '{file}'")
        except NoCapableModel as error:
            if not self.errors:
                return
            Change(self.old, self.flow, file).show(options)
            self.say_left()
            error.details = change_error("", self.errors).details
            raise
        outcome = converse(model, self.turns(), self._judge, say, options.timeout)
        if not outcome.is_right:
            raise change_error(f"cannot wire '{file}': none of the model's tries passes the rules", outcome.findings)
        self.left = [gap for gap in self.left if gap not in outcome.result]
        self.add(outcome.result)

    def turns(self) -> UserTurns:
        reads, flow = "\n".join(map(_line, self.left)), write_json(masked_ir(self.flow))
        task = _TASK.format(flow=flow, nodes=interfaces_text(self.flow), reads=reads)
        return UserTurns(plan_prompt(), lambda attempt: task, lambda attempt: _grammar(self.left))

    def _judge(self, said: ModelAnswer) -> tuple[list[Gap], list[Finding]]:
        """Return the gaps that an answer fills, and the findings; ignore anything else in the answer."""
        answer = dict(_SOURCE.findall(said.value))
        filled, findings = [], []
        for gap in self.left:
            source = answer.get(str(gap))
            if source in gap.texts:
                gap.source, gap.why = source, "the model says so"
                filled.append(gap)
            elif source is not None or gap.is_needed:
                findings.append(
                    Finding("PL02", gap.place, f"'{source or ''}' is not one of its sources", gap.choices())
                )
        return filled, findings or errors_of(check(mapped(self.flow, filled)))

    def say_left(self) -> None:
        for gap in self.left:
            say(f"{gap} has no source{'' if gap.is_needed else ', and stays an input of the flow'}: {gap.choices()}")


def mapped(flow: WiredFlow, gaps: Sequence[Gap]) -> WiredFlow:
    """Return a wired copy of the flow with mappings for these gaps."""
    new = flow.flow.copied()
    new.document = None
    for each in gaps:
        new.step(each.step).input_mappings[each.field.name] = each.source
    return wire(new)


def main(words: Sequence[str], options: ChangeOptions) -> int:
    """Wire the flow that the words name, and return the exit code.

    Raises PflowError: 65 for errors that mappings cannot fix, 78 if a model has to choose and none is capable, and the
    errors of asking a model.
    """
    file, old = open_flow(words, options, "wire")
    wiring = Wiring(old)
    wiring.fill()
    places = {gap.place for gap in wiring.left} | {wiring.flow.steps[gap.step].step.location for gap in wiring.left}
    if wiring.left and all(each.location in places for each in wiring.errors):
        wiring.ask(file, options)
    wiring.say_left()
    filled = [{"step": gap.step, "read": gap.field.name, "source": gap.source, "why": gap.why} for gap in wiring.filled]
    change = Change(old, wiring.flow, file, {"mappings": filled, "open": list(map(str, wiring.left))})
    if wiring.errors:
        change.show(options)
        raise change_error(f"cannot wire '{file}': mappings cannot fix this", wiring.errors)
    unset = [(id, field.name) for id, wired in wiring.flow.steps.items() for field in unset_params(wired)]
    for id, key in unset:
        say(f"{id} has no param '{key}', which its code needs: pflow plan --edit '{file}' 'SENTENCE' sets it")
    if not (wiring.filled or unset):
        say("nothing to wire: every read has a source")
    return change.finish(options)


def _only(gap: Gap, found: list[Path], why: str) -> Gap | None:
    if len(found) != 1:
        return None
    gap.source, gap.why = write_path(found[0]), why
    return gap


_SOURCE = re.compile(r"([\w-]+\.\w+)[`\"]* *[=:] *[`\"]*([^\s;,`\"}]+)")
"""A source in an answer: `STEP.READ = SOURCE`, or a member of JSON with the same parts, which some models write."""


def _grammar(gaps: list[Gap]) -> str:
    """Return the grammar, in GBNF, of an answer with a line for each gap that names its source."""
    lines = [
        f'( {quote(f"{gap} = ")} ( {" | ".join(map(quote, gap.texts))} ) "; " ){"" if gap.is_needed else "?"}'
        for gap in gaps
        if gap.texts
    ]
    return f"root ::= {' '.join(lines)}\n" if lines else ""


def _line(gap: Gap) -> str:
    doc = f" ({gap.field.doc})" if gap.field.doc else ""
    return f"- {gap}: {gap.field.type}{doc}: {gap.choices()}{'' if gap.is_needed else '; it may be left out'}"


def _parts(path: Path, type: Type, depth: int = _DEPTH) -> Iterator[tuple[Path, Type]]:
    """Yield a type and the parts of its shape, each with its path."""
    yield path, type
    for name, part in type.fields.items() if depth else ():
        yield from _parts((*path, name), part, depth - 1)
