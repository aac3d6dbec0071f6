"""One execution of a plan by `pflow run`: its inputs, its store, its log, and the document that comes out."""

from __future__ import annotations

import os
import time

from pflow.errors import PflowError
from pflow.flow.places import assign, has
from pflow.paths import write_path
from pflow.run.context import Context
from pflow.run.engine import Engine
from pflow.run.failure import StepFailed
from pflow.run.flags import give
from pflow.run.record import Recorder
from pflow.run.stdin import carry_in, check_stdin, used_keys
from pflow.run.subflow import outputs_of, set_defaults
from pflow.stage.document import new_run_id
from pflow.stage.failure import say
from pflow.stage.output import DOCUMENT, NOTHING, RAW, TERMINAL
from pflow.stage.signals import Interrupted
from pflow.stage.stdout import as_it_is
from pflow.stage.step import add_step, step_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.flow.plan import Plan
    from pflow.run.flags import Target
    from pflow.run.log import RunLog
    from pflow.run.progress import Progress
    from pflow.run.words import RunFlags
    from pflow.stage.document import Document
    from pflow.stage.intake import Intake
    from pflow.stage.output import Output

PROGRAM = "pflow run"


class Execution:
    """Begin, run, show."""

    def __init__(self, plan: Plan, flags: RunFlags, intake: Intake, output: Output) -> None:
        self.plan = plan
        self.flags = flags
        self.intake = intake
        self.document = intake.document
        self.output = output
        self.shared: dict[str, Any] = {}
        self.original: dict[str, Any] = {}
        self.log: RunLog | None = None
        self.progress: Progress | None = None
        self.run_id = new_run_id()
        self.name = plan.flow.name or "flow"

    def begin(self, targets: list[tuple[Target, Any]]) -> None:
        """Settle the inputs and the store. Raises PflowError before any step runs, and asks on a terminal."""
        from pflow.run.ask import ask_for, missing_inputs
        from pflow.run.snapshot import Snapshot

        plan, document = self.plan, self.document
        self.given = give(plan, targets)
        given = self.given.inputs
        check_stdin(plan, self.intake, given, allow_empty=self.flags.allow_empty)
        carry_in(plan, document, given)
        self._decode()
        missing = missing_inputs(plan, given, lambda path: has(self.shared, path))
        is_dry = self.flags.dry_run or "dry" in document.header
        answers = ask_for(plan, missing) if not is_dry else {}
        for name, value in answers.items():
            self.given.give_input(plan, name, value)
        self._inject()
        set_defaults(plan, self.shared)
        self.snapshot = Snapshot()
        for target, value in targets:
            self._note_flag(target, value)
        for name, value in answers.items():
            self.snapshot.inject(plan.inputs[name].path, value, secret=plan.inputs[name].secret)
        if self.intake.kind == "raw" and "stdin" in document:
            self.snapshot.inject_piped(("stdin",), b"".join(self.intake.chunks))

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

    def _note_flag(self, target: Target, value: Any) -> None:
        is_secret = "secret" in target.item.marks
        if target.kind == "param":
            self.snapshot.override(target.step, target.key, value, secret=is_secret)
        elif target.kind == "data":
            self.snapshot.inject((target.step, target.key), value, secret=is_secret)
        else:
            known = self.plan.inputs.get(target.key)
            self.snapshot.inject(known.path if known else (target.key,), value, secret=is_secret)

    def run(self) -> Document:
        """Run the flow, and give the store document that it leaves. Raises StepFailed."""
        self._open_log()
        begun = time.monotonic()
        context = self._context()
        deadline = None
        error: PflowError | None = None
        code = 0
        try:
            if self.flags.timeout is not None:
                from pflow.run.deadlines import set_deadline

                deadline = set_deadline(self.flags.timeout)
            Engine(self.plan, context, self.given.params, self.given.data).run(self.shared)
            document = self._document(context, begun)
        except PflowError as failed:
            error, code = failed, failed.exit
            raise
        except Interrupted as interrupted:
            code = interrupted.exit
            raise
        finally:
            if deadline is not None:
                from pflow.run.deadlines import take_away

                take_away(deadline)
            self._close(context, code, error)
        return document

    def pretend(self) -> None:
        """Say what would be run, and hand the store on, marked."""
        from pflow.run.dry import say_steps

        document = self.document.copy()
        places = say_steps(self.plan)
        last = self.plan.carried_output
        if last is not None:
            document.header["last"] = last
        document.header["dry"] = [*document.header.get("dry", []), *places]
        add_step(document, {"id": step_id(document, self.name, None), "node": f"flow:{self.name}", "dry": True})
        self.output.write_document(document)

    def _open_log(self) -> None:
        from pflow.flow.hash import flow_hash
        from pflow.run.log import RunLog, runs_directory
        from pflow.stage.step import enter_span

        enter_span(self.document)
        if runs_directory() is None:
            return
        plan = self.plan
        digest = flow_hash(plan)
        self.log = RunLog.open(
            self.run_id, self.name, self._flow_text, digest, len(plan.steps),
            traceparent=self.document.header.get("traceparent"),
        )  # fmt: skip
        if self.log is not None:
            self.log.write_snapshot(self.snapshot.as_json(digest))

    def _flow_text(self) -> bytes:
        from pflow.flow.unload import flow_to_ir
        from pflow.jsontext import encode

        return encode(flow_to_ir(self.plan.flow)) + b"\n"

    def _context(self) -> Context:
        from pflow.run.progress import Progress, wants_progress

        if wants_progress(quiet=self.flags.quiet):
            self.progress = Progress(len(self.plan.steps))
        takers: list[Callable[[bytes], None]] = [self.log.line] if self.log else []
        if self.progress:
            takers.append(self.progress.take)
        if self.flags.verbose:
            from pflow.run.progress import say_places

            takers.append(say_places)
        if os.environ.get("PFLOW_TRACE", "0") not in ("", "0"):
            from pflow.stage.events import write_lines

            takers.append(lambda lines: write_lines(PROGRAM, lines))

        def take(lines: bytes) -> None:
            for each in takers:
                each(lines)

        one = takers[0] if len(takers) == 1 else take
        context = Context(
            recorder=Recorder(one) if takers else None,
            jobs=self.flags.jobs,
            isolate=self.flags.isolate,
            warn=lambda text: say(PROGRAM, f"warning: {text}"),
        )
        if self.output.is_streamed:
            context.emitter = self._last_step() or ""
            context.emit = self._emit
        return context

    def _emit(self, part: str | bytes) -> None:
        if self.progress:
            self.progress.finish()
        self.output.emit(part)

    def _last_step(self) -> str | None:
        """The step whose `[pipe]` write is what the flow hands on, where that is plain before it runs."""
        plan = self.plan
        ends = [id for id in plan.graph.order() if not plan.graph.after(id)]
        if len(ends) != 1 or plan.steps[ends[0]].step.batch or plan.steps[ends[0]].interface.pipe_write is None:
            return None
        write = plan.steps[ends[0]].interface.pipe_write
        assert write is not None
        paths = [source.paths for source in plan.outputs.values()]
        place = plan.steps[ends[0]].place_of(write.name)
        return ends[0] if not paths or paths == [(place,)] else None

    def _document(self, context: Context, begun: float) -> Document:
        """The incoming store with the outputs in it: those declared by name, without any all that was written."""
        document = self.document.copy()
        self.outputs = outputs = (
            outputs_of(self.plan, self.shared) if self.plan.flow.outputs else self._changed(context)
        )
        for key, value in outputs.items():
            try:
                document.set(key, value)
            except PflowError as error:
                raise error.within(f"cannot store '{key}'") from None
        if self.plan.flow.outputs:
            last = next(iter(outputs)) if len(self.plan.flow.outputs) == 1 and outputs else None
        else:
            last = write_path(context.carried) if context.carried else None
        if last is not None:
            document.header["last"] = last
        entry: dict[str, Any] = {
            "id": step_id(document, self.name, None),
            "node": f"flow:{self.name}",
            "run": self.run_id,
            "reads": {
                name: write_path(each.path) for name, each in self.plan.inputs.items() if has(self.shared, each.path)
            },
            "writes": {key: key for key in outputs},
            "ms": int((time.monotonic() - begun) * 1000 + 0.5),
        }
        add_step(document, entry)
        return document

    def _changed(self, context: Context) -> dict[str, Any]:
        return {
            key: value
            for key, value in self.shared.items()
            if key in context.touched or key not in self.original or self.original[key] is not value
        }

    def _close(self, context: Context, code: int, error: PflowError | None) -> None:
        if context.recorder is not None:
            context.recorder.flush()
        if self.progress is not None:
            self.progress.finish()
        if self.log is None:
            return
        from pflow.run.log import describe

        about = None
        if error is not None:
            step, node = (error.step, error.node) if isinstance(error, StepFailed) else (self.name, self.name)
            message = error.message.encode("utf-8", "backslashreplace").decode()
            about = {"step": step, "node": node, "exit": code, "message": message}
        self.log.finish(code, error=about, store={key: describe(value) for key, value in self.shared.items()})

    def show(self, document: Document) -> None:
        """Print what came out, in the form that was chosen, as far as it was not streamed."""
        from pflow.paths import parse_path
        from pflow.stage.places import value_to_print

        output = self.output
        if self.flags.show_store:
            self._show_store()
        if output.form in (NOTHING, DOCUMENT):
            output.write_document(document)
            return
        last = document.header.get("last")
        if output.form == RAW and not output.has_begun and last is not None:
            output.write([as_it_is(value_to_print(document, parse_path(last)))])
        if output.form == TERMINAL and last is not None and self._hands_on(document):
            text = as_it_is(value_to_print(document, parse_path(last)))
            output.write([b"" if output.has_begun else text, b"" if text.endswith(b"\n") else b"\n"])

    def _hands_on(self, document: Document) -> bool:
        """Whether the flow itself made what the pipe now carries, at its end."""
        if self.plan.flow.outputs:
            return len(self.outputs) == 1
        ends = [id for id in self.plan.graph.order() if not self.plan.graph.after(id)]
        return any(self.plan.steps[id].interface.pipe_write is not None for id in ends)

    def _show_store(self) -> None:
        from pflow.jsontext import text_of
        from pflow.stage.failure import write_stderr

        for key, value in self.shared.items():
            shown = f"{len(value)} bytes" if isinstance(value, bytes) else text_of(value)
            write_stderr(f"{key} = {shown}\n")
