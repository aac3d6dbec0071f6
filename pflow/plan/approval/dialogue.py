"""The questions about a plan: run it, edit it, save it, explain it, or no."""

from __future__ import annotations

from collections.abc import Callable

from pflow.errors import BAD_DATA, USAGE, PflowError
from pflow.library.save import AlreadySaved, save_flow
from pflow.library.saved import check_name
from pflow.plan.approval.editing import editable_text, read_edited
from pflow.plan.approval.proposal import Proposal
from pflow.plan.approval.view import explained, findings_text, proposal_text, show
from pflow.terminal.ask import Terminal
from pflow.terminal.columns import clean
from pflow.terminal.editor import edit
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
