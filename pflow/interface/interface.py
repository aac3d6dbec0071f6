"""What a node declares: its reads, writes, params, actions and effects."""

from __future__ import annotations

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from pflow.values.types import Type

UNDECLARED = object()
"""The default of an item that has none."""

UNLESS = "unless "
"""Before the name of a param, in what is said of whether a node repeats."""

IS = " is "
"""Between that and the values of it that are meant."""

COMMANDS = ("command", "allowed_tools", "expect", "load_settings")
"""What says which commands a node would run, or whose."""

LIMITS = ("model", "max_budget")
"""What says whom it would ask, and for how much."""


class Item:
    """One read, write or param: its name, type, default (UNDECLARED without one), marks and what it is.

    `letter` is its short flag; with the mark `pair` two words follow it, a name and a value.
    """

    __slots__ = ("default", "doc", "env", "flags", "kind", "letter", "marks", "name", "type")

    def __init__(self, kind: str, name: str, type: Type) -> None:
        self.kind = kind
        self.name = name
        self.type = type
        self.default: Any = UNDECLARED
        self.marks: set[str] = set()
        self.flags: list[str] = []
        self.letter = ""
        self.env = ""
        self.doc = ""

    @property
    def required(self) -> bool:
        return self.default is UNDECLARED

    @property
    def is_stored(self) -> bool:
        """Whether the value of its flag goes into the store."""
        return not self.marks & {"own", "secret"}

    @property
    def is_textual(self) -> bool:
        """Whether it takes a text as it is, so that a template of one reference is the same as the path in it."""
        return self.type.name in ("str", "any", "path", "bytes", "choice")

    @property
    def is_telling(self) -> bool:
        """Whether its value says what a node would touch."""
        return (self.type.is_path or self.name in ("url", *COMMANDS, *LIMITS)) and "secret" not in self.marks

    @property
    def flag(self) -> str:
        """The flag that a person would type: the shortest name that it goes by."""
        return "--" + min([self.name, *self.flags], key=len).replace("_", "-")


class Interface:
    """What a node declares.

    `repeats` says whether it may run again without harm: `yes`, `no`, or `unless PARAM`, where that is not set, or
    `unless PARAM is VALUE, VALUE`, where it is another. `open` when its docstring has no interface: then any key and
    any param may pass, and what is here was read off its code. `fault` says why one that it has was not taken.
    `inferred` when its `[pipe]` marks were, or all of it.
    """

    def __init__(self) -> None:
        self.summary = ""
        self.description = ""
        self.reads: dict[str, Item] = {}
        self.writes: dict[str, Item] = {}
        self.params: dict[str, Item] = {}
        self.actions: tuple[str, ...] = ("default",)
        self.actions_doc = ""
        self.effects: tuple[str, ...] = ()
        self.repeats = "no"
        self.version = ""
        self.flow_safe = False
        self.examples: tuple[str, ...] = ()
        self.open = True
        self.inferred = False
        self.fault = ""

    @property
    def pipe_read(self) -> Item | None:
        return piped(self.reads)

    @property
    def pipe_write(self) -> Item | None:
        return piped(self.writes)

    @property
    def may_take_stdin(self) -> bool:
        """Whether it may take what comes in without a read for it: of this one it is not known what it reads."""
        return self.open and self.pipe_read is None

    def read_fed(self, key: Any) -> Item | None:
        """The read that a pipe fills which carries this key; where that is inferred, one of this very name first."""
        named = self.reads.get(key) if self.inferred else None
        return named if named is not None and "explicit" not in named.marks else self.pipe_read

    def default_of(self, item: Item, params: Mapping[str, Any]) -> Any:
        """The default of an item; `$NAME` at the end of one is a param, a choice: unset, the first of its words."""
        before, name = self.split_default(item)
        return before + (params.get(name) or self.params[name].type.choices[0]) if name else item.default

    def split_default(self, item: Item) -> tuple[str, str]:
        """What stands before the choice at the end of a default, and that param's name; both empty without one."""
        before, _, name = item.default.rpartition("$") if isinstance(item.default, str) else ("", "", "")
        return (before, name) if name in self.params and self.params[name].type.choices else ("", "")

    def carried_of(self, writes: Iterable[str]) -> str | None:
        """Of the keys that a node wrote, the one that is carried on; where that is inferred, in doubt the first."""
        item, guesses = self.pipe_write, self.open or self.inferred
        if item is not None and item.name in writes:
            return item.name
        stored = (key for key in writes if key not in self.writes or self.writes[key].is_stored)
        return next(stored, None) if guesses else None

    def may_repeat(self, params: Mapping[str, Any]) -> bool:
        """Whether it may run again without harm, with these params."""
        if not self.repeats.startswith(UNLESS):
            return self.repeats == "yes"
        name, is_value, values = self.repeats.removeprefix(UNLESS).partition(IS)
        value = params.get(name)
        if not is_value:
            return not value
        return value in self.params[name].type.choices and value not in values.split(", ")

    def defaults(self) -> dict[str, Any]:
        """Every param that has a default, with it; none that were read off the code, which has them itself."""
        known = {} if self.open else self.params
        return {name: fresh(item.default) for name, item in known.items() if not item.required}

    def infer_pipe(self) -> None:
        """Where no item has the mark [pipe], mark the first write, and the first read that a pipe may fill.

        That is a required one; in an interface read off code, else any.
        """
        if self.pipe_read or self.pipe_write:
            return
        reads = [item for item in self.reads.values() if item.is_stored and "explicit" not in item.marks]
        required = [item for item in reads if item.required]
        writes = [item for item in self.writes.values() if item.is_stored]
        for item in [*(required or (reads if self.open else ()))[:1], *writes[:1]]:
            item.marks.add("pipe")
            self.inferred = True


def fresh(value: Any) -> Any:
    """A copy of a JSON value, so that who changes it changes no default."""
    if isinstance(value, list):
        return [fresh(item) for item in value]
    if isinstance(value, dict):
        return {key: fresh(item) for key, item in value.items()}
    return value


def piped(items: dict[str, Item]) -> Item | None:
    return next((item for item in items.values() if "pipe" in item.marks), None)


def word_reads(reads: dict[str, Item]) -> list[Item]:
    """The reads that bare words fill, in their order; a list, which takes the rest of them, is the last."""
    return list({item.name: item for item in reads.values() if "word" in item.marks}.values())


def with_keys(interface: Interface, params: Mapping[str, Any]) -> Interface:
    """An open interface with the read and the write that its params `input_key` and `output_key` name, if they do.

    Each has the mark [pipe] where the code shows no other for it.
    """
    from pflow.values.types import Type

    named = (("read", params.get("input_key")), ("write", params.get("output_key")))
    items = [Item(kind, key, Type("any")) for kind, key in named if isinstance(key, str) and key.isidentifier()]
    if not (interface.open and items):
        return interface
    made = Interface()
    made.__dict__.update(interface.__dict__, reads={**interface.reads}, writes={**interface.writes}, inferred=True)
    for item in items:
        others = made.reads if item.kind == "read" else made.writes
        item.marks |= set() if piped(others) else {"pipe"}
        others.setdefault(item.name, item)
    return made
