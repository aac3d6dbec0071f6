"""What one process of a run commits to its journal, and what it finds done there."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import TIMED_OUT
from pflow.record.records import is_within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from pflow.errors import PflowError
    from pflow.record.records import Record


class Commits:
    """Writes the records of one process: `keep` gives each to the driver, which keeps the journal.

    `done` has the ends of an earlier part of the run by their paths; each is taken once, so that another try of the
    flow around a step runs it anew.
    """

    def __init__(self, keep: Callable[[Record], None], done: Mapping[str, Record]) -> None:
        self.write = keep
        self.done = dict(done)
        self._entered: set[str] = set()

    def take(self, path: str) -> Record | None:
        """The end of a visit or item that is done already."""
        return self.done.pop(path, None)

    def end_item(self, path: str, writes: dict[str, Any], why: dict[str, Any]) -> None:
        """Commit an item: what it wrote, and why it failed where the batch goes on without it."""
        record: Record = {"end": path}
        if writes:
            record["changes"] = [[[key], value] for key, value in writes.items()]
        if why:
            record["error"] = why
        self.write(record)

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
