"""A flow that is proposed to a person: the text about it, and the dialogue to run, edit, save or leave it."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from pflow.driver.arguments import RunFlags
from pflow.driver.driver import parse
from pflow.driver.inputs import RunInputs
from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError, result_of, shorten
from pflow.explain.account import explain
from pflow.explain.pipe_form import pipe_of
from pflow.explain.text import (
    account_text,
    effect_rows,
    joined,
    origins_text,
    pipe_lines,
    section,
    step_lines,
    warnings,
)
from pflow.flow.expressions import literal
from pflow.flow.findings import Finding, errors_of
from pflow.flow.flow import STEP_MEMBERS, FlowSpec, Input
from pflow.flow.ir import build_flow, flow_to_ir, masked_ir
from pflow.flow.load import load_text
from pflow.flow.rules import check
from pflow.flow.wired_flow import WiredFlow
from pflow.flow.wiring import wire
from pflow.interface.common import OF_RUNS
from pflow.interface.interface import flag_word
from pflow.plan.change import merge_edit
from pflow.plan.meaning import doubts
from pflow.saved_flows.saved import AlreadySaved, check_name, save_flow
from pflow.terminal.ask import Terminal, edit
from pflow.terminal.columns import Colour, colour_of, for_locale, terminal_width, value_text, wrap
from pflow.terminal.messages import say_error, write_stderr
from pflow.text.printable import clean
from pflow.values.fast_json import write_json
from pflow.values.jsontext import encode


class Proposal:
    """A `flow`, the flags of its run (`words`), and `wired`: the flow with the values of these flags in it.

    `values` are the values of the inputs, except the piped one. `findings` are those of `wired` and the doubts.
    `doubts` are the possible differences of the flow from the `sentence` that it was planned from; a flag with the
    missing value removes one.
    """

    def __init__(self, flow: FlowSpec, words: list[str], sentence: str = "") -> None:
        """Raises PflowError (2) for a flag that is neither the run's nor the flow's."""
        self.flow = flow
        self.words = words
        wired = wire(flow)
        self.flags, inputs = parse(wired, words)
        is_changed = inputs.values or inputs.params or inputs.data
        self.wired = wire(with_flags(flow, wired, inputs)) if is_changed else wired
        doubted = {each.message for each in doubts(self.wired, sentence)} if sentence else set()
        self.doubts = [each for each in doubts(wired, sentence) if each.message in doubted] if doubted else []
        self.findings: list[Finding] = [*check(self.wired), *self.doubts]
        self.values: dict[str, Any] = {
            name: inputs.values.get(name, each.default)
            for name, each in wired.inputs.items()
            if name in inputs.values or (each.has_default and not each.pipe)
        }

    def edited(self, flow: FlowSpec) -> "Proposal":
        """Propose the same run of an edited flow, which has the values of the flags in it. It has no doubts."""
        return Proposal(flow, _words_of_run(self.flags))


def with_flags(flow: FlowSpec, wired: WiredFlow, inputs: RunInputs) -> FlowSpec:
    """Return the flow with the values of flags in it: as defaults of inputs, and in the steps."""
    changed = flow.copied()
    for step in changed.steps:
        for written, flags in ((step.inputs, inputs.data), (step.params, inputs.params)):
            given = flags.get(step.id, {}).items()
            written.update({key: literal(wired.steps[step.id].interface.field(key), value) for key, value in given})
    for name, value in inputs.values.items():
        if name in changed.inputs:
            declared = changed.inputs[name]
            declared.default, declared.has_default, declared.required = value, True, False
            continue
        known = wired.inputs.get(name)
        for id, key in known.readers if known is not None else ():
            step = changed.step(id)
            if key not in step.input_mappings:
                step.inputs[key] = literal(wired.steps[id].interface.field(key), value)
    return changed


def _words_of_run(flags: RunFlags) -> list[str]:
    said = {name: value for name, value in vars(flags).items() if value not in (None, OF_RUNS[name].default)}
    return [flag_word(name, value) for name, value in said.items()]


Account = dict[str, Any]

_NAME, _DRAFT = 40, 20_000
_QUIET = ("default", "nothing")
"""Origins whose reads are left out: they are unset, and say nothing about the step."""


def show(text: str) -> None:
    write_stderr(for_locale(text))


def proposal_text(proposal: Proposal) -> str:
    """Return the text that a person sees before a flow runs."""
    width, colour = terminal_width(), colour_of(2)
    account = explain(proposal.wired, proposal.findings)
    title = ": ".join(filter(None, (shorten(clean(account["name"]), _NAME), clean(account["description"]))))
    inputs: list[tuple[str, ...]] = [
        (clean(need["flag"]), need["type"], _input_value(proposal.values, need), clean(need["doc"]))
        for need in account["needs"]
    ]
    parts = [
        [colour.heading(line) for line in wrap(title, width)] if title else [],
        _pipe(proposal, width, colour),
        [line for step in account["steps"] for line in step_lines(_brief(step), width, colour)],
        section(colour.heading("Inputs"), inputs, width, colour.name),
        _touches(account, proposal.values, width, colour),
        warnings(account, width, colour),
    ]
    return "\n" + joined(parts)


def touched_text(wired: WiredFlow, inputs: RunInputs) -> str:
    """Describe what a run with these inputs will touch; return "" if it touches nothing."""
    account = explain(wire(with_flags(wired.flow, wired, inputs)), [])
    return joined([_touches(account, inputs.values, terminal_width(), colour_of(2))])


def _touches(account: Account, values: dict[str, Any], width: int, colour: Colour) -> list[str]:
    rows = effect_rows(account, lambda origins: _origins(origins, values))
    return section(colour.heading("It will touch"), rows, width, colour.warning)


def explained(proposal: Proposal) -> str:
    """Return the text that `pflow explain` prints for a proposal."""
    return "\n" + account_text(explain(proposal.wired, proposal.findings), terminal_width(), colour_of(2))


def findings_text(findings: Iterable[Finding]) -> str:
    """Return a line for each finding."""
    return "".join(f"  {clean(str(each))}\n" for each in findings)


def draft_text(draft: str, findings: Iterable[Finding]) -> str:
    """Return the text of a flow that does not pass, with its findings."""
    lines: list[str] = []
    if draft:
        lines = [colour_of(2).heading("The best try"), *_indented(draft[:_DRAFT].rstrip("\n").split("\n"))]
        lines += [f"  … {len(draft) - _DRAFT:,} letters more"] * (len(draft) > _DRAFT)
    return "".join(f"{line}\n" for line in lines) + findings_text(findings)


def _pipe(proposal: Proposal, width: int, colour: Colour) -> list[str]:
    """Return the whole flow in pipe syntax, or as JSON if pipe syntax cannot express it."""
    try:
        lines = pipe_lines(pipe_of(proposal.wired, proposal.values).rstrip("\n"))
    except PflowError as error:
        ir = write_json(masked_ir(proposal.wired)).rstrip("\n").split("\n")
        why = wrap(f"Not as a pipe: {clean(error.message)}", width)
        return [*why, "", colour.heading("As JSON"), *_indented(ir)]
    return [colour.heading("As a pipe"), *_indented(lines)]


def _indented(lines: list[str]) -> list[str]:
    return ["  " + clean(part) for line in lines for part in line.split("\n")]


def _brief(step: Account) -> Account:
    """Return a step without the parts that are shown elsewhere in the text."""
    reads = [read for read in step["reads"] if read["from"] and read["from"][0]["from"] not in _QUIET]
    follows = [edge for edge in step["next"] if edge["action"] != "default" or len(edge["to"]) > 1]
    names = {name: shorten(clean(step[name]), _NAME) for name in ("id", "type")}
    unsaid = {"summary": "", "effects": [], "repeats": True, "has_model": False}
    return {**step, **names, "reads": reads, "next": follows, **unsaid}


def _input_value(values: dict[str, Any], need: Account) -> str:
    if need["name"] in values:
        return _in_json(values[need["name"]])
    if need["pipe"]:
        return "the piped input"
    return "(asked for when it runs)" if need["required"] else "unset"


def _origins(origins: list[Account], values: dict[str, Any]) -> str:
    """Return a value's origin in words.

    If it is an input's value, or if the words would shorten it, the whole value precedes them.
    """
    first, words = origins[0], origins_text(origins)
    if first["from"] == "constant" and isinstance(first["value"], str):
        return clean(first["value"])
    is_input = first["from"] == "input" and first["path"] in values
    value = values[first["path"]] if is_input else first.get("text", first.get("value"))
    text = _in_json(value)
    return f"{text} ({words})" if is_input or not text.startswith(value_text(value)) else words


def _in_json(value: Any) -> str:
    return clean(str(encode(value, escape=False), "utf-8"))


_QUESTION = "Run it? [r]un, [e]dit, [s]ave, e[x]plain, [n]o: "
_KEYS = {"r": "run", "y": "yes", "e": "edit", "s": "save", "x": "explain", "n": "no"}
_AGAIN = "[e]dit again, [b]ack to the plan as it was: "
_HELP = """\
  r  run it, as y does
  e  edit it in your editor, and check it again
  s  save it under a name
  x  explain it: all its steps, and the store
  n  no: leave it
