"""What the steps of a run commit to its journal, visit by visit, and what they find done there."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.store import REMOVED
from pflow.errors import TIMED_OUT, PflowError
from pflow.run.journal.records import is_within

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from pflow.paths import Path
    from pflow.run.engine.context import Asks, Context, StepFailed
    from pflow.run.journal.lines import Record


class Commits:
    """Writes the records of one process: each goes to the driver, which keeps the journal.

    `done` has the ends of an earlier part of the run by their paths; each is taken once, so that another try of the
    flow around a step runs it anew.
    """

    def __init__(self, ask: Asks, done: Mapping[str, Record] | None = None) -> None:
        self.ask = ask
        self.done = dict(done or {})
        self._entered: set[str] = set()

    def take(self, path: str) -> Record | None:
        """The end of a visit or item that is done already."""
        return self.done.pop(path, None)

    def write(self, record: Record) -> None:
        """Keep a record. Raises PflowError (73)."""
        self.ask("journal", record)

    def fail(self, path: str, error: PflowError) -> None:
        """Note that a visit or item has failed; not where it was cut short: then nobody knows what it has done."""
        if not (error.is_cut or error.exit == TIMED_OUT or error.exit >= 128):
            self.write({"failed": path, "exit": error.exit})

    def enter(self, path: str) -> None:
        """A flow inside a visit begins; another time, in another try, with nothing done."""
        if path in self._entered:
            self.done = {each: record for each, record in self.done.items() if not is_within(each, path)}
            self.write({"again": path})
        self._entered.add(path)


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

    def end(self, action: Any, handled: str, *, is_told: bool) -> None:
        """Commit it; a fork that went well is not told of: its branches have committed their steps."""
        self.context.watchers.pop()
        if not is_told:
            return
        record: Record = {"end": self.path}
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
