"""One execution of a flow by `pflow run`: its store, the run itself, and the document that comes out."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.sources import PathSource, assign
from pflow.binding.store import REMOVED, NodeStore
from pflow.cache.wishes import Wishes
from pflow.driver.arguments import PROGRAM
from pflow.driver.begin import begin_of
from pflow.driver.inputs import ask_for
from pflow.driver.known_secrets import known_secrets
from pflow.driver.listeners import Listeners
from pflow.driver.snapshot import Snapshot
from pflow.engine.context import Context, drop
from pflow.engine.engine import Engine, outputs_of, set_defaults
from pflow.errors import PflowError
from pflow.process.signals import ClosedPipe, Deadline
from pflow.stage.document import new_run_id
from pflow.stage.trace import add_step, step_id
from pflow.stage.visit import Visit
from pflow.terminal.messages import say, write_stderr
from pflow.values.paths import parse_path, write_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.driver.arguments import RunFlags
    from pflow.driver.begin import Begin
    from pflow.driver.inputs import RunInputs
    from pflow.driver.resume.reopen import Reopened
    from pflow.flow.wired import WiredFlow
    from pflow.stage.document import Document, Intake
    from pflow.stage.output import Output
    from pflow.values.masks import Secrets
    from pflow.values.paths import Path


class Execution:
    """Take in, run, show. `note` gets the id of the run."""

    def __init__(
        self, inputs: RunInputs, flags: RunFlags, output: Output, secrets: Secrets, note: Callable[[str], None] = drop
    ) -> None:  # fmt: skip
        self.wired = inputs.wired
        self.inputs = inputs
        self.flags = flags
        self.output = output
        self.secrets = secrets
        self.note = note
        self.name = self.wired.flow.name or "flow"

    def run(self, intake: Intake) -> None:
        """Run the flow on the store that came in and write the one that it leaves. Raises PflowError, StepFailed.

        What is missing is asked for on a terminal.
        """
        document = intake.document
        is_dry = self.flags.dry_run or "dry" in document.header
        self.inputs.take_pipe(intake, allow_empty=self.flags.allow_empty)
        for name, value in ask_for(self.wired, self.inputs.missing(document), is_dry=is_dry).items():
            self.inputs.set_input(name, value)
        if is_dry:
            from pflow.driver.dry_run import pretend

            left = pretend(self.inputs, document)
            self._add_entry(left, {"dry": True})
            self.output.write_document(left)
            return
        shared = NodeStore(document, has_copies=False)
        self.secrets.add([*known_secrets(self.inputs, shared)])
        snapshot = self._snapshot(intake, shared)
        begin = begin_of(self.inputs, intake, self.flags)
        for path, value in self.inputs.stored().items():
            assign(shared, path, value)
        set_defaults(self.wired, shared)
        self.secrets.add([*known_secrets(self.inputs, shared)])
        self._run(document, shared, snapshot, begin)

    def _piped(self, intake: Intake, shared: NodeStore) -> dict[str, Any]:
        """What came through the pipe and the flow may look at."""
        document, keys = intake.document, used_keys(self.wired)
        taken = parse_path(document.header["last"])[0] if self.inputs.piped_path is not None else None
        return {key: shared[key] for key in document if keys is None or key in keys or key == taken}

    def _snapshot(self, intake: Intake, shared: NodeStore) -> Snapshot:
        """What this run begins with."""
        snapshot = Snapshot(self.secrets)
        snapshot.note_place(self.wired.flow)
        snapshot.note_piped(self.wired, intake, self._piped(intake, shared))
        snapshot.note_inputs(self.inputs)
        if self.inputs.replayed is not None:
            snapshot.follow(self.inputs.replayed)
        return snapshot

    def _run(self, document: Document, shared: NodeStore, snapshot: Snapshot, begin: Begin) -> None:
        """Run the steps, with whatever listens, and show what they leave: a run whose output was lost is not done."""
        listeners = self._listen(document, shared, snapshot, begin)
        run_id, reopened = listeners.run_id, self.inputs.reopened
        failed: BaseException | None = None
        is_whole = False
        visit = Visit()
        try:
            context = self._context(listeners, run_id, reopened)
            self._run_steps(shared, context)
            left = document.copy()
            found = self._hand_on(left, shared, context.carried)
            visit.reads = {key: (origin,) for key, origin in self.inputs.origins.items()}
            visit.writes = {key: (key,) for key in found}
            self._add_entry(left, {"run": run_id, **visit.entry(), **listeners.usage.members()})
            is_whole = True
            listeners.clear()
            self._show(shared, left)
        except BaseException as error:
            if not is_whole or not isinstance(error, ClosedPipe):  # else its reader had enough
                failed = self.secrets.hide(error) if isinstance(error, PflowError) else error
            if isinstance(failed, PflowError):
                failed.usage = listeners.usage.members()
            raise
        finally:
            listeners.finish(failed, shared.known())

    def _listen(self, document: Document, shared: NodeStore, snapshot: Snapshot, begin: Begin) -> Listeners:
        """Begin a run, or go on with one."""
        if self.flags.resume:
            from pflow.driver.resume.find import alone, find_unfinished

            with alone():
                self.inputs.reopened = find_unfinished(begin, self.wired, self.secrets)
                if self.inputs.reopened is None:
                    return self._begin(document, snapshot, begin)
        if self.inputs.reopened is not None:
            self.inputs.reopened.settle(self.wired, shared)
        return self._begin(document, snapshot, begin)

    def _begin(self, document: Document, snapshot: Snapshot, begin: Begin) -> Listeners:
        reopened: Reopened | None = self.inputs.reopened
        run_id = reopened.run.id if reopened else new_run_id()
        self.note(run_id)
        flags, end_line = self.flags, self.output.end_line
        return Listeners(self.wired, run_id, document, snapshot, self.secrets, flags, end_line, begin, reopened)

    def _context(self, listeners: Listeners, run_id: str, reopened: Reopened | None) -> Context:
        def emit(part: str | bytes) -> None:
            listeners.clear()
            self.output.emit(part)

        def warn(text: str) -> None:
            listeners.clear()
            say(PROGRAM, f"warning: {self.secrets.mask(text)}")

        account = None
        if self.flags.limits or reopened:
            from pflow.driver.budget import budget_of

            account = budget_of(self.flags.limits, listeners.log, reopened.events if reopened else ())
        # It records also where nobody listens: a step that is watched is held to its interface, and no run is laxer.
        return Context(
            write=listeners.write,
            jobs=self.flags.jobs,
            isolate=self.flags.isolate,
            warn=warn,
            secrets=self.secrets,
            run_id=run_id,
            cache=Wishes(self.flags.cache, self.flags.refresh),
            journal=listeners.log.journal if listeners.log is not None else None,
            account=account,
            emit=emit if self.output.is_streamed else None,
            emitter=self._streaming_step() if self.output.is_streamed else "",
        )

    def _run_steps(self, shared: NodeStore, context: Context) -> None:
        for id, name, model in self.inputs.reopened.models if self.inputs.reopened else ():
            self.inputs.set_param(self.wired.steps[id], name, model)
        engine = Engine(self.wired, context, self.inputs.params, self.inputs.data)
        with Deadline(self.flags.timeout):
            engine.run(shared)

    def _hand_on(self, document: Document, shared: NodeStore, carried: Path | None) -> list[str]:
        """Put the outputs into the document, and say what the pipe carries. The outputs that are there.

        They are those that the flow declares, else all that its steps changed. The pipe carries the only output, of
        several the one that is what the steps carry.
        """
        declared = self.wired.flow.outputs
        found = outputs_of(self.wired, shared) if declared else shared.changes(lambda key: True)
        for key, value in found.items():
            try:
                if value is REMOVED:
                    document.remove((key,))
                else:
                    document.set(key, value)
            except PflowError as error:
                raise error.within(f"cannot store '{key}'") from None
        last = self._output_of(carried) if declared else write_path(carried) if carried else None
        if last is not None and (last in found or not declared):
            document.header["last"] = last
        return [key for key, value in found.items() if value is not REMOVED]

    def _output_of(self, carried: Path | None) -> str | None:
        """The output that a pipe carries on."""
        if len(self.wired.flow.outputs) == 1:
            return next(iter(self.wired.flow.outputs))
        sources = self.wired.outputs.items()
        return next((name for name, each in sources if isinstance(each, PathSource) and each.path == carried), None)

    def _add_entry(self, document: Document, about: dict[str, Any]) -> None:
        """Add the one entry that a whole flow is in the trace of a pipe."""
        add_step(document, {"id": step_id(document, self.name, None), "node": f"flow:{self.name}", **about})

    def _show(self, shared: NodeStore, document: Document) -> None:
        if self.flags.show_store:
            from pflow.values.jsontext import text_of
            from pflow.words.printable import clean

            for key, value in shared.known().items():
                text = f"{len(value)} bytes" if isinstance(value, bytes) else self.secrets.mask(text_of(value))
                write_stderr(f"{clean(key)} = " + "\n".join(map(clean, text.split("\n"))) + "\n")
        declared = self.wired.flow.outputs
        makes = any(self.wired.steps[id].interface.pipe_write is not None for id in self._ends())
        self.output.finish(document, shows=document.header.get("last") in declared if declared else makes)

    def _ends(self) -> list[str]:
        """The steps that no edge leaves."""
        graph = self.wired.graph
        return [id for id in graph.order() if not graph.after(id)]

    def _streaming_step(self) -> str:
        """The step whose `[pipe]` write is what the flow hands on, where that is plain before it runs; else ""."""
        ends = self._ends()
        last = self.wired.steps[ends[0]] if len(ends) == 1 else None
        if last is None or last.step.batch or last.interface.pipe_write is None or self.wired.graph.forks():
            return ""
        if not self.wired.flow.outputs:
            return last.id
        place = last.place_of(last.interface.pipe_write.name)
        source = self.wired.outputs.get(self._output_of(place) or "")
        return last.id if isinstance(source, PathSource) and source.path == place else ""


def used_keys(wired: WiredFlow) -> set[str] | None:
    """The top-level keys of a store that a flow may look at; None where that is not known: all of them."""
    keys = {str(path[0]) for source in wired.sources() for path in source.paths}
    for step in wired.steps.values():
        if step.interface.open:
            return None
        keys |= {step.id, *step.interface.reads}
        keys |= {str(step.place_of(key)[0]) for key in [*step.interface.writes, *step.targets]}
    return keys | {str(each.path[0]) for each in wired.inputs.values()}
