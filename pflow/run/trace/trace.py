"""A trace: the visits of a run's steps in the order in which they began, and how the run stands."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DONE, FAILED, RUNNING, CUT = "done", "failed", "running", "cut"
"""How a visit stands: it ended well or not, it goes on, or it was cut short and has no end."""


class Visit:
    """One visit of a step: its `number` in the trace, and the how manieth of this step it is (`visit`).

    `reads` gives for each read the places of the store that its value came from, none for one that was given outright;
    `origins` says the same in words. `writes` gives the places of each write. `begun` is in seconds; `ms` is None
    where it has no end. `outer` is the visit of the subflow that it is in, `lane` the branch of a fork. `more` holds
    what not every visit has: action, exit, message, tokens, model, cost, tries, items, dry.
    """

    def __init__(self, number: int, step: str, node: str) -> None:
        self.number = number
        self.step = step
        self.node = node
        self.version = ""
        self.visit = 1
        self.lane = ""
        self.outer: Visit | None = None
        self.begun = 0.0
        self.ms: float | None = None
        self.state = RUNNING
        self.reads: dict[str, list[str]] = {}
        self.origins: dict[str, str] = {}
        self.writes: dict[str, list[str]] = {}
        self.more: dict[str, Any] = {}

    @property
    def depth(self) -> int:
        """How many subflows it is in."""
        return 0 if self.outer is None else self.outer.depth + 1

    @property
    def read_keys(self) -> list[str]:
        """Every place that it read, once."""
        return list(dict.fromkeys(place for places in self.reads.values() for place in places))

    @property
    def write_keys(self) -> list[str]:
        """Every place that it wrote, once."""
        return list(dict.fromkeys(place for places in self.writes.values() for place in places))


class Trace:
    """What is known of one run.

    `status` is the run's (done, failed, running, killed), "" for a document. `begun` and `last`, the last moment that
    is known of, are in seconds. `error` is {step, node, exit, message}, or empty. `store` gives for each key of the
    final store its type and size, and its value where that is at hand; None where the run has no end. `traceparent`
    tells the run's span in a wider trace, `parent` the span that began it.
    """

    def __init__(self, run: str, name: str) -> None:
        self.run = run
        self.name = name
        self.flow_hash = ""
        self.traceparent = ""
        self.parent = ""
        self.status = ""
        self.begun = 0.0
        self.last = 0.0
        self.ms: float | None = None
        self.exit: int | None = None
        self.error: dict[str, Any] = {}
        self.visits: list[Visit] = []
        self.store: dict[str, Any] | None = None
        self.snapshot: Any = None
        self.events: list[Any] = []
