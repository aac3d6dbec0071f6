"""pflow "SENTENCE": a flow is planned from it, shown, asked about, and run."""

from __future__ import annotations

import os

from pflow.common import LETTERS
from pflow.errors import CANNOT_WRITE, DENIED, OK, USAGE, PflowError
from pflow.flow.pipe.scan import is_sign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.commands._sentence_flags import SentenceFlags
    from pflow.plan.gate.gate import Refusal
    from pflow.plan.planner import Planned
    from pflow.plan.show.offer import Offer
    from pflow.plan.show.settled import Settled


def is_sentence(text: str) -> bool:
    """Whether a text is one: words, and not what was meant for a step or for pipe syntax.

    A misspelt node is never sent to a model, so a first word with a flag or a separator behind it begins a step, and so
    does `pflow` with such a one.
    """
    words = _words_of(text)
    return len(words) > 1 and not is_flag(words[1]) and not _is_separator(words[1])


def _is_separator(word: str) -> bool:
    return word == ";" or is_sign(word)


def _words_of(text: str) -> list[str]:
    """The words, without the `pflow` that a pasted command begins with."""
    words = text.split()
    return words[words[:1] == ["pflow"] :]


def is_flag(word: str) -> bool:
    """Whether a word is a flag, and no dash of a sentence."""
    is_long = word.startswith("--") and word[2:3].isalpha()
    return is_long or (len(word) > 1 and word[0] == "-" and set(word[1:]) <= set(LETTERS))


def step_hint(text: str) -> str:
    """What to do with a text that is one step of pipe syntax, or a slip away from one."""
    from pflow.catalog.kinds import list_kinds
    from pflow.flow.pipe.names import split_name
    from pflow.flow.pipe.recognize import names_node
    from pflow.naming import nearest

    words = _words_of(text)
    if names_node(words[0]):
        return "" if words[1:] and _is_separator(words[1]) else "one step needs no quotes around it"
    near = nearest(split_name(words[0])[0], [kind.name for kind in list_kinds()])
    return f"did you mean {near}?" if near else ""


def main(words: list[str], closed: list[int]) -> int:
    """Plan the first word, and run what comes of it. `closed` are the standard files that were closed.

    Raises PflowError: 2 for wrong flags, 77 where it may not run, and what planning raises.
    """
    from pflow.commands._sentence_flags import SentenceFlags, usage_of_sentence

    flags = SentenceFlags(words[1:])
    if flags.wants_help:
        from pflow.help.text import help_text
        from pflow.process.stdout import write_pieces

        write_pieces(1, [help_text(usage_of_sentence()).encode()])
        return 0
    if 1 in closed and not flags.is_quiet:
        hint = "-q if nothing is wanted"
        raise PflowError("cannot write to stdout: it is closed", hint=hint, exit=CANNOT_WRITE)
    from pflow.commands._planning import in_order

    try:
        return in_order(lambda: _Sentence(words[0], flags, closed).run())
    except PflowError as error:
        _hand_on(flags.run, error)
        raise


def _hand_on(words: list[str], error: PflowError) -> None:
    """Let a pipe hear that there was no run, as it hears of one that failed; of wrong flags it hears nothing."""
    from pflow.stage.document import Document
    from pflow.stage.output import Output

    if error.exit != USAGE:
        Output(words).write_error(Document(), "plan", "plan", error)


