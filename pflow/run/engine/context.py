"""What the steps of one run have in common: its log, its limits, where it is, and every change to its store."""

from __future__ import annotations

from pflow.binding.sources import assign, has, remove
from pflow.binding.store import REMOVED
from pflow.errors import BAD_DATA, PflowError
from pflow.jsontext import encode, plain
from pflow.paths import meet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.paths import Path
    from pflow.run.engine.record import Recorder


class Context:
    """One run, or one lane of it.

    `jobs` limits how many processes work at once (None: as many as there is work for), `isolate` gives each step a
    process of its own, `warn` takes a warning's words. `carried` is the place that the pipe carries so far.
    `journal`, where it is kept, holds the last change of each place, in
    order, for another process. `emit` takes the parts that the step of the id `emitter` streams.
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

    def change(self, shared: Any, path: Path, value: Any, key: str) -> None:
        """Set a place to what a node wrote as `key`, or remove what is there. Raises PflowError (65)."""
        self.assign(shared, path, REMOVED if value is REMOVED else storable(key, value))

    def assign(self, shared: Any, path: Path, value: Any) -> None:
        """Set a place, or remove what is there (REMOVED). Raises PflowError (65) where something else is in the way."""
        if value is REMOVED:
            if not has(shared, path):
                return
            remove(shared, path)
        elif len(path) == 1:
            shared[path[0]] = value
        else:
            assign(shared, path, value)
        if len(path) > 1:
            shared[path[0]] = shared[path[0]]  # so that a NodeStore counts it as changed
        if self._written_at is not None:
            self._clock += 1
            self._written_at[path] = self._clock
        if self.journal is not None:
            self.journal.pop(path, None)
            self.journal[path] = value

    def written_at(self, path: Path) -> int:
        """When a place was written, as a number that only grows; -1 where it was there before the run."""
        times = [number for place, number in (self._written_at or {}).items() if meet(place, path)]
        return max(times, default=-1)


def storable(key: str, value: Any) -> Any:
    """A node's write as the store holds it: a copy, its tuples as lists. Raises PflowError (65)."""
    try:
        return plain(value)
    except (ValueError, RecursionError):
        pass
    try:
        encode(value)
    except PflowError as error:
        raise error.within(f"cannot store '{key}'") from None
    raise PflowError(f"cannot store '{key}': it is nested too deeply", exit=BAD_DATA)
