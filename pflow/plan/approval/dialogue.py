"""The questions about a plan: run it, edit it as text, save it, explain it, or no."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError
from pflow.explain.pipe_form import pipe_of
from pflow.flow.findings import Finding
from pflow.flow.flow import Flow, Input
from pflow.flow.load import load_text
from pflow.flow.rules import check
from pflow.flow.unload import canonical_json, flow_to_ir
from pflow.flow.wiring import wire
from pflow.library.save import AlreadySaved, save_flow
from pflow.library.saved import check_name
from pflow.plan.approval.proposal import Proposal
from pflow.plan.approval.view import explained, findings_text, proposal_text, show
from pflow.plan.declare_inputs import with_value
from pflow.terminal.ask import Terminal, edit
from pflow.terminal.columns import clean
from pflow.terminal.messages import say_error

_QUESTION = "Run it? [r]un, [e]dit, [s]ave, e[x]plain, [n]o: "
_AGAIN = "[e]dit again, [b]ack to the plan as it was: "
_HELP = """\
  r  run it
  e  edit it in your editor, and check it again
  s  save it under a name
  x  explain it: all its steps, and the store
  n  no: leave it
"""


class Dialogue:
    """One plan and one person. `proposal` is the plan as it was edited last; `is_saved` that it was saved since."""

    def __init__(self, proposal: Proposal, terminal: Terminal) -> None:
        self.proposal = proposal
        self.terminal = terminal
        self.is_saved = False

    def decide(self) -> bool:
        """Show it, ask, and do what is answered. Whether it is to run."""
        keys: dict[str, Callable[[], None]] = {"e": self._edit, "s": self._save, "x": self._explain}
        self._show()
        while True:
            key = self.terminal.choose(_QUESTION, {"r": "run", "e": "edit", "s": "save", "x": "explain", "n": "no"})
            if key in ("r", "n"):
                return key == "r"
            keys.get(key, lambda: self.terminal.say(_HELP))()

    def _show(self) -> None:
        """Show the plan; what was typed before it could be seen answers nothing."""
        show(proposal_text(self.proposal))
        self.terminal.forget_typed()

    def _explain(self) -> None:
        show(explained(self.proposal) + "\n")

    def _edit(self) -> None:
        """Edit until it passes the rules, or is left as it was."""
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
                if error.exit not in (BAD_DATA, USAGE):  # another try would end alike
                    return
            if self.terminal.choose(_AGAIN, {"e": "edit", "b": "back"}, otherwise="b") == "b":
                return

    def _accept(self, text: str) -> bool:
        """Go on with what was edited, if it passes the rules."""
        flow, errors = read_edited(text, self.proposal)
        if errors:
            show(findings_text(errors))
            return False
        self.proposal = self.proposal.edited(flow)
        self.is_saved = False
        self._show()
        return True

    def _save(self) -> None:
        """Ask for a name until the flow is saved under one."""
        default = self.proposal.flow.name
        while True:
            name = self.terminal.ask(f"Name [{clean(default)}]: " if default else "Name: ")
            name = name if name is None else name or default
            if not name:
                return
            try:
                check_name(name)
            except PflowError as error:
                say_error("pflow", error)
                continue
            try:
                if self._keep(name):
                    return
            except PflowError as error:
                say_error("pflow", error)
                return

    def _keep(self, name: str) -> bool:
        """Save it; to replace a flow that has the name is asked first. Whether that is done."""
        try:
            saved = save_flow(name, self.proposal.flow)
        except AlreadySaved as there:
            question = f"'{clean(there.name)}' is there: replace it? [y]es, [n]o: "
            if self.terminal.choose(question, {"y": "yes", "n": "no"}) != "y":
                return False
            saved = save_flow(name, self.proposal.flow, replace=True)
        old = f"; the one before is {clean(saved.old)}" if saved.old else ""
        lines = [
            f"Saved as {clean(saved.file)}{old}",
            *map(clean, saved.notes),
            f"Run it by: pflow {clean(saved.name)}",
        ]
        self.terminal.say("\n".join(lines) + "\n")
        self.is_saved = True
        return True


def editable_text(proposal: Proposal) -> tuple[str, str]:
    """A plan to edit, with a name for its file: pipe syntax, its inputs as literals; where there is none, its IR."""
    flow = proposal.wired.flow
    try:
        if not flow.outputs:  # pipe syntax would lose them
            about = f"# {clean(flow.description)}\n" if flow.description else ""
            return f"{about}{pipe_of(proposal.wired, proposal.values).rstrip()}\n", "plan.pflow"
    except PflowError:
        pass
    return canonical_json(flow_to_ir(flow)), "plan.pflow.json"


def read_edited(text: str, proposal: Proposal) -> tuple[Flow, list[Finding]]:
    """The flow that the text is now, and its errors.

    Raises PflowError: 66 where it is empty, 65 and 2 where it does not parse.
    """
    before = proposal.wired.flow
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.split("\n")):
        raise PflowError("cannot take what was edited: it is empty", exit=MISSING)
    loaded = load_text(text, "plan", before.catalog)
    flow = loaded.flow
    flow.name, flow.description = flow.name or before.name, flow.description or before.description
    if not flow.inputs:
        flow = with_inputs(flow, before)
    return flow, [each for each in check(wire(flow), loaded.findings) if not each.is_warning]


def with_inputs(flow: Flow, before: Flow) -> Flow:
    """The flow with the inputs that it had before, each where all that read it have one literal now: its value."""
    changed = copy(flow)
    changed.steps = [copy(step) for step in flow.steps]
    for declared in before.inputs.values():
        readers = _readers(before, declared.name)
        values = [_literal(changed, id, key) for id, key in readers]
        if readers and values[0] is not None and all(value == values[0] for value in values):
            _declare(changed, declared, readers, values[0])
    if changed.inputs:  # with some inputs declared, all have to be
        wired = wire(flow)
        for wanted in [wired.inputs[each.input] for each in wired.references if each.input in wired.inputs]:
            name = wanted.name
            new = Input(name, type=str(wanted.type), description=wanted.doc, required=wanted.required)
            changed.inputs.setdefault(name, copy(before.inputs.get(name, new)))
    return changed


def _readers(flow: Flow, name: str) -> list[tuple[str, str]]:
    """The (step, read) that an input alone gives."""
    return [(step.id, key) for step in flow.steps for key, path in step.input_mappings.items() if path == name]


def _literal(flow: Flow, id: str, key: str) -> Any:
    """The literal of a read in a step; None without one, and for a template."""
    step = next((step for step in flow.steps if step.id == id), None)
    value = step.inputs.get(key) if step is not None else None
    return None if isinstance(value, str) and "$" in value else value


def _declare(flow: Flow, before: Input, readers: list[tuple[str, str]], value: Any) -> None:
    """Declare an input again; where its value is another now, the description says that one."""
    declared = copy(before)
    if before.has_default and value != before.default:
        flow.description = with_value(flow.description, before.default, value)
    declared.default, declared.has_default, declared.required = value, True, False
    flow.inputs = {**flow.inputs, before.name: declared}
    for id, key in readers:
        step = flow.step(id)
        step.inputs = {name: each for name, each in step.inputs.items() if name != key}
        step.input_mappings = {**step.input_mappings, key: before.name}
