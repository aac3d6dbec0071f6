"""`pflow run`: a flow as a stage, from its words to its exit code."""

from __future__ import annotations

import os
import sys

from pflow import Any, Callable, Sequence
from pflow.driver.arguments import PROGRAM, RunFlags, separators, split, without_bare
from pflow.driver.inputs import RunInputs
from pflow.engine.context import StepFailed
from pflow.errors import TRY_AGAIN, PflowError
from pflow.flow.findings import refuse_errors
from pflow.flow.flags import FlowFlags
from pflow.flow.flow import FlowSpec
from pflow.flow.pipe.carry import carried_behind
from pflow.flow.subflow import is_stdin, load_usable, wire_and_check
from pflow.flow.wired_flow import WiredFlow
from pflow.interface.common import OF_RUNS, is_shared
from pflow.process.signals import end_in_order
from pflow.process.streams import closed_stdout
from pflow.stage.document import NOTHING, Document, Intake, take_in_for
from pflow.stage.flags import parsing_limit
from pflow.stage.output import Output
from pflow.stage.words import flags_in, is_asked, is_on, take_words
from pflow.terminal.messages import say, say_error
from pflow.values.secrets import Secrets, mask_flags
from pflow.values.usage import usage_of


class Driver:
    """One run of a flow, and the process around it."""

    def __init__(self, program: str = PROGRAM) -> None:
        self.program = program
        self.document: Document | None = None
        self.debug = False
        self.secrets = Secrets()
        self.name = "flow"
        self.entry: dict[str, Any] = {"node": "flow:flow"}

    def run(self, words: list[str]) -> int:
        """Run the words; return the exit code. It raises nothing; a signal may end the process."""
        return self._in_order(words, lambda: self._run_words(words))

    def run_flow(self, make: Callable[[], FlowSpec], words: list[str]) -> int:
        """Run the flow that `make` returns; all `words` are flags."""

        def work() -> int:
            if _asks("help", words):
                return self._print_help(make(), words, synopsis=f"{os.path.basename(sys.argv[0])} [FLAG]…")
            return self._run(make(), words)

        return self._in_order(words, work)

    def run_prepared(self, flags: RunFlags, prepare: Callable[[], tuple[RunFlags, RunInputs, Intake]]) -> int:
        """Run the flow with the flags, inputs and intake that `prepare` returns; report failures as `flags` say."""
        words = [f"--{name}" for name in ("raw", "json", "quiet", "debug") if getattr(flags, name)]
        return self._in_order(words, lambda: self._execute(*prepare()))

    def _in_order(self, words: list[str], work: Callable[[], int]) -> int:
        self.output = Output(without_bare(words))
        self.debug = is_on("debug", self.output.said)
        return end_in_order(work, self._fail)

    def _run_words(self, words: list[str]) -> int:
        flow_words, flag_words = split(words)
        if _asks("help", flag_words) and not separators(flow_words):
            return self._print_help(load_usable(flow_words[:1]) if flow_words else None, flag_words, flow_words[:1])
        intake = Intake(Document(), NOTHING) if is_stdin(flow_words) else None
        with parsing_limit(flags_in(flag_words, OF_RUNS, is_open=True)):
            flow = load_usable(flow_words)
        return self._run(flow, flag_words, intake=intake)

    def _print_help(
        self, flow: FlowSpec | None, words: list[str], named: Sequence[str] = (), synopsis: str = ""
    ) -> int:
        """Print the help of the flow that the words in `named` name; with -v among `words`, the whole help."""
        from pflow.driver.arguments import help_of

        if self.output.is_closed:
            raise closed_stdout()
        self.output.write([help_of(flow, [*named], synopsis, is_whole=_asks("verbose", words)).encode()])
        return 0

    def _run(self, flow: FlowSpec, words: list[str], intake: Intake | None = None) -> int:
        self.name = flow.name or "flow"
        wired = wire_and_check(flow)
        self._note(wired)
        return self._execute(*parse(wired, words), intake)

    def _note(self, wired: WiredFlow) -> None:
        """Note the flow's entry for the trace; a failure needs it too."""
        self.name = wired.flow.name or "flow"
        self.entry = {"node": f"flow:{self.name}"}
        if carries := carried_behind(wired):
            self.entry["carries"] = carries

    def _execute(self, flags: RunFlags, inputs: RunInputs, intake: Intake | None) -> int:
        self._note(inputs.wired)
        if flags.unconfined:
            from pflow.catalog.confinement import set_free

            set_free(flags.unconfined)
        if flags.locked:
            from pflow.flow.lock import drift

            refuse_errors(drift(inputs.wired), hint="pflow check --locked lists them")
        self.debug = flags.debug
        self.output.apply_flags(flags)
        if isinstance(flags.refresh, str):
            from pflow.driver.decisions import refuse_unknown

            refuse_unknown(inputs.wired, "refresh", flags.refresh)
        from pflow.driver.execution import execute

        intake = intake or take_in_for(flags)
        self.document = intake.document
        if ends_early(intake, flags):
            return end_early(self.output, intake, flags, self.name)
        self.document.start()
        if flags.if_running is None or flags.dry_run or "dry" in intake.document.header:
            return execute(inputs, intake, flags, self.output, self.secrets)
        return self._run_in_turn(inputs, flags, intake)

    def _run_in_turn(self, inputs: RunInputs, flags: RunFlags, intake: Intake) -> int:
        """Run the flow if no other run of it goes on; else do what --if-running says."""
        from pflow.driver.execution import execute
        from pflow.driver.overlap import SKIP, WAIT, FlowLock

        lock = FlowLock(inputs.wired.flow)
        try:
            other = lock.try_lock()
            if other and flags.if_running == SKIP:
                entry = {"id": intake.document.step_id(self.name), **self.entry}
                return self.output.skip(PROGRAM, intake.document, entry, is_told=flags.verbose, why=str(other))
            if other and flags.if_running == WAIT:
                if flags.verbose:
                    say(PROGRAM, f"waiting: {other}")
                lock.wait(flags.timeout)
            elif other:
                hint = f"--if-running={WAIT} waits for its end"
                raise PflowError(f"cannot run '{self.name}': {other}", hint=hint, exit=TRY_AGAIN)
            return execute(inputs, intake, flags, self.output, self.secrets)
        finally:
            lock.release()

    def _fail(self, error: PflowError) -> int:
        """Print the error on stderr, write an error document, and return the exit code."""
        self.secrets.hide(error)
        step, node = (error.step, error.node) if isinstance(error, StepFailed) else (self.name, self.name)
        where = f"{self.program}: {step} ({node})" if isinstance(error, StepFailed) else self.program
        say_error(where, error, debug=self.debug)
        if not self.output.has_begun:
            document = self.document or Document()
            about = {**self.entry, **usage_of(error), "exit": error.exit}
            document.add_step({"id": document.step_id(self.name), **about})
            self.output.write_error(document, step, node, error)
        return error.exit


