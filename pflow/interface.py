"""What a node declares: its reads, writes, params, actions and effects."""

from __future__ import annotations

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from pflow.types import Type

UNDECLARED = object()
"""The default of an item that has none."""


class Item:
    """One read, write or param: its name, type, default (UNDECLARED without one), marks and what it is."""

    __slots__ = ("default", "doc", "env", "flags", "kind", "marks", "name", "type")

    def __init__(self, kind: str, name: str, type: Type) -> None:
        self.kind = kind
        self.name = name
        self.type = type
        self.default: Any = UNDECLARED
        self.marks: set[str] = set()
        self.flags: list[str] = []
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
    def is_telling(self) -> bool:
        """Whether its value says what a node would touch."""
        return (self.type.is_path or self.name == "command") and "secret" not in self.marks

    @property
    def flag(self) -> str:
        """The flag that a person would type: the shortest name that it goes by."""
        return "--" + min([self.name, *self.flags], key=len).replace("_", "-")


class Interface:
    """What a node declares.

    `open` when its docstring has no interface: then any key and any param may pass. `fault` says why one that it has
    was not taken.
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
        self.version = ""
        self.flow_safe = False
        self.examples: tuple[str, ...] = ()
        self.open = True
        self.fault = ""

    @property
    def pipe_read(self) -> Item | None:
        return piped(self.reads)

    @property
    def pipe_write(self) -> Item | None:
        return piped(self.writes)

    def defaults(self) -> dict[str, Any]:
        """Every param that has a default, with it."""
        return {name: fresh(item.default) for name, item in self.params.items() if not item.required}


def fresh(value: Any) -> Any:
    """A copy of a JSON value, so that who changes it changes no default."""
    if isinstance(value, list):
        return [fresh(item) for item in value]
    if isinstance(value, dict):
        return {key: fresh(item) for key, item in value.items()}
    return value


def piped(items: dict[str, Item]) -> Item | None:
    return next((item for item in items.values() if "pipe" in item.marks), None)
