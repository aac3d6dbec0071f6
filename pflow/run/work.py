"""What one visit of a step did, for the trace."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Work:
    """What one visit did: its action, its reads and writes as JSON, and more for the trace."""

    __slots__ = ("action", "more", "reads", "writes")

    def __init__(self) -> None:
        self.action: Any = None
        self.reads = "{}"
        self.writes = "{}"
        self.more: dict[str, Any] | None = None

    def add(self, **more: Any) -> None:
        self.more = {**(self.more or {}), **more}
