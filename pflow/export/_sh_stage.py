"""One step as a stage of a shell pipe: its program and flags, or the reason why no stage does the same."""

from copy import copy
from typing import Any

from pflow.binding.sources import AlternativeSource, Constant, Fallback, NameSource, Source, TemplateSource
from pflow.catalog.find import BUNDLED, FLOW, PROGRAM
from pflow.catalog.registry import names_in
from pflow.errors import BAD_DATA, PflowError
from pflow.flow.expressions import literal, move_references
from pflow.flow.flags import only_binds
from pflow.flow.pipe.scan import free_id, quote
from pflow.flow.pipe.steps import batch_words, filled_by_item, flag_words, manner_words
from pflow.flow.pipe.write import first_word
from pflow.flow.references import is_stored
from pflow.flow.wired_flow import WiredStep
from pflow.values.paths import Path, are_nested, write_path
from pflow.values.templates import is_reference

NOTHING: Path = ()
"""The place that a pipe carries before anything was written to it."""
_RUN = "pflow run"
"""The program of a step with a flow inside, and of a batch."""


def refused(why: str) -> PflowError:
    """Return the error for a flow that cannot become a script."""
    hint = "use --to=python"
    return PflowError(f"cannot export the flow to sh: {why}", hint=hint, exit=BAD_DATA)


def word_of(place: Path) -> str:
    """Write a place as pflow-set takes it. Raises PflowError (65) if it contains one of pflow-set's operators."""
    path = write_path(place)
    if "=" in path or ":@" in path or path.endswith(":"):
        raise refused(f"pflow-set cannot name '{path}'")
    return path


class StoreFacts:
    """The facts that are known about the store between two stages.

    `places` has True for each place that surely has a value, False for a place that may have one. `carried` is the
    place that the pipe carries, None if unknown. With `is_open`, a stage may have written any place.
    """

    def __init__(self) -> None:
        self.places: dict[Path, bool] = {}
        self.carried: Path | None = NOTHING
        self.is_open = False

    def surely_has(self, place: Path) -> bool:
        return any(is_sure and each[: len(place)] == place for each, is_sure in self.places.items())

    def may_have(self, place: Path) -> bool:
        return self.is_open or any(are_nested(each, place) for each in self.places)


