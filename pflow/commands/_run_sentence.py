"""pflow 'SENTENCE': Plan a flow from a sentence, show it, ask, and run it.

The sentence is one argument. A model plans the flow, which must pass the rules of pflow check. Nothing runs before it
is shown and allowed. Other flags are those of pflow run, and of the flow itself: --path=notes.txt. Piped input is read
first, and becomes an input of the flow. The model is told its size, or the keys of a store with their types, never a
value. -n leaves stdin alone.

Without a terminal it runs only with --yes. That allows the network, and files below this directory that are not hidden.
Commands, files that are elsewhere, hidden or not known yet, and MCP servers need --allow. While the flow runs, a
symbolic link that leads outside the allowed files is refused (77), and no step can write pflow's or llm's own files. If
the kernel has Landlock (Linux 6.2), this holds for commands too; they can still read anywhere, and change modes and
times of files that are yours. Without Landlock, commands are not confined, and a node of yours that opens files needs
--allow=paths, which ends the confinement. pflow plan prints the flow without running it.

A plan is in doubt if a file, number, address or quoted text of the sentence is in no step, or if a step has one that is
not in the sentence. The doubts are shown above the question, and --yes refuses them (77). A flag that gives the value
removes its doubt. Otherwise, say it in other words, or answer the question.
"""

import os
from collections.abc import Callable
from typing import TypeVar

from pflow.commands._command import FRESH, MODEL, Command, known_words, own, run_command
from pflow.driver.arguments import RunFlags
from pflow.driver.budget import Budget
from pflow.driver.driver import Driver, end_early, ends_early, parse
from pflow.driver.inputs import RunInputs, inputs_missing, missing_inputs
from pflow.errors import DENIED, OK, USAGE, PflowError, shorten
from pflow.flow.findings import refuse_errors
from pflow.flow.flow import FlowSpec
from pflow.flow.subflow import wire_and_check
from pflow.help.spec import metavar
from pflow.interface.common import COMMON, OF_RUNS
from pflow.interface.interface import TEXTS, Flag, argument
from pflow.plan.gate import COMMANDS, Allowed, Gate, Refusal, bounds_text
from pflow.plan.inputs import Piped, piped_in
from pflow.plan.planner import Unplannable, plan_sentence
from pflow.plan.proposal import Dialogue, Proposal, draft_text, proposal_text, show
from pflow.process.confine import has_landlock
from pflow.process.signals import Interrupted, catch_signals, die_of
from pflow.process.streams import Diverted, closed_stdout
from pflow.stage.document import NOTHING, Document, Intake, take_in_for
from pflow.stage.output import Output
from pflow.stage.words import groups, is_asked, is_flag, is_known, split_flag, take_words
from pflow.stage.wrong_words import doubts
from pflow.terminal.ask import Terminal, open_terminal
from pflow.terminal.columns import colour_of
from pflow.terminal.messages import say
from pflow.text.naming import is_slip
from pflow.text.printable import clean, counted
from pflow.values.usage import Calls

T = TypeVar("T")


def main(words: list[str], closed: list[int]) -> int:
    """Plan a flow from the first word and run it. `closed` are the standard files that were closed.

    Raises PflowError: 2 for wrong flags, 77 if the flow may not run, and the errors of planning.
    """
    if not is_asked("help", words, command.spec.fields):
        check_words(words[1:])
    return run_command(command, words, closed=closed)


def check_words(words: list[str]) -> None:
    """Raise PflowError (2), before a model is paid, for words that no planned flow can take.

    They are a bare word, an unknown letter, a misspelt flag of this command, or a misspelt switch of pflow run. A flag
    with a value may belong to the flow, so it is refused only if it differs in one letter from a flag of a run.
    """
    own_items, of_runs = command.spec.fields, {name: own(flag) for name, flag in OF_RUNS.items()}
    switches = {name: field for name, field in of_runs.items() if not metavar(field)}
    for found, (word, *values) in groups(words, own_items | OF_RUNS, is_open=True):
        flag, sign, _ = split_flag(word)
        bare = values if word == "--" else [] if is_flag(word) else [word]
        if bare:
            text = shorten(bare[0])
            what = f"cannot take the bare word '{text}': a sentence is one argument, and only flags follow it"
            raise PflowError(what, hint="put quotes around the whole sentence", exit=USAGE)
        if is_known(word, found) or word == "--":
            continue
        if word.startswith("--") and flag != "--":
            slips = {name: field for name, field in of_runs.items() if is_slip(flag[2:].replace("-", "_"), name)}
            doubts(flag, (slips if sign or values else switches) | own_items)
        else:
            take_words([word], own_items | OF_RUNS)


