"""Where a step puts one of its writes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.wired import WiredStep


class Put:
    """One write of a step: its key and declaration, the place it goes to, and whether the flow says so (`is_mapped`).

    `is_main` says that the step has no other write that counts for more; `place` is where a finding about it stands.
    """

    __slots__ = ("is_main", "is_mapped", "item", "key", "place", "target", "wired")

    def __init__(self, wired: WiredStep, key: str) -> None:
        self.wired = wired
        self.key = key
        self.item = wired.interface.writes.get(key)
        self.target = wired.place_of(key)
        main = wired.interface.pipe_write
        self.is_main = main is None or main.name == key
        self.is_mapped = key in wired.targets
        is_written = key in wired.step.output_mappings
        self.place = ("mappings", wired.id, "output_mappings", key) if is_written else wired.step.place
