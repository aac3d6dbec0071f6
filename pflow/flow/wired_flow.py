"""A wired flow: a flow with the source of each read and the place of each write, as all later parts use it."""

from __future__ import annotations

from copy import copy

from pflow import TYPE_CHECKING, Any, Iterator, Mapping
from pflow.binding.sources import DIRECTORY, HOST, AlternativeSource, PathSource, Source, chosen_by_lead
from pflow.binding.store import OUTPUT_KEY, named_place
from pflow.catalog.node_type import BUNDLED, STORE_COMMAND
from pflow.errors import MISSING, PflowError
from pflow.flow.expressions import check_form
from pflow.flow.flow import MAX_VISITS, MODEL_VISITS, REST, FlowInput, FlowSpec, Step
from pflow.flow.graph import END, Graph, ReachingWrites, Write
from pflow.interface.interface import ANYTHING, ONE_OF, UNDECLARED, Field, Interface
from pflow.values.paths import Path
from pflow.values.templates import TEMPLATE, is_reference, leading_references
from pflow.values.types import Type, type_below

if TYPE_CHECKING:
    from pflow.catalog.find import NodeType
    from pflow.flow.expressions import Expression


class Reference:
    """A path in an `expression`, and what it means at its step; `step` is END for an output of the flow.

    `places` are the places in the store that it leads to. `writes` are the writes there; `input` is an input of the
    flow that gives the value; `is_item` is True for an item of the step's batch (`item_part` names a part of its path).
    If nothing gives a value, `trouble` says why and `remedy` what to do.
    """

    def __init__(self, step: str, expr: Expression, path: Path) -> None:
        self.step = step
        self.expression = expr
        self.path = path
        self.location, self.role, self.key = expr.location, expr.role, expr.key
        self.places: tuple[Path, ...] = (path,)
        self.writes: tuple[Write, ...] = ()
        self.input: str | None = None
        self.is_item = False
        self.item_part = ""
        self.trouble = ""
        self.remedy = ""

    @property
    def is_leading(self) -> bool:
        """True if the value begins with this reference: then it chooses a path's directory or a URL's host."""
        is_first = not self.expression.is_template or self.path in leading_references(self.expression.written)
        return is_first and self.item_part in ("", "dir") and not self.trouble


