"""A flow: steps, edges, mappings, inputs and outputs, once they have the right shape."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Iterator
from pflow.binding.flag_value import BoundField
from pflow.binding.sources import Constant, assign
from pflow.catalog.find import Catalog
from pflow.errors import BAD_DATA, PflowError
from pflow.interface.common import OF_RUNS
from pflow.interface.interface import READ, Field, Interface, word_reads
from pflow.values.paths import Path
from pflow.values.types import Type

if TYPE_CHECKING:
    from pflow.flow.findings import Finding

ItemNames = tuple[str, ...]
"""For a flow inside a step: the item's name in each step around it, outermost first; "" for a step without a batch."""
Mapped = str | list[str]
"""The source of a read as the flow writes it: a path, `template:` and a text, or a list of paths."""

INLINE = "flow"
"""The type of a step with a flow of its own inside."""
STEP_MEMBERS = (
    "description", "version", "params", "inputs", "retries", "wait", "timeout", "max_visits", "repeats", "cache",
)  # fmt: skip
"""The members of a node that a step takes unchanged."""
INLINE_MEMBERS = ("nodes", "edges", "mappings", "outputs")
"""The members of a node that are a flow inside its step."""
MAX_VISITS, MODEL_VISITS = 100, 20
"""How often a loop may lead to a step, and to one that asks a model, unless the flow says otherwise."""
ITEM = "item"
"""Marks a read of a flow that its first step takes as a `[word]` read.

If the flow is a step with a batch, the item fills this read.
"""
REST = "*"
"""The member of output mappings that holds the place for all keys without a mapping of their own."""