"""


class Dialogue:
    """The dialogue with a person about a plan. `proposal` is the plan after the last edit; `is_saved` is true if it was
    saved.
    """

    def __init__(self, proposal: Proposal, terminal: Terminal) -> None:
        self.proposal = proposal
        self.terminal = terminal
        self.is_saved = False

    def decide(self) -> bool:
        """Show the plan, ask the person, and act on the answer; return True if the plan is to run."""
        acts: dict[str, Callable[[], None]] = {"e": self._edit, "s": self._save}
        acts["x"] = lambda: show(explained(self.proposal) + "\n")
        self._show()
        while (key := self.terminal.choose(_QUESTION, _KEYS, help=_HELP)) in acts:
            acts[key]()
        return key != "n"

    def _show(self) -> None:
        """Show the plan, and discard keys typed before: an early y must not run a plan that the person has not seen."""
        show(proposal_text(self.proposal))
        self.terminal.discard_typed()

    def _edit(self) -> None:
        """Let the person edit the plan until it passes the rules, or give up the edit."""
        before, name = editable_text(self.proposal)
        text = before
        while True:
            try:
                text = edit(text, name, self.terminal)
                if text == before:
                    self.terminal.say("Nothing was changed.\n")
                    return
                if self._accept(text):
                    return
            except PflowError as error:
                say_error("pflow", error)
                if error.exit not in (BAD_DATA, USAGE):  # the editor or its file failed, and would fail again
                    return
            if self.terminal.choose(_AGAIN, {"e": "edit", "b": "back"}, otherwise="b") == "b":
                return

    def _accept(self, text: str) -> bool:
        flow, errors = read_edited(text, self.proposal)
        if errors:
            show(findings_text(errors))
            return False
        self.proposal = self.proposal.edited(flow)
        self.is_saved = False
        self._show()
        return True

    def _save(self) -> None:
        default = offered_name(self.proposal.flow.name)
        while True:
            name = self.terminal.ask(f"Name [{clean(default)}]: " if default else "Name: ")
            name = name if name is None else name or default
            if not name:
                return
            try:
                if self._keep(name):
                    return
            except PflowError as error:
                say_error("pflow", error)
                if error.exit != BAD_DATA:  # another name would not help: it cannot be written
                    return

    def _keep(self, name: str) -> bool:
        """Save the plan, asking first if another flow has the name; return True if it was saved."""
        try:
            saved = save_flow(name, self.proposal.flow)
        except AlreadySaved:
            question = f"'{clean(name)}' is there: replace it? [y]es, [n]o: "
            if self.terminal.choose(question, {"y": "yes", "n": "no"}) != "y":
                return False
            saved = save_flow(name, self.proposal.flow, replace=True)
        old = f"; the one before is {saved.old}" if saved.old else ""
        for line in (f"Saved as {saved.file}{old}", *saved.notes, f"Run it by: pflow {saved.name}"):
            self.terminal.say(clean(line) + "\n")
        self.is_saved = True
        return True


def offered_name(name: str) -> str:
    """Return the plan's own name; empty if no saved flow may have it."""
    return name if result_of(check_name, name, of=PflowError, otherwise=name) is None else ""


