"""The store under one step's names: mapped reads, constants and defaults, and writes that are held back."""

from __future__ import annotations

from _collections_abc import MutableMapping

from pflow.jsontext import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class View(MutableMapping):  # type: ignore[type-arg]
    """What a node gets for a store. A key is what it wrote itself, what was `found` for it, what the store has under
    that name unless it is `hidden`, or a stand-in of `fallbacks`. Its writes wait in `written` until it has ended.
    """

    def __init__(self, shared: dict[str, Any], found: dict[str, Any], fallbacks: dict[str, Any], hidden: set[str]):
        self.shared = {key: shared[key] for key in shared if key not in hidden} if hidden else shared
        self.found = found
        self.fallbacks = fallbacks
        self.written: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        for values in (self.written, self.found, self.shared):
            if key in values:
                return values[key]
        return self.fallbacks[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.written[key] = value

    def __delitem__(self, key: str) -> None:
        del self.written[key]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.shared, **self.fallbacks, **self.found, **self.written})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def texts_of(self, keys: set[str]) -> dict[str, bytes]:
        """The lists and objects among these keys, as JSON, to see afterwards whether the node changed them."""
        return {key: encode(self[key]) for key in keys if key in self and isinstance(self[key], list | dict)}

    def note_changes(self, before: dict[str, bytes]) -> None:
        """Count as written what the node changed in place."""
        for key, text in before.items():
            if key not in self.written and encode(self[key]) != text:
                self.written[key] = self[key]
