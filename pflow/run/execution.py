"""One execution of a flow by `pflow run`: its inputs, its store, the run itself, and the document that comes out."""

from __future__ import annotations

import time

from pflow import TYPE_CHECKING
from pflow.binding.resolve import is_stored
from pflow.binding.sources import Constant, assign, has
from pflow.binding.store import NodeStore
from pflow.errors import BUG, CLOSED_PIPE, OK, PflowError
from pflow.paths import meet, parse_path, write_path
from pflow.process.signals import ClosedPipe, Deadline, Interrupted
from pflow.run.engine.context import Context
from pflow.run.engine.engine import Engine
from pflow.run.engine.subflow import set_defaults
from pflow.run.io import RunInputs, add_entry, carry_in, check_stdin, hand_on, outputs, shows, streaming_step, used_keys
from pflow.run.listeners import PROGRAM, Listeners
from pflow.run.snapshot import Snapshot
from pflow.stage.document import new_run_id
from pflow.stage.trace import add_step, step_id
from pflow.terminal.messages import say, write_stderr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.flow.wired import WiredFlow, WiredStep
    from pflow.paths import Path
    from pflow.run.arguments import RunFlags
    from pflow.run.flags import Target
    from pflow.run.io import RunInputs
    from pflow.stage.document import Document, Intake
    from pflow.stage.output import Output


class Execution:
    """Begin, run, show."""

    def __init__(self, wired: WiredFlow, flags: RunFlags, intake: Intake, output: Output) -> None:
        self.wired = wired
        self.flags = flags
        self.intake = intake
        self.document = intake.document
        self.output = output
        self.shared = NodeStore(self.document, has_copies=False)
        self.reads: dict[str, str] = {}
        """Where each input of the flow came from."""
        self.snapshot = Snapshot()
        self.run_id = new_run_id()
        self.name = wired.flow.name or "flow"

    def begin(self, targets: list[tuple[Target, Any]]) -> None:
        """Make the store that the steps begin with. Raises PflowError before any step runs, and asks on a terminal."""
        wired, document = self.wired, self.document
        self.inputs = RunInputs(wired, targets)
        check_stdin(wired, self.intake, self.inputs.values, allow_empty=self.flags.allow_empty)
        flags = {name: wired.inputs[name].flag for name in self.inputs.values if name in wired.inputs}
        carried = carry_in(wired, document, self.inputs.values)
        keys = used_keys(wired)
        self.piped = {key: self.shared[key] for key in document if keys is None or key in keys}
        self.reads = {**self._read_from_store(), **carried, **flags}
        answers = self._ask()
        for name, value in self.inputs.values.items():
            known = wired.inputs.get(name)
            if known is None or known.step is None:  # what is for one step alone, that step keeps
                assign(self.shared, known.path if known else (name,), value)
        set_defaults(wired, self.shared)
        if not self.is_dry:  # which leaves no run
            self._note(targets, answers)

    @property
    def is_dry(self) -> bool:
        return self.flags.dry_run or "dry" in self.document.header

    def _ask(self) -> dict[str, Any]:
        from pflow.run.ask import ask_for, missing_inputs

        missing = missing_inputs(self.wired, self.inputs.values, self._has)
        answers = ask_for(self.wired, missing, is_dry=self.is_dry)
        for name, value in answers.items():
            self.inputs.set_input(name, value)
            self.reads[name] = self.wired.inputs[name].flag
        return answers

    def _has(self, path: Path) -> bool:
        """Whether the store that came in has something at a path, or a dry stage would have written it."""
        pretended = [parse_path(each) for each in self.document.header.get("dry", [])]
        return has(self.shared, path) or any(meet(path, each) for each in pretended)

    def _read_from_store(self) -> dict[str, str]:
        there = [each for each in self.wired.inputs.values() if each.step is None and has(self.shared, each.path)]
        return {each.name: write_path(each.path) for each in there}

    def _note(self, targets: list[tuple[Target, Any]], answers: dict[str, Any]) -> None:
        """Note in the snapshot what was given from outside; a flag counts before what came by the pipe."""
        self.snapshot.note_piped(self.wired, self.document, self.piped, kind=self.intake.kind)
        for target, value in targets:
            self.snapshot.note_flag(self.wired, target, value)
        for name, value in answers.items():
            self.snapshot.inject(self.wired.inputs[name].path, value)
        self.snapshot.note_environment(self.wired, self.inputs)

    def pretend(self) -> None:
        """Say what would be run, and hand the store on, marked."""

        self.output.write_document(pretend(self.wired, self.inputs, self.document, self.name))

    def run(self) -> Document:
        """Run the flow, and give the store document that it leaves. Raises StepFailed."""
        listeners = Listeners(self.wired, self.run_id, self.name, self.document, self.snapshot)
        listeners.begin(self.flags, self.output.end_line)
        code, failed = BUG, None
        try:
            document = self._run(self._context(listeners))
            code = OK
            return document
        except ClosedPipe:
            code = CLOSED_PIPE
            raise
        except PflowError as error:
            code, failed = error.exit, error
            raise
        except Interrupted as interrupted:
            code, failed = interrupted.exit, interrupted.as_error()
            raise
        finally:
            listeners.finish(code, failed, self.shared.known())

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
                self.output.emit(part)

            context.emitter = streaming_step(self.wired) or ""
            context.emit = emit
        return context

    def _run(self, context: Context) -> Document:
        begun = time.monotonic()
        self._run_steps(context)
        document = self.document.copy()
        found = outputs(self.wired, self.shared)
        hand_on(document, self.wired, found, context.carried)
        ms = int((time.monotonic() - begun) * 1000 + 0.5)
        add_entry(document, self.name, self.run_id, self.reads, found, ms)
        return document

    def _run_steps(self, context: Context) -> None:
        engine = Engine(self.wired, context, self.inputs.params, self.inputs.data)
        with Deadline(self.flags.timeout):
            engine.run(self.shared)

    def show(self, document: Document) -> None:
        if self.flags.show_store:
            from pflow.jsontext import text_of

            for key, value in self.shared.known().items():
                shown = f"{len(value)} bytes" if isinstance(value, bytes) else text_of(value)
                write_stderr(f"{key} = {shown}\n")
        self.output.finish(document, shows=shows(self.wired, document))


