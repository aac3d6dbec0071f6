"""pflow "SENTENCE": a flow is planned from it, shown, asked about, and run."""

from __future__ import annotations

import os
from collections.abc import Callable

from pflow.catalog.kinds import list_kinds
from pflow.errors import CANNOT_WRITE, DENIED, OK, USAGE, PflowError
from pflow.flow.pipe.parse import split_name
from pflow.flow.pipe.recognize import names_node
from pflow.flow.pipe.scan import is_separator
from pflow.help.usage import DIRECTORY, MODEL, SENTENCE, Argument, Flag, Usage, help_text
from pflow.interface import LETTERS
from pflow.naming import nearest
from pflow.plan.approval.dialogue import Dialogue
from pflow.plan.approval.gate import Allowed, Refusal, refusals, working_directory
from pflow.plan.approval.proposal import Proposal
from pflow.plan.approval.view import draft_text, proposal_text, show
from pflow.plan.planner import Planned, Unplannable, plan_sentence
from pflow.process.signals import Interrupted, catch_signals, die_of
from pflow.process.streams import Diverted, is_readable, write_pieces
from pflow.run.ask import missing_inputs, nothing_gives
from pflow.run.driver import Driver, refuse_errors
from pflow.stage.document import Document
from pflow.stage.output import Output
from pflow.terminal.ask import open_terminal
from pflow.terminal.columns import clean, colour_of
from pflow.terminal.messages import say

_OWN = {"--allow": True, "--model": True, "--yes": False, "--fresh": False, "--help": False, "-h": False}
"""The flags that are the sentence's own, and whether each takes a value. Any other goes on to the run."""


def is_sentence(text: str) -> bool:
    """Whether a text is one: words, and not what was meant for a step or for pipe syntax.

    A misspelt node is never sent to a model, so a first word with a flag or a separator behind it begins a step, and so
    does `pflow` with such a one.
    """
    words = _words_of(text)
    return len(words) > 1 and not is_flag(words[1]) and not _is_separator(words[1])


def _is_separator(word: str) -> bool:
    return word == ";" or is_separator(word)


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
    words = _words_of(text)
    if names_node(words[0]):
        return "" if words[1:] and _is_separator(words[1]) else "one step needs no quotes around it"
    near = nearest(split_name(words[0])[0], [kind.name for kind in list_kinds()])
    return f"did you mean {near}?" if near else ""


def usage_of_sentence() -> Usage:
    """How a sentence is used as a command."""
    usage = Usage(
        SENTENCE,
        "Plan a flow from a sentence, show it, ask, and run it.",
        ("pflow 'SENTENCE' [FLAG]…",),
    )
    usage.description = """\
The sentence is one argument. A model plans the flow, which is held to the rules that pflow check tells of; nothing
runs before it was shown and allowed. Other flags are those of pflow run, and of the flow itself: --path=notes.txt.

Without a terminal it runs with --yes alone. That allows the network, and files below this directory that are not
hidden; commands, and files elsewhere, hidden or not known yet, need --allow. pflow plan prints the flow and runs
nothing."""
    usage.flags = [
        Flag(("--yes",), "run it without asking, as far as that is allowed"),
        Flag(
            ("--allow",),
            "what --yes may do too: commands, paths (any), anything, or a directory, for the files below it",
            metavar="WHAT",
            values=DIRECTORY,
            choices=("commands", "paths", "anything"),
            repeats=True,
        ),
        Flag(("--model",), "the model that plans", metavar="MODEL", values=MODEL),
        Flag(("--fresh",), "ask the model anew"),
        Flag(("--timeout",), "end planning, and the run, after so many seconds each, with 124", metavar="SECONDS"),
        Flag(("--dry-run",), "show the flow and what it would do, and run nothing"),
        Flag(("-h", "--help"), "print this help"),
    ]
    usage.arguments = [Argument("SENTENCE", "")]
    return usage


class SentenceFlags:
    """The flags beside a sentence: its own, and those that go on to the run (`run`)."""

    def __init__(self, words: list[str]) -> None:
        """Raises PflowError (2) for a bare word, a value that is missing, and one that has no place."""
        self.run: list[str] = []
        self.values: dict[str, list[str]] = {}
        rest = words[::-1]
        while rest:
            word = rest.pop()
            name, equals, value = word.partition("=")
            if name not in _OWN:
                self._pass_on(word)
                continue
            if _OWN[name] and not equals and not rest:
                raise PflowError(f"cannot take {name}: it needs a value", hint=f"{name}=VALUE", exit=USAGE)
            if equals and not _OWN[name]:
                raise PflowError(f"cannot take '{word}': {name} has no value", hint=name, exit=USAGE)
            self.values.setdefault(name, []).append(value if equals or not _OWN[name] else rest.pop())
        self.allow = self.values.get("--allow", [])
        self.model = next(reversed(self.values.get("--model", [])), None)
        self.yes, self.fresh = "--yes" in self.values, "--fresh" in self.values
        self.wants_help = bool({"--help", "-h"} & self.values.keys())
        self.is_dry = "--dry-run" in self.run  # or the value of another flag: the run's own flags decide
        self.is_quiet = bool({"-q", "--quiet"} & set(self.run))
        self.timeout = self._timeout()

    def _pass_on(self, word: str) -> None:
        """A flag of the run or of the flow, or the value that follows one."""
        before = self.run[-1] if self.run else ""
        is_flag = word.startswith("-") and len(word) > 1
        if not is_flag and (not before.startswith("--") or "=" in before):
            shown = word if len(word) <= 40 else word[:39] + "…"
            what = f"cannot take the bare word '{shown}': a sentence is one argument, and what follows flags"
            raise PflowError(what, hint="put quotes around all of it", exit=USAGE)
        self.run.append(word)

    def _timeout(self) -> float | None:
        found = None
        for at, word in enumerate(self.run):
            name, equals, value = word.partition("=")
            if name == "--timeout":
                found = seconds(value if equals else "".join(self.run[at + 1 : at + 2]))
        return found


def seconds(text: str) -> float:
    """A time to wait. Raises PflowError (2)."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.001 <= value <= 10 * 365 * 24 * 3600:
        raise PflowError(f"cannot take --timeout={text}: it is no time to wait", hint="seconds", exit=USAGE)
    return value


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
        missing = [] if has_stdin else missing_inputs(proposal.wired, proposal.values, lambda path: False)
        if missing and not os.isatty(2):
            raise nothing_gives(proposal.wired, missing)
        return refusals(proposal.wired, proposal.values, self.allowed, has_stdin=has_stdin)
