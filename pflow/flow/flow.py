"""A flow: steps, edges, mappings, inputs and outputs, once they have the right shape."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Iterator
from pflow.binding.flag_value import Finder
from pflow.binding.sources import Constant, assign
from pflow.catalog.kinds import Catalog
from pflow.errors import BAD_DATA, PflowError
from pflow.interface.common import OF_RUNS
from pflow.interface.interface import READ, Item
from pflow.values.paths import Path
from pflow.values.types import Type

if TYPE_CHECKING:
    from pflow.flow.findings import Finding

Items = tuple[str, ...]
"""A flow inside a step has one name for each step around it: what a batch calls its item, "" for any other step."""
Mapped = str | list[str]
"""The source of a read, as written: a path, `template:` and text, or a list of paths."""

INLINE = "flow"
"""The type of a step with a flow of its own inside."""
STEP_MEMBERS = (
    "description", "version", "params", "inputs", "retries", "wait", "timeout", "max_visits", "repeats", "cache",
)  # fmt: skip
"""The members of a node that a step takes unchanged."""
INLINE_MEMBERS = ("nodes", "edges", "mappings", "outputs")
"""The members of a node that are a flow inside its step."""
MAX_VISITS, MODEL_VISITS = 100, 20
"""How often a loop leads to a step, and to one that asks a model, unless more is allowed."""
REST = "*"
"""In a step's output mappings: the place under which every key without a mapping of its own goes."""


class Input:
    """A declared input of a flow. `type` is as written; `pipe` says that stdin gives it."""

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
    """An input of a wired flow: declared, or a source that no step writes.

    `step` and `read` are set if it is for one step alone (an `[explicit]` read). `readers` are the (step, read) that
    take it, `flags` every flag that gives it, `flag` the one that a person would type; `pipe` says that stdin gives a
    declared one.
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
        """The readers that fail without it, unless it is declared."""
        self.flags: list[str] = []
        self.__dict__.update(facts)

    def as_item(self, kind: str = READ) -> Item:
        """Return what it is for those who do not know it in the flow."""
        marks = {"secret"} if self.secret else set[str]()
        default = {} if self.required else {"default": self.default}
        return Item(kind, self.name, self.type, doc=self.doc, marks=marks, is_declared=self.declared, **default)

    def fitted(self, value: Any, origin: str) -> Any:
        """Return a value that no flag gave as its type has it. Raises PflowError (65)."""
        return Finder(self.name, Constant(value, origin), self.as_item()).find({})

    @property
    def is_unflagged(self) -> bool:
        """True if no flag gives it: it is secret, or its only flag is one of `pflow run` itself."""
        return self.secret or self.flag[2:].replace("-", "_") in OF_RUNS

    def give(self, value: Any, store: Any, data: dict[str, dict[str, Any]]) -> None:
        """Put a value where it is looked for: in the store, or in the data of the one step that it is for."""
        if self.step is None:
            assign(store, self.path, value)
        else:
            data.setdefault(self.step, {})[self.read] = value


class Batch:
    """Runs a step once for each item: `over` is the path of the items, `item` the name of one ("as" in the IR).

    `over` is "" in pipe syntax, until compiling finds what the pipe carries.
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
        """Its members in the IR, with those that have their default."""
        said = {"over": self.over, "as": self.item, "jobs": self.jobs}
        return {**said, "on_error": self.on_error, "keep_item": self.keep_item}

    @property
    def parts(self) -> dict[str, str]:
        """The names for the parts of an item that is a path, each with the part: `name`, `stem`, `dir`."""
        return {f"{self.item}_{part}": part for part in ("name", "stem", "dir")}


class Edge:
    """Leads from one step to another, when the first returns the action. `location` is where the file has it."""

    def __init__(self, source: str, target: str, action: str = "default", location: Path = ("edges",)) -> None:
        self.source = source
        self.target = target
        self.action = action
        self.location = location


class Step:
    """One node in a flow, as it is written there; None for each member that is not written."""

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
        """Where the file has it, `("nodes", 1)`, for findings."""
        self.version = version
        self.params = params if params is not None else {}
        self.inputs = inputs if inputs is not None else {}
        self.input_mappings = input_mappings if input_mappings is not None else {}
        self.output_mappings = output_mappings if output_mappings is not None else {}
        self.soft = soft
        """The reads whose mapping counts only if the store has no key of their name."""
        self.is_unfed = False
        """True if it was written with --map-in=KEY=, which keeps what the pipe carries out of its `[pipe]` read."""
        self.is_verbatim = False
        """True if it was written with --verbatim, so a person knows that nothing is filled in it."""
        self.retries = retries
        self.wait = wait
        self.timeout = timeout
        self.max_visits = max_visits
        self.repeats = repeats
        """True if it may run again without harm, False if not, None to ask its node."""
        self.batch = batch
        self.description = description
        self.cache = cache
        """True to keep its answers, False not to; `require` to take a kept answer or fail."""
        self.flow = flow
        """The flow that it runs, if it is written inside the step."""
        self.made: Any = None
        """The node itself, in a flow that Python made and runs."""

    def fills(self, key: str) -> bool:
        """Return True if the step itself gives a read its value."""
        return key in self.inputs or key in self.input_mappings or key in self.params

    @property
    def takes_pipe_apart(self) -> bool:
        """True if it runs once for each item that the pipe carries; the list itself then fills no read."""
        return self.batch is not None and not self.batch.over


class FlowSpec:
    """A flow as it is written. `steps` are in the order of the file; the first one starts it.

    `dialect` names the form that it was read from: pflow, bindings (seed 002), keys (seed 000) or pipe (pipe syntax).
    `catalog` finds the kinds of its steps.
    """

    def __init__(self, steps: list[Step], edges: list[Edge]) -> None:
        self.file = ""
        """The file that it was read from; empty if from none."""
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
        self.items: Items | None = None
        """Set in a flow inside a step."""
        self.warnings: list[str] = []
        self.findings: list[Finding] = []
        """The parts of a wrong shape, which it was read without."""
        self.document: dict[str, Any] | None = None
        """The JSON that it was read from, for the places of findings; None once it differs."""
        self.stray_mappings: dict[str, Any] = {}
        """The members of `mappings` whose ids no step has."""
        self.guess = ""
        """The word of a planned line of which its model was least sure; empty if it was sure of all."""

    @property
    def directory(self) -> str:
        """The directory that its subflows' paths are relative to."""
        return self.catalog.directory

    @property
    def item_parts(self) -> dict[str, str]:
        """The names that the batches around it give to an item (its part is empty) and to the parts of its path."""
        batches = [Batch("", item) for item in self.items or () if item]
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
        """Yield each step with its location, those of the flows inside steps too."""
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
