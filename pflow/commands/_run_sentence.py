"""pflow "SENTENCE": a flow is planned from it, shown, asked about, and run."""

from __future__ import annotations

import os
from collections.abc import Callable

from pflow.commands._sentence import SentenceFlags, usage_of_sentence
from pflow.errors import CANNOT_WRITE, DENIED, OK, USAGE, PflowError
from pflow.help.usage import help_text
from pflow.plan.approval.dialogue import Dialogue
from pflow.plan.approval.gate import Allowed, Gate, Refusal, working_directory
from pflow.plan.approval.proposal import Proposal
from pflow.plan.approval.view import draft_text, proposal_text, show
from pflow.plan.planner import Planned, Unplannable, plan_sentence
from pflow.process.signals import Interrupted, catch_signals, die_of
from pflow.process.streams import Diverted, is_readable, write_pieces
from pflow.run.driver import Driver, refuse_errors
from pflow.run.inputs import missing_inputs, nothing_gives
from pflow.stage.document import Document
from pflow.stage.output import Output
from pflow.terminal.ask import open_terminal
from pflow.terminal.columns import clean, colour_of
from pflow.terminal.messages import say


def main(words: list[str], closed: list[int]) -> int:
    """Plan the first word, and run what comes of it. `closed` are the standard files that were closed.

    Raises PflowError: 2 for wrong flags, 77 where it may not run, and what planning raises.
    """
    flags = SentenceFlags(words[1:])
    if flags.wants_help:
        write_pieces(1, [help_text(usage_of_sentence()).encode()])
        return OK
    if 1 in closed and not flags.is_quiet:
        hint = "-q if nothing is wanted"
        raise PflowError("cannot write to stdout: it is closed", hint=hint, exit=CANNOT_WRITE)
    try:
        return with_signals(lambda: _Sentence(words[0], flags, closed).run())
    except PflowError as error:
        if error.exit != USAGE:  # a pipe gets an error document, as from a run that failed
            Output(flags.run).write_error(Document(), "plan", "plan", error)
        raise


def with_signals(work: Callable[[], int]) -> int:
    """Do the work with signals caught: a signal ends the process as itself, --timeout is an error (124)."""
    try:
        catch_signals()
        return work()
    except Interrupted as interrupted:
        if interrupted.signal:
            die_of(interrupted.signal)
        raise PflowError(f"cannot finish: {interrupted.message}", exit=interrupted.exit) from None


def plan(sentence: str, model: str | None, timeout: float | None, *, fresh: bool) -> Planned:
    """Plan; where no try passes, show the best one and its findings on stderr before the error is raised."""
    try:
        return plan_sentence(sentence, model=model, fresh=fresh, timeout=timeout, report=_report)
    except Unplannable as error:
        show(draft_text(error.ir, error.findings))
        raise


def _report(text: str) -> None:
    """Tell a person at a terminal what is going on."""
    if os.isatty(2):
        show(colour_of(2).dim(clean(text)) + "\n")


class _Sentence:
    """One sentence on its way to a run."""

    def __init__(self, sentence: str, flags: SentenceFlags, closed: list[int]) -> None:
        self.sentence = sentence
        self.flags = flags
        self.closed = closed
        self.allowed = Allowed(flags.allow, working_directory())
        self.terminal = None if flags.yes or flags.is_dry else open_terminal()

    def run(self) -> int:
        with Diverted():  # stdout is for the result, not for what a model's library prints
            planned = plan(self.sentence, self.flags.model, self.flags.timeout, fresh=self.flags.fresh)
            proposal = Proposal(planned.flow, self.flags.run)
            refuse_errors(proposal.findings)
            decided = self._ask(proposal) if self.terminal is not None else self._hold(proposal)
        if decided is None:
            return OK
        for fd in self.closed:
            os.close(fd)
        # the inputs are pinned as they were shown: a store that comes in might have others
        return Driver().run_flow(lambda: decided.flow, decided.words, decided.values)

    def _ask(self, proposal: Proposal) -> Proposal | None:
        """What a person wants to run; None where it was saved instead. Raises PflowError (77) for a no."""
        assert self.terminal is not None
        dialogue = Dialogue(proposal, self.terminal)
        if dialogue.decide():
            return dialogue.proposal
        if dialogue.is_saved:
            return None
        raise PflowError("not run", exit=DENIED)

    def _hold(self, proposal: Proposal) -> Proposal:
        """Show it where anybody can see it. Raises PflowError (77) unless --yes allows all of it."""
        refused = self._refusals(proposal) if self.flags.yes else []
        if refused or not self.flags.yes or (os.isatty(2) and not proposal.flags.quiet):
            show(proposal_text(proposal))
        for each in refused:
            say("pflow", f"not allowed: {each}")
        if refused:
            what = "1 thing is" if len(refused) == 1 else f"{len(refused)} things are"
            hint = " ".join(dict.fromkeys(each.flag for each in refused))
            raise PflowError(f"cannot run the plan: {what} not allowed", hint=hint, exit=DENIED)
        if not self.flags.yes and not proposal.flags.dry_run:
            hint = "--yes runs it, pflow plan prints it"
            raise PflowError("cannot run the plan: nobody is there to be asked", hint=hint, exit=DENIED)
        return proposal

    def _refusals(self, proposal: Proposal) -> list[Refusal]:
        """Raises PflowError (66) for inputs that nothing gives; on a terminal the run asks for them."""
        has_stdin = not proposal.flags.no_stdin and is_readable(getattr(proposal.flags, "from"))
        missing = [] if has_stdin else missing_inputs(proposal.wired, proposal.values)
        if missing and not os.isatty(2):
            raise nothing_gives(proposal.wired, missing)
        return Gate(proposal.wired, proposal.values, self.allowed, has_stdin=has_stdin).refusals()
