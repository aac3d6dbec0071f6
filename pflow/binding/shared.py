"""The store as one node sees it: a dict of what it reads, that notes what it writes."""

from __future__ import annotations

from pflow.errors import PflowError
from pflow.jsontext import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.interface import Interface


class Shared(dict):  # type: ignore[type-arg]
    """Holds the values of the reads; `written` holds what the node set, in order."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.written: dict[str, Any] = {}

    def note_changes(self, before: dict[str, bytes]) -> None:
        """Count as written what the node changed in place; `before` is the JSON of what it may write and has read."""
        for key, json in before.items():
            if key in self and key not in self.written and encode(self[key]) != json:
                self.written[key] = self[key]

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        self.written[key] = value

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self.written.pop(key, None)

    def pop(self, key: str, *default: Any) -> Any:
        self.written.pop(key, None)
        return super().pop(key, *default)

    def popitem(self) -> tuple[str, Any]:
        key, value = super().popitem()
        self.written.pop(key, None)
        return key, value

    def clear(self) -> None:
        super().clear()
        self.written.clear()

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **members: Any) -> None:
        for key, value in dict(*others, **members).items():
            self[key] = value

    def __ior__(self, other: Any) -> Shared:  # type: ignore[misc]
        self.update(other)
        return self


def check_written(interface: Interface, written: dict[str, Any]) -> None:
    """Refuse a key that the interface does not name. Raises PflowError (1)."""
    if "stdin" in written:
        raise PflowError("the node wrote 'stdin', which is reserved for what comes through the pipe")
    if interface.open:
        return
    for key in written:
        if key not in interface.writes:
            there = ", ".join(interface.writes) or "nothing"
            raise PflowError(f"the node wrote '{key}', which its interface does not name", hint=f"it names {there}")
