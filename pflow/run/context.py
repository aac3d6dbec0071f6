"""What the steps of one run have in common: its log, its limits, where it is, and every change to its store."""

from __future__ import annotations

from pflow.binding.places import assign, has, remove
from pflow.binding.view import REMOVED
from pflow.paths import meet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.paths import Path
    from pflow.run.record import Recorder


class Context:
    """One run, or one lane of it.

    `jobs` limits how many processes work at once (None: as many as there is work for), `isolate` gives each step a
    process of its own, `warn` takes a warning's words. `carried` is the place that the pipe carries so far, `touched`
    are the top-level keys that were written. `journal`, where it is kept, holds what was written to each place, the
    last write last, for another process. `emit` takes the parts that the step of the id `emitter` streams.
    """

    def __init__(
        self, *, recorder: Recorder | None = None, jobs: int | None = None, isolate: bool = False,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        self.recorder = recorder
        self.jobs = jobs
        self.isolate = isolate
        self.warn = warn
        self.carried: Path | None = None
        self.touched: set[str | int] = set()
        self.visits: dict[str, int] = {}
        self.journal: dict[Path, Any] | None = None
        self.emit: Callable[[Any], None] | None = None
        self.emitter = ""
        self._written_at: dict[Path, int] | None = None
        self._clock = 0

    def inside(self, step: str) -> Context:
        """The context of a subflow's steps: a store of its own, the same run."""
        recorder = self.recorder.inside(step) if self.recorder else None
        return Context(recorder=recorder, jobs=self.jobs, isolate=self.isolate, warn=self.warn)

    def keep_order(self) -> None:
        """Note from now on when each place is written, for reads that take the last of several."""
        self._written_at = {}

    def assign(self, shared: Any, path: Path, value: Any) -> None:
        """Set a place of the store. Raises PflowError (65) where something else stands in the way."""
        self.touched.add(path[0])
        if len(path) == 1:
            shared[path[0]] = value
        elif len(path) == 2 and shared.get(path[0]).__class__ is dict:
            shared[path[0]][path[1]] = value
        else:
            assign(shared, path, value)
        self._note(path, value)

    def remove(self, shared: Any, path: Path) -> None:
        """Remove what is at a place of the store, where something is."""
        if has(shared, path):
            self.touched.add(path[0])
            remove(shared, path)
            self._note(path, REMOVED)

    def apply(self, shared: Any, path: Path, change: Any) -> None:
        """Make a change that another process journaled."""
        if change is REMOVED:
            self.remove(shared, path)
        else:
            self.assign(shared, path, change)

    def _note(self, path: Path, change: Any) -> None:
        if self._written_at is not None:
            self._clock += 1
            self._written_at[path] = self._clock
        if self.journal is not None:
            self.journal.pop(path, None)
            self.journal[path] = change

    def written_at(self, path: Path) -> int:
        """When a place was written, as a number that only grows; -1 where it was there before the run."""
        times = [number for place, number in (self._written_at or {}).items() if meet(place, path)]
        return max(times, default=-1)
