"""The store as one step's node sees it: what was found for it, what it really reads, what it writes."""

from __future__ import annotations

from _collections_abc import MutableMapping

from pflow.jsontext import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from pflow.run.values import Values


class StepStore(MutableMapping):  # type: ignore[type-arg]
    """A flow's store under one step's names.

    A key is what the node itself wrote, else what was found for it (`found`: mappings, inputs), else the store's own,
    else a stand-in (`start.fallbacks`: params and defaults). Writes are held in `written` until the step has ended.
    `reads` notes each key that the node read, and whether it was the store's own. Lists and objects of the keys in
    `start.watched` are compared with what they were (`before`), for nodes that change what they read.
    """

    __slots__ = ("before", "found", "reads", "shared", "start", "written")

    def __init__(self, shared: dict[str, Any], start: Values) -> None:
        self.shared = shared
        self.start = start
        self.found: dict[str, Any] = {}
        self.reads: dict[str, bool] = {}
        self.written: dict[str, Any] = {}
        self.before: dict[str, bytes] | None = None

    def __getitem__(self, key: str) -> Any:
        if key in self.written:
            return self.written[key]
        if key in self.found:
            self.reads[key] = False
            value = self.found[key]
        elif key in self.shared and key not in self.start.hidden:
            self.reads[key] = True
            value = self.shared[key]
        else:
            value = self.start.fallbacks[key]
            self.reads[key] = False
        if key in self.start.watched and value.__class__ in (list, dict):
            self.before = self.before or {}
            self.before.setdefault(key, encode(value))
        return value

    def __contains__(self, key: object) -> bool:
        if key in self.written or key in self.found or key in self.start.fallbacks:
            return True
        return key in self.shared and key not in self.start.hidden

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self:
            return default
        return self[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.written[key] = value

    def __delitem__(self, key: str) -> None:
        """Take back a write of its own; what others wrote is not the node's to delete."""
        del self.written[key]

    def __iter__(self) -> Iterator[str]:
        there = (key for key in self.shared if key not in self.start.hidden)
        return iter(dict.fromkeys([*there, *self.start.fallbacks, *self.found, *self.written]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def note_changes(self) -> None:
        """Count as written what the node changed in place."""
        for key, json in (self.before or {}).items():
            if key not in self.written and key in self and encode(value := self[key]) != json:
                self.written[key] = value
