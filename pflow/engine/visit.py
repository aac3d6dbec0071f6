"""One visit of a step: what it changes, for the journal, or what an earlier part of the run has done instead."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.store import REMOVED

if TYPE_CHECKING:
    from typing import Any

    from pflow.engine.commits import Commits
    from pflow.engine.context import Context, StepFailed
    from pflow.record.journal.lines import Record
    from pflow.values.paths import Path


class Visit:
    """One visit of a step, or of the fork behind it: `done` is its end, where an earlier part of the run made it."""

    __slots__ = ("carried", "changes", "commits", "context", "done", "path")

    def __init__(self, context: Context, commits: Commits, path: str) -> None:
        self.context = context
        self.commits = commits
        self.path = path
        self.carried = context.carried
        self.changes: dict[Path, Any] = {}
        self.done = commits.take(path)
        if self.done is None:
            context.watchers.append(self.changes)

    def redo(self, shared: Any, done: Record) -> tuple[Any, str]:
        """Change the store as the visit did: its action, and the step whose failure was taken care of."""
        for path, *value in done.get("changes", ()):
            self.context.assign(shared, tuple(path), value[0] if value else REMOVED)
        if "carried" in done:
            self.context.carried = tuple(done["carried"])
        return done.get("action"), done.get("handled", "")

    def end_fork(self, action: Any, handled: str, steps: list[str]) -> None:
        """Commit a failure that ended its branches and is taken care of; else these have committed their steps."""
        if handled:
            self.end(action, handled, over=[f"{self.context.prefix}{step}@" for step in steps])
        else:
            self.context.watchers.pop()

    def end(self, action: Any, handled: str, **more: Any) -> None:
        """Commit it."""
        self.context.watchers.pop()
        record: Record = {"end": self.path, **more}
        if action not in (None, "default"):
            record["action"] = action
        if handled:
            record["handled"] = handled
        if self.changes:
            record["changes"] = [
                [list(path)] if value is REMOVED else [list(path), value] for path, value in self.changes.items()
            ]
        if self.context.carried is not self.carried:
            record["carried"] = list(self.context.carried or ())
        self.commits.write(record)

    def fail(self, failure: StepFailed) -> None:
        self.context.watchers.pop()
        self.commits.fail(self.path, failure)