class ShellStage:
    """A step as a stage. Its construction updates `state`. Raises PflowError (65) if a stage cannot do the same."""

    def __init__(self, wired: WiredStep, state: StoreFacts, *, takes_pipe: bool) -> None:
        self.wired = wired
        self.state = state
        self.flags: list[str] = []
        self._kept: list[Path] = []
        self._used: list[Path] = []
        self._done: set[str] = set()
        self.program = _program_of(wired)
        self.is_run = self.program == _RUN
        self._add_values()
        pipe = wired.interface.pipe_read
        for key, source in wired.sources.items():
            is_own = pipe is not None and key == pipe.name and source.paths == ((key,),)
            if key not in self._done and not (is_own and takes_pipe):
                self._map(key, source)
        if pipe is not None and pipe.name not in self._done and not takes_pipe:
            self._leave_to_name(pipe.name)
        self._add_manner()
        if self.is_run:
            self.flags = [quote(" ".join(self._flow_of_one()))]
        self._leave()

    @property
    def command(self) -> str:
        return " ".join([self.program, *self.flags])

    def _flow_of_one(self) -> list[str]:
        """Return the words for the step as a flow of one step, with its writes mapped to their places in this flow."""
        step, writes = self.wired.step, self.wired.interface.writes
        named = [key for key, field in writes.items() if step.flow is not None and "pipe" not in field.marks]
        out = [f"--map-out={quote(f'{key}={write_path(self.wired.place_of(key))}')}" for key in named]
        words = [first_word(step, is_named=step.id != free_id(step.type, {}))]
        words += dict.fromkeys([*self.flags, *out])
        if step.batch is None:
            return words
        if key := filled_by_item(step, self.wired.interface, self.wired.inline):
            raise self._refused(key, "an item would fill it")
        batch = copy(step.batch)
        if self.wired.over is not None:
            place = self._place("batch", self.wired.over)
            batch.over = "" if place == self.state.carried else write_path(place)
        return words + batch_words(batch)

    def _refused(self, key: str, why: str) -> PflowError:
        return refused(f"'{self.wired.id}' and its '{key}': {why}")

    def _add_values(self) -> None:
        wired = self.wired
        for key, source in wired.sources.items():
            if self._is_unknown(key):
                self._done.add(key)
            elif key in wired.step.inputs or isinstance(source, Constant) or not self._is_path(key, source):
                self._add_flag(key, source)
                self._keep(key, is_kept=key in wired.step.inputs)
        for key, source in wired.params.items():
            field = wired.interface.params.get(key)
            if only_binds(wired, key):
                continue
            if key in wired.interface.reads and field is None:
                self._stand_in(key, source)
                continue
            is_null = isinstance(source, Constant) and source.value is None
            if not (is_null and field and field.default is None and not field.env):
                self._add_flag(key, source)

    def _is_unknown(self, key: str) -> bool:
        """Return True if a key is undeclared and both data and param, like an undeclared flag of a stage."""
        step, reads = self.wired.step, self.wired.interface.reads
        return key not in reads and key in step.inputs and step.params.get(key, ...) == step.inputs[key]

    def _stand_in(self, key: str, source: Source) -> None:
        """Add a flag for a param that stands in for a read, unless the store has that key."""
        if self.wired.interface.open:
            raise self._refused(key, "a stage's flag of that name is data, and its node may ask for the param")
        is_own = "explicit" in self.wired.interface.reads[key].marks
        if key in self._done or key in self.wired.sources or (not is_own and self.state.surely_has((key,))):
            return
        if not is_own and self.state.may_have((key,)):
            raise self._refused(key, "the store may have it or not")
        self._add_flag(key, source)
        self._keep(key, is_kept=False)

    def _add_flag(self, key: str, source: Source) -> None:
        interface = self.wired.interface
        field = interface.field(key)
        value: Any = None
        if isinstance(source, Constant):
            value = literal(field, source.value)
        elif isinstance(source, TemplateSource):
            places = {path: self._place(key, each) for path, each in source.sources.items()}
            self._used += places.values()
            value = move_references(source.written, places)
        if field is None and key not in self.wired.step.params:
            raise self._refused(key, "a stage makes a param, too, of a key that its interface does not name")
        if "\0" in str(value) or isinstance(value, bytes):
            raise self._refused(key, "no flag gives that value")
        try:
            self.flags += flag_words(self.wired.id, key, field, value)
        except PflowError as error:
            raise refused(error.message) from None

    def _place(self, key: str, source: Source) -> Path:
        if isinstance(source, AlternativeSource):
            raise self._refused(key, "it is not known beforehand which of several places is written last")
        if isinstance(source, NameSource):
            return (f"{source.paths[0][0]}_{source.part}",)
        return source.paths[0]

    def _keep(self, key: str, *, is_kept: bool) -> None:
        """Note a flag's value that a stage stores, which it does if the read is stored and its place is empty.

        Raises PflowError (65) if the place may be empty, unless the flow itself stores the value too (`is_kept`).
        """
        self._done.add(key)
        place = self.wired.data_place(key)
        if not is_stored(self.wired, key):
            return
        if is_kept:
            self._kept.append(place)
        elif not self.state.surely_has(place):
            raise self._refused(key, "a stage would keep it in the store")

    def _is_path(self, key: str, source: Source) -> bool:
        """Return True if a mapping can replace a source: it is a path, or a template with nothing but one reference."""
        if not isinstance(source, TemplateSource):
            return True
        field = self.wired.interface.reads.get(key)
        is_text = isinstance(source.written, str) and is_reference(source.written)
        return is_text and (field is None or field.type.name in ("any", "str"))

    def _map(self, key: str, source: Source) -> None:
        self._done.add(key)
        is_piped = self._is_piped(key) and self.wired.step.batch is None  # in a batch the item fills it first
        if isinstance(source, Fallback):  # a stage looks in the same order: mapping, pipe
            source, *others = source.sources.values()
            if len(others) == 1 and is_piped and self.state.carried == self._place(key, others[0]):
                return
        place = self._place(key, next(iter(source.sources.values())) if isinstance(source, TemplateSource) else source)
        if self.wired.sources[key].is_optional and not self.state.surely_has(place):
            raise self._refused(key, f"the store may have '{write_path(place)}' or not")
        is_own_first = self.wired.interface.inferred and self.state.may_have((key,))
        if not (is_piped and self.state.carried == place) or (is_own_first and place != (key,)):
            self._map_in(key, place)

    def _is_piped(self, key: str) -> bool:
        """Return True if a stage fills this read with the carried value, which it does not if a template uses that."""
        field, carried = self.wired.interface.reads.get(key), self.state.carried
        is_used = any(carried is None or (carried != NOTHING and are_nested(carried, place)) for place in self._used)
        return field is not None and "pipe" in field.marks and not is_used

    def _map_in(self, key: str, place: Path) -> None:
        self.flags.append(f"--map-in={quote(f'{key}={write_path(place)}')}")

    def _leave_to_name(self, key: str) -> None:
        """Stop a `[pipe]` read, which the flow fills by name, from taking the carried value.

        Add a mapping. If the key may be missing before a step that runs as `pflow run`, let pflow-set carry nothing.
        """
        state, own = self.state, (key,)
        is_piped = self._is_piped(key)
        if state.carried == NOTHING or (state.carried == own and is_piped):
            return
        if state.surely_has(own):
            self._map_in(key, own)
        elif self.is_run and (state.may_have(own) or not self._is_over(state.carried)):
            self.program = f"pflow-set --carry= |\n    {_RUN}"
            state.carried = NOTHING
        elif not self.is_run and (is_piped or state.may_have(own)):
            self.flags.append(f"--map-in={key}=")

    def _is_over(self, place: Path | None) -> bool:
        """Return True if the step is a batch over the carried value, which then fills no read."""
        over = self.wired.over
        return over is not None and over.paths[0] in (place, ("stdin",))

    def _add_manner(self) -> None:
        wired = self.wired
        if not wired.is_moved:
            moved = {key: target for key, target in wired.targets.items() if target != (key,)}
            self.flags += [f"--map-out={quote(f'{key}={write_path(target)}')}" for key, target in moved.items()]
        else:
            self.flags.insert(0, f"--id={wired.id}")
        self.flags += manner_words(wired.step)

    def _leave(self) -> None:
        state, wired, interface = self.state, self.wired, self.wired.interface
        written = {wired.place_of(key): key in interface.writes for key in [*wired.targets, *interface.writes]}
        state.places.update(dict.fromkeys(self._kept, True) | written)
        state.is_open = state.is_open or interface.open
        if interface.pipe_write is not None:
            state.carried = wired.place_of(interface.pipe_write.name)
        elif interface.open:  # a node without an interface may have written anything, and a stage carries it
            state.carried = None


def _program_of(wired: WiredStep) -> str:
    """Return the words with which a shell runs the node: its own executable, or pflow and its name."""
    node_type = wired.node_type
    assert node_type is not None  # PF11 is checked before an export
    if wired.step.flow is not None:
        return _RUN
    if node_type.origin == FLOW:
        raise refused(f"'{wired.id}' is a flow with a store of its own, which a stage does not have")
    if node_type.origin == PROGRAM and wired.interface.open:
        raise refused(f"'{wired.id}' is a program without an interface, which cannot be a stage")
    if wired.step.batch is not None:
        return _RUN
    if node_type.origin == BUNDLED:
        return f"pflow-{node_type.name}"
    if "/" in wired.step.type:
        return f"pflow {quote(node_type.file)}"
    is_taken = node_type.name in names_in("commands")  # `pflow NAME` would be the command
    return f"pflow pflow-{node_type.name}" if is_taken else f"pflow {node_type.name}"
