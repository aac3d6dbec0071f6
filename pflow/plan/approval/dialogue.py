"""The dialogue about a plan: run it, edit it as text, save it, explain it, or leave it."""

from collections.abc import Callable
from contextlib import suppress

from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError, result_of
from pflow.explain.pipe_form import pipe_of
from pflow.flow.build import STEP_MEMBERS, build_flow
from pflow.flow.findings import Finding, errors_of
from pflow.flow.flow import FlowSpec, Input
from pflow.flow.load import load_text
from pflow.flow.rules import check
from pflow.flow.unload import flow_to_ir
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.plan.approval.proposal import Proposal, explained, findings_text, proposal_text, show
from pflow.plan.three_way import merge_edit
from pflow.saved_flows.save import AlreadySaved, save_flow
from pflow.saved_flows.saved import check_name
from pflow.terminal.ask import Terminal, edit
from pflow.terminal.messages import say_error
from pflow.text.printable import clean
from pflow.values.fast_json import write_json

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
    """The dialogue with a person about a plan. `proposal` is its last edit; `is_saved` is true once that is saved."""

    def __init__(self, proposal: Proposal, terminal: Terminal) -> None:
        self.proposal = proposal
        self.terminal = terminal
        self.is_saved = False

    def decide(self) -> bool:
        """Show the plan, ask, and do what is answered; return True if it is to run."""
        acts: dict[str, Callable[[], None]] = {"e": self._edit, "s": self._save}
        acts["x"] = lambda: show(explained(self.proposal) + "\n")
        self._show()
        while (key := self.terminal.choose(_QUESTION, _KEYS, help=_HELP)) in acts:
            acts[key]()
        return key != "n"

    def _show(self) -> None:
        """Show the plan, and forget what was typed before it could be seen."""
        show(proposal_text(self.proposal))
        self.terminal.forget_typed()

    def _edit(self) -> None:
        """Let the person edit the plan until it passes the rules, or go back to it as it was."""
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
                if error.exit not in (BAD_DATA, USAGE):  # another try would fail too
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
                if error.exit != BAD_DATA:  # another name would fail too
                    return

    def _keep(self, name: str) -> bool:
        """Save the plan, after a question if another flow has the name; return True if it was saved."""
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
    """Return a plan's own name; empty if a saved flow may not have it."""
    return name if result_of(check_name, name, of=PflowError, otherwise=name) is None else ""


def editable_text(proposal: Proposal) -> tuple[str, str]:
    """Return a plan as text to edit, and a name for its file: pipe syntax with literals for inputs, else its IR."""
    flow = proposal.wired.flow
    with suppress(PflowError):
        if not flow.outputs:  # pipe syntax would lose them
            about = f"# {clean(flow.description)}\n" if flow.description else ""
            return f"{about}{pipe_of(proposal.wired, proposal.values).rstrip()}\n", "plan.pflow"
    return write_json(flow_to_ir(flow)), "plan.pflow.json"


def read_edited(text: str, proposal: Proposal) -> tuple[FlowSpec, list[Finding]]:
    """Read an edited text; return its flow and errors. Raises PflowError: 66 if it is empty, 65 and 2 if malformed."""
    before = proposal.wired.flow
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.split("\n")):
        raise PflowError("cannot take the edited flow: it is empty", exit=MISSING)
    flow = load_text(text, "plan", before.catalog)
    flow.name, flow.description = flow.name or before.name, flow.description or before.description
    if flow.dialect == "pipe":
        _keep_unedited(flow, load_text(editable_text(proposal)[0], "plan", before.catalog), proposal.wired, text)
    return flow, errors_of(check(wire(flow)))


def _keep_unedited(flow: FlowSpec, shown: FlowSpec, before: WiredFlow, text: str) -> None:
    """Give a flow, read from an edited `text`, what the edit left as it was `shown`, and the inputs that it reads."""
    merged = build_flow(merge_edit(flow_to_ir(before.flow), flow_to_ir(shown), flow_to_ir(flow), text))
    flow.outputs, flow.max_visits = merged.outputs, merged.max_visits
    for step, each in zip(flow.steps, merged.steps, strict=True):
        for name in (*STEP_MEMBERS, "soft", "batch", "input_mappings", "output_mappings"):
            setattr(step, name, getattr(each, name))
    wired = wire(flow)
    named = [wired.inputs[each.input] for each in wired.references if each.input in wired.inputs]
    gone = {each.input for each in before.references} - {each.name for each in named}
    flow.inputs = {name: each for name, each in merged.inputs.items() if name in wired.inputs.keys() - gone}
    for given in named if flow.inputs else ():  # with some inputs declared, all have to be
        new = Input(given.name, type=str(given.type), description=given.doc, required=given.required)
        flow.inputs.setdefault(given.name, new)