_TELLING = ("path", "directory", "command")
"""Reads whose values say what a step would touch."""


def pretend(flow: WiredFlow, inputs: RunInputs, document: Document, name: str) -> Document:
    """Say each step on stderr; the document for the stages after it, marked with the places that would be written."""
    for id in flow.graph.order():
        say("pflow run", _would(flow, flow.steps[id], inputs, document))
    document = document.copy()
    if flow.carried is not None:
        document.header["last"] = write_path(flow.carried)
    places = list(flow.flow.outputs) or [write_path(place) for place in _places(flow, inputs)]
    document.header["dry"] = list(dict.fromkeys([*document.header.get("dry", []), *places]))
    add_step(document, {"id": step_id(document, name, None), "node": f"flow:{name}", "dry": True})
    return document


def _places(flow: WiredFlow, inputs: RunInputs) -> Iterator[Path]:
    """Where the flow would put something: what it is given, and the data and the writes of each step."""
    for name in inputs.values:
        known = flow.inputs.get(name)
        yield known.path if known else (name,)
    for wired in flow.steps.values():
        for key in [*wired.step.inputs, *inputs.data.get(wired.id, ())]:
            if is_stored(wired.interface, key, wired.step.params):
                yield wired.data_place(key)
        for key in [*wired.interface.writes, *wired.targets]:
            yield wired.place_of(key)


def _would(flow: WiredFlow, wired: WiredStep, inputs: RunInputs, document: Document) -> str:
    values = dict(_values(flow, wired, inputs))
    parts = [f"would run {wired.id} ({wired.step.type})"]
    reads = [f"{key} from {origin}" for key, origin in _origins(wired, values, document)]
    if reads:
        parts.append("reads " + ", ".join(reads))
    writes = [write_path(wired.place_of(key)) for key in wired.interface.writes]
    if writes:
        parts.append("writes " + ", ".join(writes))
    if wired.interface.effects:
        parts.append(", ".join(wired.interface.effects))
    parts += [f"{key}: {values[key]}" for key in _TELLING if key in values]
    return "; ".join(parts)


def _values(flow: WiredFlow, wired: WiredStep, inputs: RunInputs) -> Iterator[tuple[str, Any]]:
    """What the flow and the flags give a step, as far as it is known before the steps run."""
    for key, source in wired.sources.items():
        if isinstance(source, Constant):
            yield key, source.value
    for name, each in flow.inputs.items():
        for step, key in each.readers:
            if step == wired.id and name in inputs.values:
                yield key, inputs.values[name]
    yield from inputs.data.get(wired.id, {}).items()


def _origins(wired: WiredStep, values: dict[str, Any], document: Document) -> Iterator[tuple[str, str]]:
    """Where each read comes from; nothing of those that are left at their default."""
    for key, item in wired.interface.reads.items():
        source = wired.sources.get(key)
        if source is not None and source.paths:
            yield key, source.origin
        elif key in values:
            yield key, item.flag
        elif item.required or (key in document and "explicit" not in item.marks):
            yield key, key