def editable_text(proposal: Proposal) -> tuple[str, str]:
    """Return a plan as text to edit, in pipe syntax with the inputs' values or else as IR, and a name for its file."""
    flow = proposal.wired.flow
    with suppress(PflowError):
        if not flow.outputs:  # pipe syntax has no outputs, so they would be lost
            about = f"# {clean(flow.description)}\n" if flow.description else ""
            return f"{about}{pipe_of(proposal.wired, proposal.values).rstrip()}\n", "plan.pflow"
    return write_json(flow_to_ir(flow)), "plan.pflow.json"


def read_edited(text: str, proposal: Proposal) -> tuple[FlowSpec, list[Finding]]:
    """Return the flow of an edited text and its errors. Raises PflowError: 66 if it is empty, 65 or 2 if malformed."""
    before = proposal.wired.flow
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.split("\n")):
        raise PflowError("cannot take the edited flow: it is empty", exit=MISSING)
    flow = load_text(text, "plan", before.catalog)
    flow.name, flow.description = flow.name or before.name, flow.description or before.description
    if flow.dialect == "pipe":
        _keep_unedited(flow, load_text(editable_text(proposal)[0], "plan", before.catalog), proposal.wired, text)
    return flow, errors_of(check(wire(flow)))


def _keep_unedited(flow: FlowSpec, shown: FlowSpec, before: WiredFlow, text: str) -> None:
    """Give a flow, read from an edited `text`, the parts of `before` that the edit did not change, and its inputs."""
    merged = build_flow(merge_edit(flow_to_ir(before.flow), flow_to_ir(shown), flow_to_ir(flow), text))
    flow.outputs, flow.max_visits = merged.outputs, merged.max_visits
    for step, each in zip(flow.steps, merged.steps, strict=True):
        for name in (*STEP_MEMBERS, "soft", "batch", "input_mappings", "output_mappings"):
            setattr(step, name, getattr(each, name))
    wired = wire(flow)
    named = [wired.inputs[each.input] for each in wired.references if each.input in wired.inputs]
    gone = {each.input for each in before.references} - {each.name for each in named}
    flow.inputs = {name: each for name, each in merged.inputs.items() if name in wired.inputs.keys() - gone}
    for given in named if flow.inputs else ():  # a flow that declares some inputs has to declare all
        new = Input(given.name, type=str(given.type), description=given.doc, required=given.required)
        flow.inputs.setdefault(given.name, new)
