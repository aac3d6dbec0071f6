"""One step as a stage of a shell pipe: its program and flags, and what is done to the store before and after it."""

from __future__ import annotations

from pflow.binding.sources import AlternativeSource, Constant, PathSource, TemplateSource
from pflow.export.sh_program import is_bare, program_of, refused
from pflow.export.sh_state import NOTHING
from pflow.export.sh_words import Unsayable, constant, flag, flag_name, quoted, template
from pflow.flow.rewrite import rewritten
from pflow.interface import Item
from pflow.jsontext import encode
from pflow.paths import is_step_name, meet, write_path
from pflow.templates import is_reference
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pflow.binding.sources import Source
    from pflow.errors import PflowError
    from pflow.export.sh_state import State
    from pflow.flow.wired import WiredStep
    from pflow.paths import Path


class Stage:
    """What one step becomes. Raises PflowError (65) where a stage cannot do the same.

    `members` are set before it: values that no flag can give. `is_cleared` says that the pipe must carry nothing to
    it. `dropped` are removed after it: a stage keeps its flags' values in the store, a flow not all of them.
    """

    def __init__(self, wired: WiredStep, state: State, variables: Mapping[str, str], *, takes_pipe: bool) -> None:
        """`variables` hold, by read, what the script itself was given for it."""
        self.wired = wired
        self.state = state
        self.flags: list[str] = []
        self.members: list[str] = []
        self.dropped: list[Path] = []
        self.is_cleared = False
        self._kept: list[Path] = []
        self._used: list[Path] = []
        self._done: set[str] = set()
        self._say_params()
        self._say_values(variables)
        for key, source in wired.sources.items():
            if key not in self._done:
                self._say_mapping(key, source)
        pipe = wired.interface.pipe_read
        if pipe is not None and pipe.name not in self._done and not takes_pipe:
            self._leave_to_name(pipe.name)
        self._say_places()
        self._say_tries()
        self._check_program()
        self._pass()

    @property
    def command(self) -> str:
        return " ".join([program_of(self.wired), *self.flags])

    def _refused(self, key: str, why: str, hint: str = "") -> PflowError:
        return refused(f"'{self.wired.id}' and its '{key}': {why}", hint)

    def _item(self, key: str) -> Item:
        interface = self.wired.interface
        return interface.reads.get(key) or interface.params.get(key) or Item("read", key, Type("str"))

    def _say_params(self) -> None:
        interface = self.wired.interface
        for key, source in self.wired.params.items():
            if key in interface.reads and key not in interface.params:
                continue
            item = self._item(key)
            if isinstance(source, Constant) and source.value is None and item.default is None and not item.env:
                continue
            if interface.open and not (isinstance(source, Constant) and isinstance(source.value, str)):
                raise self._refused(
                    key, "a stage would take it for text", "an interface in its docstring says its type"
                )
            self._say_flag(key, item, source)

    def _say_values(self, variables: Mapping[str, str]) -> None:
        """Flags for what the step is given: its inputs, templates, params in place of reads, the script's own flags."""
        wired = self.wired
        for key, source in wired.sources.items():
            if key in wired.step.inputs and isinstance(source, Constant | TemplateSource):
                is_unset = isinstance(source, Constant) and source.value is None and self._item(key).default is None
                self._give(key, source, is_kept=not is_unset)
            elif isinstance(source, TemplateSource) and _whole(source, self._item(key)) is None:
                self._give(key, source, is_kept=False)
        for key, name in variables.items():
            self.flags.append(f'{flag_name(key)}="${name}"')
            self._keep(key, is_kept=True)
        for key, source in wired.params.items():
            item = wired.interface.reads.get(key)
            if item is not None and key not in wired.interface.params:
                self._say_stand_in(key, item, source)

    def _say_stand_in(self, key: str, item: Item, source: Source) -> None:
        """A param in place of a read: it counts where the store has nothing under that name."""
        if key in self.wired.sources or key in self._done:
            return
        if "explicit" not in item.marks and self.state.may_have((key,)):
            if not self.state.surely_has((key,)):
                raise self._refused(key, "whether the store has it cannot be told before")
            return
        self._give(key, source, is_kept=False)

    def _give(self, key: str, source: Source, *, is_kept: bool) -> None:
        """A flag for a read, or where no flag can say the value, a member of the store."""
        item = self._item(key)
        try:
            if self.wired.interface.open:
                raise Unsayable("a stage would not keep it")
            self._say_flag(key, item, source)
        except Unsayable as why:
            self._set_member(key, item, source, str(why))
        self._keep(key, is_kept=is_kept)

    def _say_flag(self, key: str, item: Item, source: Source) -> None:
        try:
            if isinstance(source, Constant):
                self.flags += constant(item, source.value)
            elif isinstance(source, TemplateSource):
                self.flags += template(item, self._written(key, source))
        except Unsayable:
            if item.kind == "read" and isinstance(source, Constant):
                raise
            raise self._refused(key, "no flag gives that value") from None

    def _written(self, key: str, source: TemplateSource) -> Any:
        places = {path: self._place(key, each) for path, each in source.sources.items()}
        self._used += places.values()
        return rewritten(source.written, places)

    def _place(self, key: str, source: Source) -> Path:
        """The one place that a source looks at."""
        if isinstance(source, PathSource):
            return source.path
        place = self.state.latest(source.paths) if isinstance(source, AlternativeSource) else None
        if place is None:
            raise self._refused(key, "which of several places was written last cannot be told before")
        return place

    def _set_member(self, key: str, item: Item, source: Source, why: str) -> None:
        place = self.wired.data_place(key)
        is_unset = isinstance(source, Constant) and source.value is None and item.type.name != "any"
        if not isinstance(source, Constant) or is_unset or self.state.may_have(place):
            raise self._refused(key, why)
        self.members.append(quoted(f"{write_path(place)}:={str(encode(source.value), 'utf-8')}"))
        if not self.wired.interface.open:
            self._map_in(key, place)
        if not item.is_stored:
            self.dropped.append(place)

    def _keep(self, key: str, *, is_kept: bool) -> None:
        """Note what becomes of a flag's value: a stage keeps it where nothing is yet, unless the read is its own."""
        self._done.add(key)
        place = self.wired.data_place(key)
        if not self._item(key).is_stored:
            return
        if is_kept:
            self._kept.append(place)
        elif not self.state.may_have(place):
            self.dropped.append(place)
        elif not self.state.surely_has(place):
            raise self._refused(key, "whether a stage would keep it cannot be told before")

    def _say_mapping(self, key: str, source: Source) -> None:
        item = self._item(key)
        whole = _whole(source, item) if isinstance(source, TemplateSource) else source
        assert whole is not None
        place = self._place(key, whole)
        self._done.add(key)
        if key in self.wired.soft and not self.state.surely_has(place):
            raise self._refused(key, f"whether the store has '{write_path(place)}' cannot be told before")
        is_spoken_for = any(self.state.may_carry(used) for used in self._used)
        if "pipe" in item.marks and self.state.carried == place and not is_spoken_for:
            return
        self._map_in(key, place)

    def _map_in(self, key: str, place: Path) -> None:
        if self.wired.interface.open:
            raise self._refused(key, "a stage of a node without an interface takes no mapping")
        self.flags.append(f"--map-in={quoted(f'{key}={write_path(place)}')}")

    def _leave_to_name(self, key: str) -> None:
        """A `[pipe]` read that the flow takes by its name: what the pipe carries must not come before it."""
        state, own = self.state, (key,)
        if state.carried == NOTHING:
            return
        is_spoken_for = state.carried is not None and any(meet(used, state.carried) for used in self._used)
        if state.carried == own and not is_spoken_for:
            return
        if state.surely_has(own):
            self._map_in(key, own)
        elif not is_spoken_for or state.may_have(own):
            self.is_cleared = True

    def _say_places(self) -> None:
        wired = self.wired
        if wired.is_moved:
            if not is_step_name(wired.id):
                raise refused(f"a stage cannot be called '{wired.id}'", "letters, digits, _ and -, with a letter first")
            self.flags.insert(0, f"--id={wired.id}")
            return
        for key, target in wired.targets.items():
            if target != (key,):
                self.flags.append(f"--map-out={quoted(f'{key}={write_path(target)}')}")

    def _say_tries(self) -> None:
        step = self.wired.step
        for name, value in (("retries", step.retries), ("wait", step.wait), ("timeout", step.timeout)):
            if value is not None:
                self.flags.append(flag(name, str(value)))

    def _check_program(self) -> None:
        """A program that is no stage has its own params for flags and no others."""
        theirs = {flag_name(key) for key in self.wired.params}
        if is_bare(self.wired) and any(each.partition("=")[0] not in theirs for each in self.flags):
            raise refused(f"'{self.wired.id}' is a program, which finds its keys by their own names only")

    def _pass(self) -> None:
        """Note what the store holds after it."""
        state, wired = self.state, self.wired
        for place in self._kept:
            state.write(place, is_sure=True)
        for key in [*wired.interface.writes, *wired.targets]:
            state.write(wired.place_of(key), is_sure=key in wired.interface.writes)
        written = [wired.place_of(key) for key in wired.interface.writes]
        self.dropped = [place for place in self.dropped if place not in written]
        state.is_open = state.is_open or wired.interface.open
        if self.is_cleared:
            state.carried = NOTHING
        if wired.interface.pipe_write is not None:
            state.carried = wired.place_of(wired.interface.pipe_write.name)


def _whole(source: TemplateSource, item: Item) -> Source | None:
    """The source of a template that is one whole reference, where a mapping gives the same value."""
    if isinstance(source.written, str) and is_reference(source.written) and item.type.name in ("any", "str"):
        return next(iter(source.sources.values()))
    return None