def _asks(name: str, words: list[str]) -> bool:
    return is_asked(name, words, OF_RUNS, is_open=True)


def ends_early(intake: Intake, flags: RunFlags) -> bool:
    """Return True if an earlier stage has ended the pipe, or --skip-empty ends it here."""
    return intake.ended_with is not None or (flags.skip_empty and intake.is_empty())


def end_early(output: Output, intake: Intake, flags: RunFlags, name: str) -> int:
    """Pass the incoming document on without a run; return the exit code."""
    if intake.ended_with is not None:
        return output.pass_on(intake)
    entry = {"id": intake.document.step_id(name), "node": f"flow:{name}"}
    return output.skip(PROGRAM, intake.document, entry, is_told=flags.verbose or flags.dry_run)


def parse(wired: WiredFlow, words: list[str]) -> tuple[RunFlags, RunInputs]:
    """Return the flags of the run, and the inputs that flags of the flow set."""
    flow_flags = FlowFlags(wired)
    fields = flow_flags.fields()
    try:
        hint = f"flags: {flow_flags.listed}; --help lists all"
        with parsing_limit(flags_in(words, fields, is_open=flow_flags.is_open)):
            texts = take_words(words, fields, is_open=flow_flags.is_open, hint=hint)
    except PflowError as error:
        error.hint = error.hint.replace("--help lists", "pflow run FLOW --help lists")
        of_steps = (field for step in wired.steps.values() for field in step.interface.params.values() if field.letter)
        for field in of_steps:
            if error.message.startswith(f"cannot take -{field.letter}:"):
                error.hint = f"-{field.letter} stands in the quotes of the flow; {field.flag}=… may stand behind them"
        raise mask_flags(error, words, [name for name, field in fields.items() if field.is_secret]) from None
    flags = RunFlags(texts)
    if flags.encoding:
        texts |= {name: [flags.encoding] for name in flow_flags.encodings() if name not in texts}
    elif wired.first_read and is_shared(wired.steps[wired.first_read[0]].interface.params.get("encoding")):
        written = wired.steps[wired.first_read[0]].step.params.get("encoding")
        flags.encoding = written if isinstance(written, str) and "$" not in written else None
    values = flow_flags.values(texts)
    for warning in flow_flags.warnings:
        say(PROGRAM, f"warning: {warning}, and stays as it is")
    return flags, RunInputs(wired, values)
