"""One execution of a plan by `pflow run`: its inputs, its store, the run itself, and the document that comes out."""

from __future__ import annotations

import time

from pflow.binding.places import assign, has
from pflow.errors import BUG, CLOSED_PIPE, OK, PflowError
from pflow.paths import meet, parse_path, write_path
from pflow.process.signals import Interrupted
from pflow.process.stdout import ClosedPipe
from pflow.run import outcome
from pflow.run.context import Context
from pflow.run.engine import Engine
from pflow.run.given import give
from pflow.run.listeners import PROGRAM, Listeners
from pflow.run.noting import note_environment, note_flag, note_piped
from pflow.run.snapshot import Snapshot
from pflow.run.stdin import carry_in, check_stdin, used_keys
from pflow.run.subflow import set_defaults
from pflow.stage.document import new_run_id
from pflow.terminal.messages import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import WiredFlow
    from pflow.paths import Path
    from pflow.run.deadlines import Deadline
    from pflow.run.flags import Target
    from pflow.run.words import RunFlags
    from pflow.stage.document import Document
    from pflow.stage.intake import Intake
    from pflow.stage.output import Output


class Execution:
    """Begin, run, show."""

    def __init__(self, plan: WiredFlow, flags: RunFlags, intake: Intake, output: Output) -> None:
        self.plan = plan
        self.flags = flags
        self.intake = intake
        self.document = intake.document
        self.output = output
        self.shown = outcome.Show(output)
        self.shared: dict[str, Any] = {}
        self.reads: dict[str, str] = {}
        """Where each input of the flow came from."""
        self.original: dict[str, Any] = {}
        self.snapshot = Snapshot()
        self.run_id = new_run_id()
        self.name = plan.flow.name or "flow"

    def begin(self, targets: list[tuple[Target, Any]]) -> None:
        """Settle the inputs and the store. Raises PflowError before any step runs, and asks on a terminal."""
        from pflow.run.ask import ask_for, missing_inputs

        plan, document = self.plan, self.document
        self.given = give(plan, targets)
        check_stdin(plan, self.intake, self.given.inputs, allow_empty=self.flags.allow_empty)
        flags = {name: plan.inputs[name].flag for name in self.given.inputs if name in plan.inputs}
        carried = carry_in(plan, document, self.given.inputs)
        self._decode()
        self.reads = {**self._read_from_store(), **carried, **flags}
        missing = missing_inputs(plan, self.given.inputs, self._has)
        answers = ask_for(plan, missing, is_dry=self.is_dry)
        for name, value in answers.items():
            self.given.give_input(plan, name, value)
            self.reads[name] = plan.inputs[name].flag
        self._inject()
        set_defaults(plan, self.shared)
        if not self.is_dry:  # which leaves no run
            self._note(targets, answers)

    @property
    def is_dry(self) -> bool:
        return self.flags.dry_run or "dry" in self.document.header

    def _has(self, path: Path) -> bool:
        """Whether the store that came in has something at a path, or a dry stage would have written it."""
        pretended = [parse_path(each) for each in self.document.header.get("dry", [])]
        return has(self.shared, path) or any(meet(path, each) for each in pretended)

    def _read_from_store(self) -> dict[str, str]:
        there = [each for each in self.plan.inputs.values() if each.step is None and has(self.shared, each.path)]
        return {each.name: write_path(each.path) for each in there}

    def _decode(self) -> None:
        """The values of the incoming store that this flow may look at."""
        keys = used_keys(self.plan)
        there = self.document.keys()
        for key in there:
            if keys is None or key in keys:
                self.shared[key] = self.original[key] = self.document.get(key)

    def _inject(self) -> None:
        """Put what was given into the store; what is for one step alone, that step keeps."""
        for name, value in self.given.inputs.items():
            known = self.plan.inputs.get(name)
            if known is None or known.step is None:
                assign(self.shared, known.path if known else (name,), value)

    def _note(self, targets: list[tuple[Target, Any]], answers: dict[str, Any]) -> None:
        """Note in the snapshot what was given from outside; a flag counts before what came by the pipe."""
        note_piped(self.snapshot, self.plan, self.document, self.original, kind=self.intake.kind)
        for target, value in targets:
            note_flag(self.snapshot, self.plan, target, value)
        for name, value in answers.items():
            self.snapshot.inject(self.plan.inputs[name].path, value)
        note_environment(self.snapshot, self.plan, self.given)

    def pretend(self) -> None:
        """Say what would be run, and hand the store on, marked."""
        from pflow.run.dry import pretend

        self.output.write_document(pretend(self.plan, self.given, self.document, self.name))

    def run(self) -> Document:
        """Run the flow, and give the store document that it leaves. Raises StepFailed."""
        listeners = Listeners(self.plan, self.run_id, self.name, self.flags, self.document)
        listeners.begin(self.snapshot, self.shown.end_line)
        context = self._context(listeners)
        code, failed = BUG, None
        try:
            document = self._run(context)
            code = OK
            return document
        except ClosedPipe:
            code = CLOSED_PIPE
            raise
        except PflowError as error:
            code, failed = error.exit, error
            raise
        except Interrupted as interrupted:
            code = interrupted.exit
            failed = PflowError(f"cannot finish: {interrupted.message}", exit=code)
            raise
        finally:
            listeners.finish(code, failed, self.shared)

    def _context(self, listeners: Listeners) -> Context:
        context = Context(
            recorder=listeners.recorder,
            jobs=self.flags.jobs,
            isolate=self.flags.isolate,
            warn=lambda text: say(PROGRAM, f"warning: {text}"),
        )
        if self.output.is_streamed:

            def emit(part: str | bytes) -> None:
                listeners.clear()
                self.shown.emit(part)

            context.emitter = outcome.streaming_step(self.plan) or ""
            context.emit = emit
        return context

    def _run(self, context: Context) -> Document:
        begun = time.monotonic()
        deadline = self._set_deadline()
        try:
            Engine(self.plan, context, self.given.params, self.given.data).run(self.shared)
        finally:
            if deadline is not None:
                from pflow.run.deadlines import take_away

                take_away(deadline)
        document = self.document.copy()
        found = outcome.outputs(self.plan, self.shared, self.original, context)
        outcome.hand_on(document, self.plan, found, context.carried)
        ms = int((time.monotonic() - begun) * 1000 + 0.5)
        outcome.add_entry(document, self.name, self.run_id, self.reads, found, ms)
        return document

    def _set_deadline(self) -> Deadline | None:
        if self.flags.timeout is None:
            return None
        from pflow.run.deadlines import set_deadline

        return set_deadline(self.flags.timeout)

    def show(self, document: Document) -> None:
        if self.flags.show_store:
            self._show_store()
        self.shown.finish(self.plan, document)

    def _show_store(self) -> None:
        from pflow.jsontext import text_of
        from pflow.terminal.messages import write_stderr

        for key, value in self.shared.items():
            shown = f"{len(value)} bytes" if isinstance(value, bytes) else text_of(value)
            write_stderr(f"{key} = {shown}\n")
