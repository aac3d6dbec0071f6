"""One step as a stage of a shell pipe: its program and flags, and what is done to the store before and after it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pflow.binding.sources import AlternativeSource, Constant, Source, TemplateSource
from pflow.catalog.kinds import BUNDLED, PROGRAM
from pflow.catalog.registry import names_in
from pflow.errors import PflowError
from pflow.export._sh_flags import Unsayable, constant, flag, flag_name, json_text, quoted, refused, template
from pflow.flow.wired import WiredStep
from pflow.flow.written import rewritten
from pflow.interface import Item
from pflow.paths import is_step_name, meet, write_path
from pflow.templates import is_reference
from pflow.types import Type

if TYPE_CHECKING:
    from pflow.paths import Path

NOTHING: Path = ()
"""What a pipe carries to which nothing was written yet."""


class State:
    """What is known of the store between two stages.

    `places` says of each place whether something is there for certain. `carried` is the place that the pipe carries,
    None where that cannot be known. `is_open` says that anything may have been written.
    """

    def __init__(self) -> None:
        self.places: dict[Path, bool] = {}
        self.carried: Path | None = NOTHING
        self.is_open = False

    def surely_has(self, place: Path) -> bool:
        return any(is_sure and each[: len(place)] == place for each, is_sure in self.places.items())

    def may_have(self, place: Path) -> bool:
        return self.is_open or any(meet(each, place) for each in self.places)

    def may_carry(self, place: Path) -> bool:
        """Whether the pipe may carry this place, a part of it, or what holds it."""
        return self.carried is None or (self.carried != NOTHING and meet(self.carried, place))


class Stage:
    """What one step becomes, and in `state` what it leaves. Raises PflowError (65) where no stage does the same.

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
        self._add_params()
        self._add_data(variables)
        self._add_mappings()
        pipe = wired.interface.pipe_read
        if pipe is not None and pipe.name not in self._done and not takes_pipe:
            self._leave_to_name(pipe.name)
        self._add_places()
        self._add_tries()
        self._check_program()
        self._leave()

    @property
    def command(self) -> str:
        return " ".join([program_of(self.wired), *self.flags])

    def _refused(self, key: str, why: str, hint: str = "") -> PflowError:
        return refused(f"'{self.wired.id}' and its '{key}': {why}", hint)

    def _item(self, key: str) -> Item:
        interface = self.wired.interface
        return interface.reads.get(key) or interface.params.get(key) or Item("read", key, Type("str"))

    def _add_params(self) -> None:
        interface = self.wired.interface
        for key, source in self.wired.params.items():
            item = self._item(key)
            if _is_stand_in(self.wired, key) or (_is_unset(source, item) and not item.env):
                continue
            if interface.open and not (isinstance(source, Constant) and isinstance(source.value, str)):
                hint = "an interface in its docstring says its type"
                raise self._refused(key, "a stage would take it for text", hint)
            self._add_flag(key, item, source)

    def _add_data(self, variables: Mapping[str, str]) -> None:
        """Flags for the step's inputs, its templates, the script's own flags, and params in place of reads."""
        wired = self.wired
        for key, source in wired.sources.items():
            if key in wired.step.inputs and isinstance(source, Constant | TemplateSource):
                self._give(key, source, is_kept=not _is_unset(source, self._item(key)))
            elif isinstance(source, TemplateSource) and _whole(source, self._item(key)) is source:
                self._give(key, source, is_kept=False)
        for key, name in variables.items():
            self.flags.append(f'{flag_name(key)}="${name}"')
            self._keep(key, is_kept=True)
        for key, source in wired.params.items():
            if _is_stand_in(wired, key) and key not in wired.sources and key not in self._done:
                self._add_stand_in(key, source)

    def _add_stand_in(self, key: str, source: Source) -> None:
        """A param in place of a read counts where the store has nothing under that name."""
        if "explicit" in self._item(key).marks or not self.state.may_have((key,)):
            self._give(key, source, is_kept=False)
        elif not self.state.surely_has((key,)):
            raise self._refused(key, "whether the store has it cannot be told before")

    def _give(self, key: str, source: Source, *, is_kept: bool) -> None:
        """A flag for a read, or where no flag can give the value, a member of the store."""
        item = self._item(key)
        try:
            if self.wired.interface.open and key in self.wired.step.params:
                return  # one flag gives both
            if self.wired.interface.open:
                raise Unsayable("a stage would not keep it")
            self._add_flag(key, item, source)
        except Unsayable as why:
            self._set_member(key, item, source, str(why))
        self._keep(key, is_kept=is_kept)

    def _add_flag(self, key: str, item: Item, source: Source) -> None:
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
        if isinstance(source, AlternativeSource):
            raise self._refused(key, "which of several places was written last cannot be told before")
        return source.paths[0]

    def _set_member(self, key: str, item: Item, source: Source, why: str) -> None:
        place = self.wired.data_place(key)
        is_unset = isinstance(source, Constant) and source.value is None and item.type.name != "any"
        if not isinstance(source, Constant) or is_unset or self.state.may_have(place):
            raise self._refused(key, why)
        self.members.append(quoted(f"{write_path(place)}:={json_text(source.value)}"))
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

    def _add_mappings(self) -> None:
        for key, source in self.wired.sources.items():
            if key in self._done:
                continue
            self._done.add(key)
            place = self._place(key, _whole(source, self._item(key)))
            if key in self.wired.soft and not self.state.surely_has(place):
                raise self._refused(key, f"whether the store has '{write_path(place)}' cannot be told before")
            if not (self._is_piped(key) and self.state.carried == place):
                self._map_in(key, place)

    def _is_piped(self, key: str) -> bool:
        """Whether a stage gives this read what the pipe carries: a template that uses that leaves it alone."""
        return "pipe" in self._item(key).marks and not any(map(self.state.may_carry, self._used))

    def _map_in(self, key: str, place: Path) -> None:
        if self.wired.interface.open:
            raise self._refused(key, "a stage of a node without an interface takes no mapping")
        self.flags.append(f"--map-in={quoted(f'{key}={write_path(place)}')}")

    def _leave_to_name(self, key: str) -> None:
        """A `[pipe]` read that the flow takes by its name: what the pipe carries must not come before it."""
        state, own = self.state, (key,)
        is_left = not self._is_piped(key)
        if state.carried == NOTHING or (state.carried == own and not is_left):
            return
        if state.surely_has(own):
            self._map_in(key, own)
        elif not is_left or state.may_have(own):
            self.is_cleared = True

    def _add_places(self) -> None:
        wired = self.wired
        if not wired.is_moved:
            moved = {key: target for key, target in wired.targets.items() if target != (key,)}
            self.flags += [f"--map-out={quoted(f'{key}={write_path(target)}')}" for key, target in moved.items()]
        elif is_step_name(wired.id):
            self.flags.insert(0, f"--id={wired.id}")
        else:
            raise refused(f"a stage cannot be called '{wired.id}'", "letters, digits, _ and -, with a letter first")

    def _add_tries(self) -> None:
        step = self.wired.step
        tries = {"retries": step.retries, "wait": step.wait, "timeout": step.timeout}
        self.flags += [flag(name, str(value)) for name, value in tries.items() if value is not None]

    def _check_program(self) -> None:
        """A program that is no stage has its own params for flags and no others."""
        theirs = {flag_name(key) for key in self.wired.params}
        if is_bare(self.wired) and any(each.partition("=")[0] not in theirs for each in self.flags):
            raise refused(f"'{self.wired.id}' is a program, which finds its keys by their own names only")

    def _leave(self) -> None:
        """Note what the store holds after it."""
        state, wired, interface = self.state, self.wired, self.wired.interface
        written = {wired.place_of(key): key in interface.writes for key in [*wired.targets, *interface.writes]}
        state.places.update(dict.fromkeys(self._kept, True) | written)
        self.dropped = [place for place in self.dropped if place not in written]
        state.is_open = state.is_open or interface.open
        if interface.pipe_write is not None:
            state.carried = wired.place_of(interface.pipe_write.name)
        elif self.is_cleared:
            state.carried = NOTHING


