"""One execution of a flow by `pflow run`: its store, the run itself, and the document that comes out."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Iterator
from pflow.binding.resolve import is_stored
from pflow.binding.sources import Constant, PathSource, TemplateSource
from pflow.binding.store import REMOVED, NodeStore
from pflow.cache.policy import CachePolicy
from pflow.driver.arguments import PROGRAM, RunFlags
from pflow.driver.initial_state import InitialState
from pflow.driver.inputs import RunInputs, ask_for
from pflow.driver.listeners import Listeners
from pflow.engine.context import Context
from pflow.engine.engine import Engine, outputs_of
from pflow.errors import PflowError, Within
from pflow.flow.pipe.carry import carried_behind
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.mcp.client.sockets import begin_run
from pflow.process.signals import ClosedPipe, Deadline, Interrupted
from pflow.stage.document import Document, Intake
from pflow.stage.output import NOTHING, Output, targets_in_words
from pflow.stage.visit import Visit
from pflow.terminal.messages import say, write_stderr
from pflow.text.printable import clean
from pflow.values.jsontext import text_of
from pflow.values.paths import Path, parse_path, write_path
from pflow.values.secrets import Secrets

if TYPE_CHECKING:
    from pflow.driver.earlier_run import Reopened


def execute(inputs: RunInputs, intake: Intake, flags: RunFlags, output: Output, secrets: Secrets) -> int:
    """Run a flow on the incoming store, and write the resulting store; return the exit code.

    Missing inputs are asked for on a terminal. Raises PflowError, StepFailed.
    """
    document = intake.document
    is_dry = flags.dry_run or "dry" in document.header
    inputs = inputs.with_pipe(intake, allow_empty=flags.allow_empty)
    _note_writes(inputs, document)
    for name, value in ask_for(inputs.wired, inputs.missing(document), is_dry=is_dry).items():
        inputs.set_input(name, value)
    for doubt in inputs.doubts(document):
        say(PROGRAM, doubt)
    if not is_dry:
        if inputs.confined:
            from pflow.process.confine import confine

            begin_run()  # before the bounds hold, since its broker makes a socket outside of them
            confine(inputs.confined)
        return Execution(InitialState(inputs, intake, secrets), flags, output).run()
    left = pretend(inputs, document)
    add_flow(left, inputs.wired, {"dry": True})
    output.write_document(left)
    return left.exit


def _note_writes(inputs: RunInputs, document: Document) -> None:
    """Note in each template which of its references are to values that earlier stages of the pipe wrote."""
    for reference in inputs.wired.references if "steps" in document.header else ():
        step, place = inputs.wired.steps.get(reference.step), inputs.origins.get(reference.input or "", "--")
        source = step and (step.sources.get(reference.key) or step.params.get(reference.key))
        if isinstance(source, TemplateSource) and place[:2] != "--" and document.is_written(parse_path(place)):
            source.from_steps = [*source.from_steps, reference.path]


class Execution:
    """One run of a flow that is not dry."""

    def __init__(self, initial: InitialState, flags: RunFlags, output: Output) -> None:
        self.initial = initial
        self.wired = initial.wired
        self.inputs = initial.inputs
        self.secrets = initial.secrets
        self.reopened: Reopened | None = initial.inputs.reopened
        self.flags = flags
        self.output = output

    def run(self) -> int:
        """Run the steps and write the outputs; return the exit code. A run whose output was lost has failed."""
        document, shared = self.initial.intake.document, self.initial.store
        listeners = self._listen()
        failed: BaseException | None = None
        is_whole = False
        visit = Visit()
        try:
            context = self._context(listeners)
            self._run_steps(shared, context)
            left = document.copy()
            found = self._hand_on(left, shared, context.carried)
            visit.reads = {key: (origin,) for key, origin in self.inputs.origins.items()}
            visit.writes = {key: (key,) for key in found}
            said = {"warning": "; ".join(listeners.warnings)} if listeners.warnings else {}
            add_flow(left, self.wired, {"run": listeners.run_id, **visit.entry(), **listeners.usage.members(), **said})
            if failures := listeners.failures:
                left.header["failed"] = left.header.get("failed", 0) + failures
            is_whole = True
            self._show(shared, left)
            listeners.say_failures()
            return left.exit
        except BaseException as error:
            if not is_whole or not isinstance(error, ClosedPipe):  # after the last step, a reader like head has enough
                failed = self.secrets.hide(error) if isinstance(error, PflowError) else error
            if isinstance(error, Interrupted) and listeners.log is not None and listeners.log.journal is not None:
                error.hint = f"pflow resume {listeners.run_id} goes on"
            if isinstance(failed, PflowError):
                failed.usage = listeners.usage.members()
            raise
        finally:
            listeners.finish(failed, shared.known())

    def _listen(self) -> Listeners:
        """Begin a run, or resume one."""
        if self.flags.resume:
            from pflow.driver.earlier_run import exclusive_search, find_unfinished

            with exclusive_search():
                self.reopened = find_unfinished(self.initial, self.flags)
                if self.reopened is None:
                    return Listeners(self.initial, self.flags)
        if self.reopened is not None:
            self.reopened.settle(self.initial)
            if not self.flags.quiet:
                say(f"pflow {'run' if self.flags.resume else 'resume'}", self.reopened.notice())
        return Listeners(self.initial, self.flags, self.reopened)

    def _context(self, listeners: Listeners) -> Context:
        def warn(text: str) -> None:
            say(PROGRAM, f"warning: {self.secrets.mask(text)}")

        calls = None
        if self.flags.limits or self.reopened:
            from pflow.driver.budget import limited_calls

            before = self.reopened.events if self.reopened else self.inputs.planned
            calls = limited_calls(self.flags.limits, listeners.log, before)
        # Events are recorded even without a listener: the engine checks only a recorded step against its interface.
        return Context(
            write=listeners.write,
            jobs=self.flags.jobs,
            isolate=self.flags.isolate,
            max_visits=self.flags.max_visits,
            warn=warn,
            secrets=self.secrets,
            run_id=listeners.run_id,
            cache=CachePolicy(self.flags.cache, self.flags.refresh),
            journal=listeners.log.journal if listeners.log is not None else None,
            calls=calls,
            emit=self.output.emit if self.output.is_streamed else None,
            emitter=self._streaming_step() if self.output.is_streamed else "",
        )

    def _run_steps(self, shared: NodeStore, context: Context) -> None:
        for id, name, model in self.reopened.models if self.reopened else ():
            self.inputs.set_param(self.wired.steps[id], name, model)
        engine = Engine(self.wired, context, self.inputs.params, self.inputs.data)
        with Deadline(self.flags.timeout):
            engine.run(shared)

    def _hand_on(self, document: Document, shared: NodeStore, carried: Path | None) -> list[str]:
        """Put the outputs into the document, and note the place that the pipe carries. Return the keys of the outputs.

        The outputs are those that the flow declares, or else all keys that its steps changed. The pipe carries
        the only declared output, or of several the one that has the value at `carried`; without declared outputs, that.
        """
        declared = self.wired.flow.outputs
        found = outputs_of(self.wired, shared) if declared else shared.changes(lambda key: True)
        for key, value in found.items():
            with Within(f"cannot store '{key}'"):
                if value is REMOVED:
                    document.remove((key,))
                else:
                    # If no output is printed, do not encode rows, which takes long.
                    document.set(key, None if self.output.form == NOTHING else value)
        last = self.wired.place_outside(carried)
        if last is not None and (last[0] in found or not declared):
            document.header["last"] = write_path(last)
        return [key for key, value in found.items() if value is not REMOVED]

    def _show(self, shared: NodeStore, document: Document) -> None:
        if self.flags.show_store:
            for key, value in shared.known().items():
                text = f"{len(value)} bytes" if isinstance(value, bytes) else self.secrets.mask(text_of(value))
                write_stderr(f"{clean(key)} = " + "\n".join(map(clean, text.split("\n"))) + "\n")
        declared = self.wired.flow.outputs
        makes = any(self.wired.steps[id].interface.pipe_write is not None for id in self._ends())
        self.output.finish(document, shows=document.header.get("last") in declared if declared else makes)

    def _ends(self) -> list[str]:
        """Return the steps that no edge leaves."""
        graph = self.wired.graph
        return [id for id in graph.order if not graph.after(id)]

    def _streaming_step(self) -> str:
        """Return the step whose `[pipe]` write the flow passes on, if that is known before the run; else ""."""
        ends = self._ends()
        last = self.wired.steps[ends[0]] if len(ends) == 1 else None
        if last is None or last.step.batch or last.interface.pipe_write is None or self.wired.graph.forks():
            return ""
        place = last.place_of(last.interface.pipe_write.name)
        outside = self.wired.place_outside(place)
        source = outside and self.wired.outputs.get(str(outside[0]), PathSource(place))
        return last.id if isinstance(source, PathSource) and source.path == place else ""


def add_flow(document: Document, wired: WiredFlow, about: dict[str, Any]) -> None:
    """Add a flow to the pipe's trace, as a single entry."""
    name = wired.flow.name or "flow"
    document.add_step({"id": document.step_id(name), "node": f"flow:{name}", **about})