class WiredStep:
    """A wired step. `node_type` is None if its type is not known; then nothing is known of its reads and writes.

    `sources` has the source of each read, except of those that take the store's key of their name. `targets` has the
    place of each write, except of those that go to the key of their name.
    """

    def __init__(self, step: Step, number: int, node_type: NodeType | None, interface: Interface) -> None:
        self.step = step
        self.id = step.id
        self.number = number
        self.node_type = node_type
        self.interface = interface
        self.sources: dict[str, Source] = {}
        self.targets: dict[str, Path] = {}
        self.moved: set[str] = set()
        """The writes that go under the step's id because a path somewhere in the flow says `ID.KEY`."""
        self.params: dict[str, Source] = {}
        self.fault = ""
        """Why its interface could not be read; empty if it could."""
        self.over: Source | None = None
        """The source of the items of its batch."""
        self.uses_errors = False
        """True if something reads `ID.errors`, the failures in its batch: then these do not fail the run."""
        self.over_type = Type("any")
        self.item_type = Type("any")

    @property
    def subflow(self) -> WiredFlow | None:
        """The flow that the step runs, if it is a flow."""
        return getattr(self.node_type, "flow", None)

    @property
    def inline(self) -> WiredFlow | None:
        """The flow that is written inside the step, if any. A flow in its own file is a `subflow`, but not inline."""
        return self.subflow if self.step.flow is not None else None

    @property
    def asks_model(self) -> bool:
        """True if the step, or one of its flow, may ask a model."""
        inside = [self] if self.subflow is None else self.subflow.all_steps()
        return any("model" in each.interface.params for each in inside)

    def most_visits(self, flow: FlowSpec) -> int:
        """Return how often a loop may lead to the step: as the step or the flow says, else a default.

        The default is lower for a step that asks a model.
        """
        return self.step.max_visits or flow.max_visits or (MODEL_VISITS if self.asks_model else MAX_VISITS)

    @property
    def is_known(self) -> bool:
        """True if all its reads, writes and params are known."""
        return self.node_type is not None and not self.interface.open

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions that the step can return; `one of KEY` if only the run knows them, from the value of that key."""
        if self.step.batch is not None:
            return ("default",)
        key = self.interface.actions[0].removeprefix(ONE_OF)
        words: Any = {**self.step.params, **dict.fromkeys(self.step.input_mappings), **self.step.inputs}.get(key)
        is_constant = isinstance(words, list) and "$" not in str(words) and key not in self.interface.actions
        return tuple(map(str, words)) if is_constant and words else self.interface.actions

    @property
    def are_actions_known(self) -> bool:
        """True if the step returns only its `actions` and `error`. A class that declares no actions may return any."""
        if self.step.batch is None and self.subflow is not None:
            return all(each.are_actions_known for each in self.subflow.steps.values())
        is_closed = self.interface.declares_actions or getattr(self.node_type, "origin", "") in (BUNDLED, STORE_COMMAND)
        return self.step.batch is not None or (self.is_known and is_closed and not self.actions[0].startswith(ONE_OF))

    def is_wired(self, key: str) -> bool:
        """Return True if the flow names a source for the read and the step fails if that has no value."""
        return key in self.sources and not self.sources[key].is_optional

    def may_repeat(self, params: Mapping[str, Any]) -> bool:
        """Return True if a visit that was cut short may run again unasked. In a flow, each of its steps decides."""
        said = self.step.repeats
        return self.subflow is not None or (self.interface.may_repeat(params) if said is None else said)

    def is_secret(self, key: str) -> bool:
        """Return True if the step takes a secret of this name; then all that goes into it is secret too."""
        return any(field.name == key for field in self.interface.secrets)

    @property
    def has_secret_items(self) -> bool:
        """True if items of its batch go into a secret."""
        name = self.step.batch.item if self.step.batch is not None else ""
        readers = [*self.sources.items(), *self.params.items()] if name else []
        keys = [name, *(key for key, source in readers if any(path[0] == name for path in source.paths))]
        return any(map(self.is_secret, keys))

    def secret_paths(self) -> Iterator[Path]:
        """Yield the places in the store from which the step takes secrets."""
        for key, field in self.interface.reads.items():
            if field.is_secret:
                source = self.sources.get(key)
                yield from source.paths if source else ((key,),)
        for key, source in self.params.items():
            yield from source.paths if self.is_secret(key) else ()
        if self.over is not None and self.has_secret_items:
            yield from self.over.paths

    def place_of(self, key: str) -> Path:
        """Return the place in the store that a write goes to."""
        if key in self.targets:
            return self.targets[key]
        # If `output_key` is a template, `key` is its value in this visit, which may be a path.
        is_named = "$" in str(self.step.params.get(OUTPUT_KEY, ""))
        return (*self.targets.get(REST, ()), *(named_place(key) if is_named else (key,)))

    @property
    def is_moved(self) -> bool:
        """True if all writes of the step go under its id, as with `--id` in a stage."""
        if REST in self.targets:
            return self.targets[REST] == (self.id,)
        writes = self.interface.writes
        return bool(writes) and all(self.targets.get(key) == (self.id, key) for key in writes)

    def data_place(self, key: str) -> Path:
        """Return the place that a data flag is stored at."""
        return (self.id, key) if self.is_moved else (key,)


class WiredFlow:
    """A flow, its graph, its steps wired, every reference in it, and the inputs that it needs."""

    def __init__(self, flow: FlowSpec, graph: Graph) -> None:
        self.flow = flow
        self.graph = graph
        self.order = graph.order
        ids = {step.id for step in flow.steps}
        ends = {end for edge in flow.edges for end in (edge.source, edge.target)}
        self.opens_files = False
        """True if checking may open the files that the flow names: a person wrote it, and it is about to run here."""
        self.is_uncertain = len(ids) < len(flow.steps) or not ends <= ids
        """True if two steps have one id or an edge leads nowhere: then rules about the graph would only repeat that."""
        self.steps: dict[str, WiredStep] = {}
        self.expressions: dict[str, list[Expression]] = {}
        """The expressions in each step, and those in the outputs (END)."""
        self.writes: dict[str, list[Write]] = {}
        """The writes of each step in their order, moved ones included, without data flags."""
        self.reaching: ReachingWrites
        self.references: list[Reference] = []
        self.references_of: dict[str, list[Reference]] = {}
        """The references in each step, and those in the outputs (END)."""
        self.inputs: dict[str, FlowInput] = {}
        self.places: dict[str, FlowInput] = {}
        """The places inside inputs that mappings name, by path. Each has a flag of its own, as an input has."""
        self.alternatives: list[list[Path]] = []
        """Lists of inputs, or places in them, of which a step needs only one."""
        self.outputs: dict[str, Source] = {}
        self.first_read: tuple[str, str] | None = None
        """The step and the read that take the data from the pipe."""
        self.runs_over_pipe = False
        """True if the first step runs once for each item that comes through the pipe."""

    def input(self, name: str) -> FlowInput | None:
        """Return the input of this name, or the place in one."""
        return self.inputs.get(name) or self.places.get(name)

    def asked(self) -> Iterator[FlowInput]:
        """Yield what a run asks for: each input, or the places in it if no reader needs the input as a whole."""
        for given in self.inputs.values():
            places = [place for place in self.places.values() if place.path[0] == given.name]
            in_places = {reader for place in places for reader in place.readers}
            yield from places if given.step is None and given.needed_by and given.needed_by <= in_places else [given]

    def references_to(self, step: str, key: str, role: str = "") -> list[Reference]:
        """Return the references in the value that a step gives a key, in one role or in any; for END, in an output."""
        return [each for each in self.references_of.get(step, ()) if each.key == key and role in ("", each.role)]

    def reader_of(self, input: FlowInput) -> str:
        """Return the name of the only node that reads an input, else the name of the flow."""
        nodes = {self.steps[id].step.type for id, _ in input.readers}
        return nodes.pop() if len(nodes) == 1 else self.flow.name or "the flow"

    def before(self, id: str) -> list[WiredStep]:
        """Return the steps that may run before a step, in order; for END, every step that is reached."""
        return [self.steps[each] for each in self.order if id == END or self.graph.may_precede(each, id)]

    def form_fault(self, id: str, field: Field, value: Any) -> PflowError | None:
        """Return what is wrong with a constant whose field demands a form; None if nothing is.

        A schema's file may be missing as long as an earlier step may write it.
        """
        try:
            check_form(field, value, opens_files=self.opens_files)
        except PflowError as fault:
            touched = {effect for step in self.before(id) for effect in step.interface.effects}
            may_come = not touched.isdisjoint({"writes files", "runs commands", ANYTHING})
            return None if may_come and fault.exit == MISSING and "schema" in field.marks else fault
        return None

    def all_steps(self) -> Iterator[WiredStep]:
        """Yield every step, each followed by the steps of its subflow."""
        for step in self.steps.values():
            yield step
            if step.subflow is not None:
                yield from step.subflow.all_steps()

    @property
    def waits(self) -> bool:
        """True if all its steps only wait, for a model or a server: then threads of one process can run many."""
        batches = [step.step.batch for step in self.steps.values() if step.step.batch is not None]
        if self.graph.forks() or any((batch.jobs or 1) > 1 for batch in batches):
            return False
        return all(
            step.subflow.waits if step.subflow is not None else step.node_type is not None and step.node_type.waits
            for step in self.steps.values()
        )

    def sources(self) -> Iterator[Source]:
        """Yield the sources of all steps and outputs; a template is one source."""
        for wired in self.steps.values():
            yield from wired.sources.values()
            yield from wired.params.values()
            if wired.over is not None:
                yield wired.over
        yield from self.outputs.values()

    def left_by_pipe(self, input: FlowInput, reader: tuple[str, str] | None) -> FlowInput:
        """Return a copy of an undeclared input without the reader that the pipe fills; others may still need it."""
        left = copy(input)
        left.readers = [each for each in input.readers if each != reader]
        soft = {(id, key) for id, key in left.readers if key in (self.steps[id].step.soft or ())}
        left.required = not input.needed_by.isdisjoint({*left.readers} - soft)
        return left

    def is_given_by_pipe(self, input: FlowInput) -> bool:
        """Return True if an input needs no flag when data comes by pipe.

        The pipe fills a declared input that takes it, but only one of the reads of an undeclared input.
        """
        is_first = self.first_read in input.readers
        return input.pipe or (is_first and not self.left_by_pipe(input, self.first_read).required)

    @property
    def maps_stdin(self) -> bool:
        """True if a mapping or a template takes what comes through the pipe."""
        return any(path[0] == "stdin" for source in self.sources() for path in source.paths)

    def writes_at(self, id: str, path: Path) -> list[tuple[Path, Write]]:
        """Return the writes that a path may mean at a step, each with the place to which the path leads then."""
        for length in range(len(path), 0, -1):
            if writes := self.reaching.at(id, path[:length]):
                return [(write.target + path[length:], write) for write in writes.values()]
        below = [name for name in self.reaching.made.get(path[0], ()) if name[: len(path)] == path]
        return [(path, write) for name in below for write in self.reaching.at(id, name).values()]

    def roots_at(self, id: str) -> list[str]:
        """Return the keys that the store may have when a step begins."""
        there = self.reaching.made.items()
        return [str(root) for root, names in there if any(self.reaching.at(id, name) for name in names)]

    def default_of(self, input: FlowInput) -> Any:
        """Return the default of an optional input: its own, or the one that all its readers share, else UNDECLARED."""
        if input.required or input.secret:
            return UNDECLARED
        if input.has_default:
            return input.default
        reads = [(self.steps[step], self.steps[step].interface.reads.get(key)) for step, key in input.readers]
        defaults = [
            step.interface.default_of(read, step.step.params) if read and not read.required else None
            for step, read in reads
        ]
        return defaults[0] if defaults and defaults == defaults[:1] * len(defaults) else UNDECLARED

    def write_type(self, write: Write) -> Type:
        """Return the type of the value at a write's place: the declared one; after a batch, a list or object of it."""
        declared = write.field.type if write.field else Type("any")
        wired = self.steps[write.step]
        if wired.step.batch is None or write.is_data:
            return declared
        over = wired.over_type
        if wired.step.batch.keep_item:
            failed = {"error": Type("str")} if wired.step.batch.on_error == "keep" else {}
            declared = Type("dict", fields={"item": wired.item_type, write.key: declared, **failed})
        return Type("dict") if over.name == "dict" else Type("any") if over.name == "any" else Type("list", declared)

    def types_at(self, reference: Reference) -> list[tuple[Type, int]]:
        """Return the type of each value that a reference may lead into, and how many keys of its path lead to it."""
        if reference.is_item:
            return [(Type("path") if reference.item_part else self.steps[reference.step].item_type, 1)]
        if reference.input in self.inputs:
            return [(self.inputs[reference.input].type, 1)]
        return [
            (self.write_type(write), len(reference.path) - len(place) + len(write.target))
            for write in reference.writes
            for place in reference.places
            if place[: len(write.target)] == write.target
        ]

    def type_of(self, reference: Reference) -> Type:
        """Return the type of what a reference gives; `any` if it is not known."""
        types = self.types_at(reference)
        return type_below(types[0][0], reference.path, types[0][1])[0] if len(types) == 1 else Type("any")

    def output_type(self, name: str) -> Type:
        """Return the type of a declared output. A template that is more than one reference gives a text."""
        written = self.flow.outputs[name]
        if written.startswith(TEMPLATE) and not is_reference(written.removeprefix(TEMPLATE)):
            return Type("str")
        found = self.references_to(END, name)
        return self.type_of(found[0]) if len(found) == 1 else Type("any")

    def led_by_data(self, id: str, key: str) -> str:
        """Return DIRECTORY or HOST if a path or URL begins with data, which then chooses that part of it; else "".

        Data is a write of a step, an item or stdin, but not an input, which a person gives.
        """
        found = (each for each in self.references_to(id, key) if each.input in (None, "stdin") or each.writes)
        return next(filter(None, map(self._led, found)), "")

    def help_type(self, input: FlowInput) -> Type:
        """Return the type of an input as help shows it: a text that begins a path or a URL is a path or a URL."""
        readers = {id for id, _ in input.readers} or self.references_of  # stdin has none
        steps = readers if input.type.name in ("any", "str") else ()
        found = [each for id in steps for each in self.references_of.get(id, ()) if each.input == input.name]
        led = {*map(self._led, found)}
        return Type("path") if DIRECTORY in led else Type("url") if HOST in led else input.type

    def begins_url(self, name: str) -> bool:
        """Return True if a template of a URL begins with this input, here or in a flow inside."""
        templates = [each for each in self.references if each.input == name and each.expression.is_template]
        readers = self.inputs[name].readers if name in self.inputs else ()
        inside = ((self.steps[id].subflow, key) for id, key in readers)
        is_inside = (each is not None and each.begins_url(key) for each, key in inside)
        return any(self._led(each) == HOST for each in templates) or any(is_inside)

    def _led(self, reference: Reference) -> str:
        """Return DIRECTORY or HOST if a reference begins a path or a URL, else ""."""
        if reference.step not in self.steps or not reference.is_leading:
            return ""
        return chosen_by_lead(self.steps[reference.step].interface.field(reference.key))

    def place_outside(self, place: Path | None) -> Path | None:
        """Return where a caller of the flow finds the value at a place: there, or in the output whose source it is."""
        names = list(self.flow.outputs)
        if not names:
            return place
        if len(names) > 1:
            sources, kinds = self.outputs.items(), (PathSource, AlternativeSource)
            names = [name for kind in kinds for name, each in sources if isinstance(each, kind) and place in each.paths]
        return (names[0],) if names else None