class Input:
    """A declared input of a flow. `type` is the text of the file; `pipe` is True if stdin gives the value."""

    def __init__(
        self, name: str, *, type: str = "any", description: str = "", required: bool = True, pipe: bool = False,
        default: Any = None, has_default: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.type = type
        self.description = description
        self.required = required and not has_default
        self.pipe = pipe
        self.default = default
        self.has_default = has_default


class FlowInput:
    """An input of a wired flow: declared, or a place in the store that steps read and no step writes.

    `step` and `read` are set if only one step can have it (an `[explicit]` read). `readers` are its (step, read) pairs,
    `flags` all names of its flags, and `flag` is the flag that help shows. `pipe` is True for a declared input that
    stdin gives.
    """

    doc = read = flag = ""
    required = has_default = pipe = declared = secret = False
    default: Any = None
    step: str | None = None

    def __init__(self, name: str, path: Path, type: Type, **facts: Any) -> None:
        self.name = name
        self.path = path
        self.type = type
        self.readers: list[tuple[str, str]] = []
        self.needed_by: set[tuple[str, str]] = set()
        """The readers that need a value. A declared input says by itself if it is required."""
        self.flags: list[str] = []
        self.__dict__.update(facts)

    def as_field(self, kind: str = READ) -> Field:
        """Return the input as a field of an interface: for a parser, for help, or for a flow around this one."""
        marks = {"secret"} if self.secret else set[str]()
        default = {} if self.required else {"default": self.default}
        return Field(kind, self.name, self.type, doc=self.doc, marks=marks, is_declared=self.declared, **default)

    def fitted(self, value: Any, origin: str) -> Any:
        """Fit a value from a source other than a flag to the input's type. Raises PflowError (65).

        `origin` names the source.
        """
        return BoundField(self.name, Constant(value, origin), self.as_field()).find({})

    @property
    def is_unflagged(self) -> bool:
        """True if no flag can give it: it is secret, or `pflow run` has a flag of its own with that name."""
        return self.secret or self.flag[2:].replace("-", "_") in OF_RUNS

    def give(self, value: Any, store: Any, data: dict[str, dict[str, Any]]) -> None:
        """Put a value where its reader looks: into the store, or into the data of its only step."""
        if self.step is None:
            assign(store, self.path, value)
        else:
            data.setdefault(self.step, {})[self.read] = value


class Batch:
    """The batch of a step, which runs once for each item. `over` is the path of the items, `item` the name for one.

    Pipe syntax may leave `over` empty; compiling then puts in the path of what the pipe carries.
    """

    def __init__(
        self, over: str, item: str = "item", jobs: int | None = None, on_error: str = "stop", *, keep_item: bool = False
    ) -> None:
        self.over = over
        self.item = item
        self.jobs = jobs
        self.on_error = on_error
        self.keep_item = keep_item

    @property
    def members(self) -> dict[str, Any]:
        """All members as the IR has them, defaults included."""
        said = {"over": self.over, "as": self.item, "jobs": self.jobs}
        return {**said, "on_error": self.on_error, "keep_item": self.keep_item}

    @property
    def parts(self) -> dict[str, str]:
        """The names of the parts of an item that is a path, such as `item_stem`, each with name, stem or dir."""
        return {f"{self.item}_{part}": part for part in ("name", "stem", "dir")}


def item_reader(interface: Interface) -> Field | None:
    """Return the read that takes a batch's item without a mapping: the `[pipe]` read, else the first `[word]` read."""
    marked = (item for item in interface.reads.values() if ITEM in item.marks)
    return interface.pipe_read or next(marked, None) or next(iter(word_reads(interface.reads)), None)


class Edge:
    """An edge from one step to another, taken if the first returns the action. `location` is its place in the file."""

    def __init__(self, source: str, target: str, action: str = "default", location: Path = ("edges",)) -> None:
        self.source = source
        self.target = target
        self.action = action
        self.location = location


class Step:
    """A step as the flow's file has it; a member that is absent there is None."""

    def __init__(
        self, id: str, type: str, *, location: Path = (), version: str | None = None,
        params: dict[str, Any] | None = None, inputs: dict[str, Any] | None = None,
        input_mappings: dict[str, Mapped] | None = None, output_mappings: dict[str, str] | None = None,
        retries: int | None = None, wait: float | None = None, timeout: float | None = None,
        max_visits: int | None = None, repeats: bool | None = None, batch: Batch | None = None, description: str = "",
        cache: bool | str | None = None, soft: list[str] | None = None, flow: FlowSpec | None = None,
    ) -> None:  # fmt: skip
        self.id = id
        self.type = type
        self.location = location
        """Its place in the file, such as `("nodes", 1)`, for findings."""
        self.version = version
        self.params = params if params is not None else {}
        self.inputs = inputs if inputs is not None else {}
        self.input_mappings = input_mappings if input_mappings is not None else {}
        self.output_mappings = output_mappings if output_mappings is not None else {}
        self.soft = soft
        """The reads whose mapping counts only if the store has no key of their name."""
        self.is_unfed = False
        """True after --map-in=KEY= without a path: then the `[pipe]` read does not take what the pipe carries."""
        self.is_verbatim = False
        """True after --verbatim: then no rule warns that a `$name` in a command is not filled in."""
        self.retries = retries
        self.wait = wait
        self.timeout = timeout
        self.max_visits = max_visits
        self.repeats = repeats
        """True if the step may run again without harm, False if not; if None, its node decides."""
        self.batch = batch
        self.description = description
        self.cache = cache
        """True to keep and reuse answers, False to do neither; `require` to fail if no answer is kept."""
        self.flow = flow
        """The flow that is written inside the step, if any."""
        self.made: Any = None
        """The node object, if a Python program made the flow and runs it."""

    def fills(self, key: str) -> bool:
        """Return True if the step has an input, a mapping or a param for the read."""
        return key in self.inputs or key in self.input_mappings or key in self.params

    @property
    def takes_pipe_apart(self) -> bool:
        """True if the step runs once for each item that the pipe carries, so that no read gets the whole list."""
        return self.batch is not None and not self.batch.over


class FlowSpec:
    """A flow as its file has it. `steps` are in the order of the file; the first one starts the flow.

    `dialect` is the form of the file: pflow, bindings (seed 002), keys (seed 000) or pipe (pipe syntax). `catalog`
    finds the node types of the steps.
    """

    def __init__(self, steps: list[Step], edges: list[Edge]) -> None:
        self.file = ""
        """The file that the flow was read from, if any."""
        self.schema = ""
        """The address of its JSON schema, for editors."""
        self.name = ""
        self.description = ""
        self.inputs: dict[str, Input] = {}
        self.outputs: dict[str, str] = {}
        self.steps = steps
        self.edges = edges
        self.max_visits: int | None = None
        self.dialect = "pflow"
        self.catalog = Catalog()
        self.item_names: ItemNames | None = None
        """The names of the items around the flow; None unless it is inside a step."""
        self.warnings: list[str] = []
        self.findings: list[Finding] = []
        """A finding for each part of the file that has the wrong shape; the flow was read without these parts."""
        self.document: dict[str, Any] | None = None
        """The JSON that the flow was read from, for the locations of findings; None if the flow differs from it."""
        self.stray_mappings: dict[str, Any] = {}
        """The members of `mappings` for ids that no step has."""
        self.guess = ""
        """The word that the planning model was least sure of; empty if it was sure of every word."""

    @property
    def directory(self) -> str:
        """The directory to which the paths of subflows are relative."""
        return self.catalog.directory

    @property
    def item_parts(self) -> dict[str, str]:
        """A table of names: each item around the flow maps to "", each part of an item to name, stem or dir."""
        batches = [Batch("", item) for item in self.item_names or () if item]
        return {name: part for batch in batches for name, part in {batch.item: "", **batch.parts}.items()}

    def usable(self) -> FlowSpec:
        """Return the flow. Raises PflowError (65) at the first wrong shape."""
        if self.findings:
            raise PflowError(f"cannot load the flow: {self.findings[0]}", exit=BAD_DATA)
        return self

    def step(self, id: str) -> Step:
        return next(step for step in self.steps if step.id == id)

    def copied(self) -> FlowSpec:
        """Return a copy whose inputs and steps may be changed."""
        from copy import copy

        flow = copy(self)
        flow.inputs = {name: copy(each) for name, each in self.inputs.items()}
        flow.steps = [copy(each) for each in self.steps]
        for step in flow.steps:
            step.params, step.inputs = {**step.params}, {**step.inputs}
            step.input_mappings, step.batch = {**step.input_mappings}, copy(step.batch)
            step.flow = step.flow and step.flow.copied()
        return flow

    def all_steps(self, above: Path = ()) -> Iterator[tuple[Path, Step]]:
        """Yield each step with its location, also the steps of flows inside steps."""
        for step in self.steps:
            yield (*above, *step.location), step
            if step.flow is not None:
                yield from step.flow.all_steps((*above, *step.location))


def version_numbers(version: str) -> tuple[int, ...] | None:
    """Return the three numbers of a version; None for any other text."""
    parts = version.split(".")
    if len(parts) > 3 or not all(part.isdecimal() and part.isascii() for part in parts):
        return None
    return tuple(int(part) for part in [*parts, "0", "0"][:3])