def pretend(inputs: RunInputs, document: Document) -> Document:
    """Do a dry run: describe each step on stderr; return the document, which names the places that would be written."""
    wired = inputs.wired
    unknown = set(map(write_path, document.pretended))
    there = {**{name: document[name] for name in wired.inputs if name in document}, **inputs.values}
    inputs.fit({name: value for name, value in there.items() if inputs.origins.get(name) not in unknown})
    for id in wired.graph.order:
        say(PROGRAM, _would(wired.steps[id], inputs, document))
    document = document.copy()
    if carries := carried_behind(wired):
        document.header["last"] = carries
    places = list(wired.flow.outputs) or [write_path(place) for place in _places(inputs)]
    document.header["dry"] = list(dict.fromkeys([*document.header.get("dry", []), *places]))
    return document


def _places(inputs: RunInputs) -> Iterator[Path]:
    """Yield the places that the flow would write: its inputs, and the data and the writes of each step."""
    yield from inputs.stored()
    for wired in inputs.wired.steps.values():
        for key in [*wired.step.inputs, *inputs.data.get(wired.id, ())]:
            if is_stored(wired.interface, key, wired.step.params):
                yield wired.data_place(key)
        for key in [*wired.interface.writes, *wired.targets]:
            yield wired.place_of(key)