@Command(
    __doc__,
    Flag("yes", "run the flow without asking, if --allow allows it"),
    Flag(
        "allow",
        "also allow commands, any path, anything, the tools of an MCP server, or files below a directory",
        type=TEXTS,
        metavar="commands|paths|anything|mcp-NAME|DIR",
        choices=("commands", "paths", "anything"),
    ),
    MODEL,
    FRESH,
    own(COMMON["timeout"], "end planning and the run after so many seconds each, with 124"),
    own(COMMON["dry_run"], "show the flow and what it would do, without running it"),
    argument("", name="sentence", required=True),
    others="words",
)
def command(
    closed: list[int], sentence: str, words: list[str], yes: bool, allow: list[str], model: str | None, fresh: bool,
    timeout: float | None, dry_run: bool,
) -> int:  # fmt: skip
    words = [*words, *["--dry-run"] * dry_run, *([f"--timeout={timeout:g}"] if timeout else [])]
    flags = RunFlags(take_words(known_words(words, OF_RUNS, is_open=True)[0], OF_RUNS))
    allowed = Allowed(allow)
    if 1 in closed and not flags.quiet:  # say so before a model is paid
        raise closed_stdout("-q prints nothing")
    terminal = None if yes or dry_run else open_terminal()
    document: Document | None = None

    def work() -> int:
        nonlocal document
        intake = take_in_for(flags)
        document = intake.document
        if ends_early(intake, flags):
            return end_early(Output(words), intake, flags, "flow")
        planning = Budget(flags.limits, whose="the plan")
        calls = planning.calls() if flags.limits else Calls()
        with Diverted():  # a model's library may print, but stdout is for the result
            flow = plan(sentence, model, timeout, fresh=fresh, piped=piped_in(intake), calls=calls)
            proposal = Proposal(flow, words, flow.description)
            refuse_errors(proposal.findings)
            decided = _ask(proposal, terminal) if terminal else _judge(proposal, allowed if yes else None, intake)
        for fd in closed if decided else ():
            os.close(fd)
        return run_planned(decided, intake, allowed if yes else None, planning) if decided else OK

    try:
        return with_signals(work)
    except PflowError as error:
        error.store = document
        raise


def run_planned(decided: Proposal, intake: Intake, allowed: Allowed | None, planning: Budget) -> int:
    """Run a flow within the bounds of `allowed`, with the shown inputs, which no key of the incoming store replaces."""
    confined = bounds_text(decided.wired, allowed) if allowed else ""

    def prepare() -> tuple[RunFlags, RunInputs, Intake]:
        wired = wire_and_check(decided.flow, opens_files=not confined)
        flags, inputs = parse(wired, decided.words)
        for name in [name for name in decided.values if name in wired.inputs and name not in inputs.values]:
            inputs.set_input(name, decided.values[name])
        inputs.confined = confined
        inputs.planned = [{"event": "budget", "used": planning.used, "limits": {}, "seen": planning.seen}]
        return flags, inputs, intake

    code = Driver().run_prepared(decided.flags, prepare)
    if code and allowed and confined and allowed.allows(COMMANDS) and has_landlock():
        say("pflow", "its commands could write only in the allowed directories: --allow=DIR, or --allow=paths")
    return code


def with_signals(work: Callable[[], T]) -> T:
    """Do the work and return its result. A signal ends this process in order; a --timeout raises PflowError (124)."""
    try:
        catch_signals()
        return work()
    except Interrupted as interrupted:
        if interrupted.signal:
            die_of(interrupted.signal)
        raise interrupted.as_error() from None


def plan(
    sentence: str, model: str | None, timeout: float | None, *, fresh: bool, piped: Piped | None,
    calls: Calls | None = None,
) -> FlowSpec:  # fmt: skip
    """Plan a flow. If no try passes, show the best one and its findings on stderr, then raise the error."""
    try:
        return plan_sentence(
            sentence, model=model, fresh=fresh, timeout=timeout, report=_report, piped=piped, calls=calls
        )
    except Unplannable as error:
        show(draft_text(error.draft, error.findings))
        raise


def _report(text: str) -> None:
    if os.isatty(2):
        show(colour_of(2).dim(clean(text)) + "\n")


def _ask(proposal: Proposal, terminal: Terminal) -> Proposal | None:
    """Return the flow that the person wants to run; None if they only saved it. Raises PflowError (77) for a no."""
    dialogue = Dialogue(proposal, terminal)
    if dialogue.decide():
        return dialogue.proposal
    if dialogue.is_saved:
        return None
    raise PflowError("not run", exit=DENIED)


def _judge(proposal: Proposal, allowed: Allowed | None, intake: Intake) -> Proposal:
    """Show the flow, unless --yes runs it without a terminal or with -q; return it if it may run without asking.

    Raises PflowError (77) if --allow does not allow all its effects, or if there are doubts about the plan.
    """
    refused, doubted = (_refusals(proposal, allowed, intake), proposal.doubts) if allowed else ([], [])
    if refused or doubted or allowed is None or (os.isatty(2) and not proposal.flags.quiet):
        show(proposal_text(proposal))
    for line in (*(f"not allowed: {each}" for each in refused), *(f"in doubt: {each.message}" for each in doubted)):
        say("pflow", line)
    if refused:
        what = "1 thing is" if len(refused) == 1 else f"{len(refused)} things are"
        hint = " ".join(dict.fromkeys(each.flag for each in refused))
        raise PflowError(f"cannot run the plan: {what} not allowed", hint=hint, exit=DENIED)
    if doubted:
        message = f"cannot run the plan: {counted(len(doubted), 'doubt')} whether it does what the sentence says"
        hint = "say it in other words; without --yes it asks; pflow plan prints it, and pflow run runs that"
        raise PflowError(message, hint=hint, exit=DENIED)
    if allowed is None and not proposal.flags.dry_run:
        hint = "--yes runs it, pflow plan prints it"
        raise PflowError("cannot run the plan: nobody can be asked", hint=hint, exit=DENIED)
    return proposal


def _refusals(proposal: Proposal, allowed: Allowed, intake: Intake) -> list[Refusal]:
    """Return the gate's refusals. Raises PflowError (66) for missing inputs, unless the run can ask a person."""
    has_stdin = intake.kind != NOTHING
    missing = [] if has_stdin else missing_inputs(proposal.wired, proposal.values)
    if missing and not os.isatty(2):
        raise inputs_missing(proposal.wired, missing)
    return Gate(proposal.wired, proposal.values, allowed, has_stdin=has_stdin).refusals()
