"""Finding the value of one read or param: what its source leads to, as its type."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.flag_value import expanded_value
from pflow.binding.sources import Constant, TemplateSource
from pflow.errors import BAD_DATA, PflowError
from pflow.values.paths import write_path
from pflow.values.types import Type, fit

if TYPE_CHECKING:
    from typing import Any

    from pflow.binding.sources import Source
    from pflow.interface.interface import Item
    from pflow.values.paths import Path

_ANY = Type("any")
_EXACT = {"str": str, "bool": bool, "dict": dict, "int": int}
"""Types of which a value of this very class is one."""


class Finder:
    """Finds the value of one read or param that has a source."""

    __slots__ = ("exact", "is_soft", "item", "key", "places", "source", "type")

    def __init__(
        self, key: str, source: Source, item: Item | None, *, is_soft: bool = False, is_mapped: bool = False
    ) -> None:
        self.key = key
        self.source = source
        self.item = item
        self.type = item.type if item else _ANY
        self.exact = _EXACT.get(self.type.name)
        self.is_soft = is_soft
        self.places: dict[tuple[Path, ...], tuple[str, ...]] = {}
        """Places that it was found at, as text."""
        if isinstance(source, Constant):
            # a mapping that stands fast is a template without references
            fixed = (
                expanded_value(key, self.type, source.value, source.value) if is_mapped else self.fitted(source.value)
            )
            self.source = Constant(fixed, source.origin)

    def find(self, store: Any) -> Any:
        """The value, as its type. Raises PflowError: 66 where a path leads nowhere, 65 where it does not fit."""
        source = self.source
        if isinstance(source, Constant):
            return source.value
        if not isinstance(source, TemplateSource):
            return self.fitted(source.find(store))
        value = source.find(store, is_path=self.type.is_path)
        return self.fitted(expanded_value(source.flag or self.key, self.type, source.written, value))

    def fitted(self, value: Any) -> Any:
        if self.type.name == "any" or value.__class__ is self.exact:
            return value
        if value is None and self.item is not None and self.item.default is None:
            return None
        try:
            return fit(self.type, value)
        except ValueError as error:
            origin = f" from {self.source.origin}" if self.source.origin else ""
            hint = f"--map-in {self.key}=PATH takes another place"
            if self.type.holds_rows and isinstance(value, str | bytes):
                hint = "load-csv, load-json or load-jsonl makes rows of a text"
            raise PflowError(f"cannot read '{self.key}'{origin}: {error}", hint=hint, exit=BAD_DATA) from None

    def origins(self, store: Any) -> tuple[str, ...]:
        places = self.source.places(store)
        if places not in self.places:
            self.places[places] = tuple(map(write_path, places))
        return self.places[places]
