"""The store as one step's node sees it: what was found for it, what it really reads, what it writes."""

from __future__ import annotations

from _collections_abc import MutableMapping

from pflow.interface import fresh
from pflow.jsontext import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


STAND_IN, FOUND, OWN = 0, 1, 2
"""Where a read came from: a param or default in its place, what was found for it, the store's own key of its name."""


class StepStore(MutableMapping):  # type: ignore[type-arg]
    """A flow's store under one step's names.

    A key is what the node itself wrote, else what was found for it (`found`: mappings, inputs), else the store's own,
    else a stand-in (`start.fallbacks`: params and defaults). Lists and objects are handed out as copies, so that a
    node changes nothing but by writing; those of the keys in `start.watched` are compared with what they were, and
    what changed counts as written. Writes are held in `written` until the step has ended. `reads` notes where each key
    that the node read came from.
    """

    __slots__ = ("copies", "found", "reads", "removed", "shared", "start", "written")

    def __init__(self, shared: dict[str, Any], start: Any) -> None:
        self.shared = shared
        self.start = start
        self.found: dict[str, Any] = {}
        self.reads: dict[str, int] = {}
        self.written: dict[str, Any] = {}
        self.copies: dict[str, tuple[Any, Any]] | None = None
        """Each copy that was handed out, and what it was made of."""
        self.removed: set[str] | None = None

    def __getitem__(self, key: str) -> Any:
        if key in self.written:
            return self.written[key]
        if self.removed and key in self.removed:
            raise KeyError(key)
        if key in self.found:
            self.reads[key] = FOUND
            value = self.found[key]
        elif key in self.shared and key not in self.start.hidden:
            self.reads[key] = OWN
            value = self.shared[key]
        else:
            value = self.start.fallbacks[key]
            self.reads[key] = STAND_IN
        return self._copy(key, value) if value.__class__ in (list, dict) else value

    def _copy(self, key: str, value: Any) -> Any:
        if self.copies is None:
            self.copies = {}
        if key not in self.copies:
            self.copies[key] = fresh(value), value
        return self.copies[key][0]

    def __contains__(self, key: object) -> bool:
        if key in self.written:
            return True
        if self.removed and key in self.removed:
            return False
        if key in self.found or key in self.start.fallbacks:
            return True
        return key in self.shared and key not in self.start.hidden

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self:
            return default
        return self[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.written[key] = value

    def __delitem__(self, key: str) -> None:
        """Take back a write of its own; what others wrote stays in the store, out of this node's sight."""
        if key not in self:
            raise KeyError(key)
        if self.written.pop(key, self) is self:
            self.removed = {*(self.removed or ()), key}

    def __iter__(self) -> Iterator[str]:
        keys = dict.fromkeys([*self.shared, *self.start.fallbacks, *self.found, *self.written])
        return (key for key in keys if key in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def copy(self) -> dict[str, Any]:
        return dict(self)

    def __or__(self, other: Any) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: Any) -> dict[str, Any]:
        return {**other, **self}

    def __ior__(self, other: Any) -> StepStore:
        self.update(other)
        return self

    def note_changes(self) -> None:
        """Count as written what the node changed in place."""
        for key, (value, before) in (self.copies or {}).items():
            if key in self.written or key not in self or not self.start.is_watched(key):
                continue
            if encode(value) != encode(before):
                self.written[key] = value