def _would(wired: WiredStep, inputs: RunInputs, document: Document) -> str:
    """Describe in one line what a step would read and from where, and what it would write and touch."""
    values = {key: source.value for key, source in wired.sources.items() if isinstance(source, Constant)}
    for name, value in inputs.values.items():
        readers = inputs.wired.inputs[name].readers if name in inputs.wired.inputs else ()
        values |= {key: value for id, key in readers if id == wired.id}
    sources = {**wired.params, **wired.sources}.items()
    templates = {key: source for key, source in sources if isinstance(source, TemplateSource)}
    values |= {key: source.written for key, source in templates.items()} | inputs.data.get(wired.id, {})
    parts = [f"would run {wired.id} ({wired.step.type})"]
    reads = []
    for key, field in wired.interface.reads.items():
        source = wired.sources.get(key)
        if source is not None and source.paths:
            reads.append(f"{key} from {source.origin}")
        elif key in values:
            reads.append(f"{key} from {field.flag}")
        elif field.required or (key in document and "explicit" not in field.marks):
            reads.append(f"{key} from {key}")
    writes = [write_path(wired.place_of(key)) for key in wired.interface.writes]
    parts += ["reads " + ", ".join(reads)] if reads else []
    parts += ["writes " + ", ".join(writes)] if writes else []
    parts += [", ".join(wired.interface.touches)] if wired.interface.touches else []
    params = wired.step.params | inputs.params.get(wired.id, {})
    data, fields = inputs.data.get(wired.id, {}), wired.interface.effect_fields
    params |= wired.interface.implied({**wired.step.inputs, **params, **data})
    defaults = {key: wired.interface.default_of(field, params) for key, field in fields.items() if not field.required}
    led = {key: inputs.wired.led_by_data(wired.id, key) for key in fields if key not in data}
    known = {key: value for key, value in (defaults | params | values).items() if value is not None}
    shown = targets_in_words({key: known.get(key, ... if led.get(key) else None) for key in fields}, led)
    return "; ".join([*parts, *(f"{key}: {text}" for key, text in shown.items())])