def program_of(wired: WiredStep) -> str:
    """How a shell calls the node: by its own executable, else through pflow, which makes a stage of a program."""
    kind = wired.kind
    if kind is None:
        raise refused(f"'{wired.id}' is no known node")
    on_path = os.environ.get("PATH", "").split(os.pathsep)
    if kind.origin == BUNDLED or (is_bare(wired) and os.path.dirname(kind.file) in on_path):
        return f"pflow-{kind.name}"
    is_taken = kind.name in ("help", *names_in("commands"))  # there `pflow NAME` is the command
    return f"pflow pflow-{kind.name}" if is_taken else f"pflow {kind.name}"


def is_bare(wired: WiredStep) -> bool:
    """Whether it is a program without an interface: pflow starts it and makes no stage of it."""
    return wired.kind is not None and wired.kind.origin == PROGRAM and wired.interface.open


def _is_stand_in(wired: WiredStep, key: str) -> bool:
    """Whether a param stands in place of a read."""
    return key in wired.interface.reads and key not in wired.interface.params


def _is_unset(source: Source, item: Item) -> bool:
    return isinstance(source, Constant) and source.value is None and item.default is None


def _whole(source: Source, item: Item) -> Source:
    """The source inside a template that is one whole reference, where a mapping gives the same value."""
    if isinstance(source, TemplateSource) and isinstance(source.written, str) and is_reference(source.written):
        return next(iter(source.sources.values())) if item.type.name in ("any", "str") else source
    return source
