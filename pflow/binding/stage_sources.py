"""Where each value comes from: a flag, a mapping, the pipe, the store or a default; the first that has it."""

from __future__ import annotations

import os

from pflow.errors import BAD_CONFIG, BAD_DATA, BAD_STDIN, MISSING, PflowError
from pflow.interface import fresh
from pflow.paths import meet, parse_path, write_path
from pflow.stage.intake import EMPTY, RAW, empty_pipe
from pflow.types import fit, from_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.interface import Interface, Item
    from pflow.paths import Path
    from pflow.stage.flags import Flags
    from pflow.stage.intake import Intake

ABSENT = object()
"""The value of an optional read that nothing gives."""


class Pretended(Exception):
    """The value is one that a stage before this one would have written, had it not been dry."""


class Inputs:
    """What a node starts with: a value for each read that has one, where it came from, and the params."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[str, str] = {}
        self.stored: dict[str, Any] = {}
        self.params: dict[str, Any] = {}


def check_stdin(interface: Interface, flags: Flags, intake: Intake) -> None:
    """Refuse an empty pipe that the node was to work on (66), and raw input that nothing here takes (64)."""
    pipe = interface.pipe_read
    open_to_pipe = pipe is not None and pipe.name not in flags.data and pipe.name not in flags.map_in
    if intake.kind == EMPTY and open_to_pipe and not flags.allow_empty:
        raise empty_pipe()
    takes_stdin = open_to_pipe or interface.open or "stdin" in interface.reads or _names_stdin(flags)
    size = sum(map(len, intake.chunks))
    if intake.kind == RAW and size and not takes_stdin:
        raise PflowError(
            f"cannot use stdin: nothing here takes its {size:,} bytes",
            hint="-n leaves stdin to others; a template with $stdin takes it",
            exit=BAD_STDIN,
        )


def _names_stdin(flags: Flags) -> bool:
    paths = [path for given in _all_given(flags) for path in given.references]
    return any(path[0] == "stdin" for path in [*paths, *flags.map_in.values()])


def _all_given(flags: Flags) -> list[Any]:
    return [*flags.data.values(), *flags.params.values()]


class Sources:
    """Looks up the values of one stage. `carried` is the path that the pipe carries."""

    def __init__(self, interface: Interface, flags: Flags, intake: Intake) -> None:
        self.interface = interface
        self.flags = flags
        self.document = intake.document
        self.pretended = [parse_path(path) for path in intake.document.header.get("dry", [])]
        last = intake.document.header.get("last")
        self.carried = None if last is None else parse_path(last)

    def find_all(self) -> Inputs:
        """Every value, of every read and param. Raises PflowError for the first that is missing or does not fit."""
        inputs = Inputs()
        for name, item in self.interface.reads.items():
            self._find_read(name, item, inputs)
        if self.interface.open:
            self._find_undeclared(inputs)
        for name, item in self.interface.params.items():
            value = self._find_param(name, item)
            if value is not ABSENT:
                inputs.params[name] = value
        return inputs

    def _find_undeclared(self, inputs: Inputs) -> None:
        """Flags of a node without an interface: what each is, data or param, only the node knows; it gets both.

        Its --map-in names whatever key it may read.
        """
        for name, path in self.flags.map_in.items():
            try:
                inputs.values[name], inputs.origins[name] = self.look_up(path), write_path(path)
            except Pretended:
                continue
        for name, given in self.flags.data.items():
            inputs.origins[name] = given.flag
            try:
                inputs.values[name] = inputs.params[name] = given.expanded(self.look_up)
            except Pretended:
                continue

    def _find_read(self, name: str, item: Item, inputs: Inputs) -> None:
        value: Any
        try:
            value, origin = self._first_of(name, item)
            if value is not ABSENT:
                value = self._fitted(item, value, origin)
        except Pretended as pretended:
            value, origin = pretended, str(pretended)
        if value is not ABSENT and not isinstance(value, Pretended):
            inputs.values[name] = value
        if origin:
            inputs.origins[name] = origin
        if value is not ABSENT and self.flags.is_stored(name):
            inputs.stored[name] = fresh(value)  # what the node does to its own is not a flag's value

    def _first_of(self, name: str, item: Item) -> tuple[Any, str]:
        """The value of a read and its origin, by the order of DESIGN.md's section 4."""
        if name in self.flags.data:
            given = self.flags.data[name]
            origin = ", ".join([write_path(path) for path in given.references])
            return given.expanded(self.look_up), f"{given.flag} ({origin})" if origin else given.flag
        if name in self.flags.map_in:
            path = self.flags.map_in[name]
            return self.look_up(path), write_path(path)
        spoken_for = "pipe" in item.marks and self._is_carried_used()
        if "pipe" in item.marks and self.carried is not None and not spoken_for:
            return self.look_up(self.carried), write_path(self.carried)
        if "explicit" not in item.marks and not spoken_for and self._has(name):
            return self.look_up((name,)), name
        if item.required:
            raise self._nothing_gives(name, item)
        return (ABSENT if item.default is None else fresh(item.default)), ""

    def _is_carried_used(self) -> bool:
        """Whether a template uses the carried path, a part of it, or what holds it."""
        if self.carried is None:
            return False
        carried = self.carried
        paths = [path for given in _all_given(self.flags) for path in given.references]
        return any(meet(path, carried) for path in paths)

    def _has(self, name: str) -> bool:
        return name in self.document or any(path[0] == name for path in self.pretended)

    def look_up(self, path: Path) -> Any:
        """The value at a path of the store. Raises Pretended for what a dry stage would have written."""
        for pretended in self.pretended:
            if meet(path, pretended):
                raise Pretended(write_path(path))
        try:
            return self.document.look_up(path)
        except PflowError as error:
            if error.exit == MISSING:
                raise error.within(f"cannot find '{write_path(path)}'") from None
            raise

    def _fitted(self, item: Item, value: Any, origin: str) -> Any:
        if value is None and item.default is None:
            return ABSENT
        try:
            return fit(item.type, value)
        except ValueError as error:
            raise PflowError(
                f"cannot read '{item.name}' from {origin}: {error}",
                hint=f"--map-in {item.name}=PATH takes another place",
                exit=BAD_DATA,
            ) from None

    def _nothing_gives(self, name: str, item: Item) -> PflowError:
        about = f" ({item.doc})" if item.doc else ""
        return PflowError(f"cannot find '{name}'{about}: nothing gives it", hint=f"{item.flag}=…", exit=MISSING)

    def _find_param(self, name: str, item: Item) -> Any:
        if name in self.flags.params:
            try:
                return self.flags.params[name].expanded(self.look_up)
            except Pretended:
                return ABSENT
        if item.env and os.environ.get(item.env):
            return from_environment(item)
        return ABSENT if item.required else fresh(item.default)


def from_environment(item: Item) -> Any:
    text = os.environ[item.env]
    try:
        return from_text(item.type, text)
    except ValueError as error:
        shown = "" if "secret" in item.marks else f"='{text}'"
        raise PflowError(f"cannot take {item.env}{shown}: {error}", exit=BAD_CONFIG) from None