class _Sentence:
    """One sentence on its way to a run."""

    def __init__(self, sentence: str, flags: SentenceFlags, closed: list[int]) -> None:
        from pflow.plan.gate.allowed import Allowed, working_directory
        from pflow.terminal.ask import open_terminal

        self.sentence = sentence
        self.flags = flags
        self.closed = closed
        self.allowed = Allowed(flags.allow, working_directory())
        self.terminal = None if flags.yes or flags.is_dry else open_terminal()

    def run(self) -> int:
        from pflow.process.stdout import Diverted

        with Diverted():  # what a model's library prints is no result
            offer = None if self.flags.fresh else self._offer()
            settled = self._decide(self._settled(offer), is_own=offer is not None)
        return OK if settled is None else self._run(settled)

    def _offer(self) -> Offer | None:
        """The saved flow that is to be used instead of a plan."""
        from pflow.commands._planning import mention
        from pflow.plan.show.offer import find_offer

        offer = find_offer(self.sentence)
        if offer is None or self.terminal is None:
            if offer is not None and not offer.is_same:
                mention(offer)
                return None
            return offer
        from pflow.terminal.columns import clean

        question = f"'{clean(offer.saved.name)}' does this: {clean(offer.command)}. [u]se it, [p]lan anew, [n]o: "
        self.terminal.forget_typed()
        while (key := self.terminal.choose(question, {"u": "use", "p": "plan", "n": "no"})) == "?":
            self.terminal.say("  u  run that flow\n  p  have a model plan another one\n  n  no: leave it\n")
        if key == "n":
            raise _not_run()
        return offer if key == "u" else None

    def _plan(self) -> Planned:
        from pflow.commands._planning import plan

        return plan(self.sentence, self.flags.model, self.flags.timeout, fresh=self.flags.fresh)

    def _settled(self, offer: Offer | None) -> Settled:
        """The flow, with what the sentence and the flags give it. Raises PflowError (65) where it breaks a rule."""
        from pflow.flow.load import load_file
        from pflow.plan.show.settled import Settled
        from pflow.run.driver import refuse_errors

        flow = load_file(offer.saved.file).usable() if offer else self._plan().flow
        if offer:
            flow.name = flow.name or offer.saved.name
        settled = Settled(flow, self.flags.run, offer.values if offer else {})
        refuse_errors(settled.findings)
        return settled

    def _decide(self, settled: Settled, *, is_own: bool) -> Settled | None:
        """What is to run; None where it was saved instead. Raises PflowError (77) where nothing may run.

        `is_own` for a saved flow, which a person at the terminal has agreed to already.
        """
        if self.terminal is None:
            self._hold(settled)
            return settled
        if is_own:
            return settled
        from pflow.plan.show.dialogue import Dialogue

        dialogue = Dialogue(settled, self.terminal)
        if dialogue.decide():
            return dialogue.settled
        if dialogue.is_saved:
            return None
        raise _not_run()

    def _hold(self, settled: Settled) -> None:
        """Show it where there is anybody to see it. Raises PflowError (77) unless --yes allows all of it."""
        from pflow.plan.show.view import plan_text, show

        found = self._refusals(settled) if self.flags.yes else []
        if found or not self.flags.yes or (os.isatty(2) and not settled.flags.quiet):
            show(plan_text(settled))
        if found:
            raise _refused(found)
        if not self.flags.yes and not settled.flags.dry_run:
            hint = "--yes runs it, pflow plan prints it"
            raise PflowError("cannot run the plan: nobody is there to be asked", hint=hint, exit=DENIED)

    def _refusals(self, settled: Settled) -> list[Refusal]:
        from pflow.plan.gate.gate import refusals
        from pflow.process.stdin import is_readable

        has_stdin = not settled.flags.no_stdin and is_readable(getattr(settled.flags, "from"))
        if not has_stdin:
            _refuse_missing(settled)
        return refusals(settled.plan, settled.values, self.allowed, has_stdin=has_stdin)

    def _run(self, settled: Settled) -> int:
        """Run what was shown: its inputs are pinned, for a store that comes in might say others."""
        from pflow.run.driver import Driver

        for fd in self.closed:
            os.close(fd)
        return Driver().run_flow(settled.flow, settled.words, settled.values)


def _refuse_missing(settled: Settled) -> None:
    """Raise PflowError (66) for inputs that nothing gives; on a terminal they are asked for."""
    from pflow.run.ask import missing_inputs, nothing_gives

    missing = missing_inputs(settled.plan, settled.values, lambda path: False)
    if missing and not os.isatty(2):
        raise nothing_gives(settled.plan, missing)


def _not_run() -> PflowError:
    return PflowError("not run", exit=DENIED)


def _refused(found: list[Refusal]) -> PflowError:
    from pflow.terminal.messages import say

    for each in found:
        say("pflow", f"not allowed: {each}")
    what = "1 thing is" if len(found) == 1 else f"{len(found)} things are"
    hint = " ".join(dict.fromkeys(each.flag for each in found))
    return PflowError(f"cannot run the plan: {what} not allowed", hint=hint, exit=DENIED)
