"""The driver as the steps of one process see it: its services, and what they commit to its journal."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Callable, Mapping
from pflow.errors import TIMED_OUT, PflowError
from pflow.record.records import is_within

if TYPE_CHECKING:
    from pflow.engine.workers import Ask
    from pflow.record.records import Record


class Services:
    """The services of a run's driver to its steps, by name. In a child process, `ask` asks the parent process."""

    def __init__(self, **known: Callable[[Any], Any]) -> None:
        self.ask: Ask = lambda name, request: known[name](request)


class Commits:
    """Writes the records of one process: `services` hand each to the driver, which owns the journal.

    `done` has the ends of visits from an earlier part of the run, by their paths. Each is taken once, so that another
    try of the flow around a step runs the step again.
    """

    def __init__(self, services: Services, done: Mapping[str, Record]) -> None:
        self.services = services
        self.done = dict(done)
        self._entered: set[str] = set()

    def write(self, record: Record) -> None:
        """Write a record to the journal. Raises PflowError (73)."""
        self.services.ask("keep", record)

    def take(self, path: str) -> Record | None:
        """Return the end of a visit or item if it is already done."""
        return self.done.pop(path, None)

    def end_item(self, path: str, writes: dict[str, Any], why: dict[str, Any]) -> None:
        """Commit an item's writes, or its failure if the batch continues without it."""
        record: Record = {"end": path}
        if writes:
            record["changes"] = [[[key], value] for key, value in writes.items()]
        if why:
            record["error"] = why
        self.write(record)

    def fail(self, path: str, error: PflowError) -> None:
        """Note that a visit or item failed, unless it was cut short: then nobody knows what it has done."""
        if not (error.is_cut or error.exit == TIMED_OUT or error.exit >= 128):
            self.write({"failed": path, "exit": error.exit})

    def enter(self, path: str) -> None:
        """Begin a flow inside a visit. In another try of the visit, none of its steps are done."""
        if path in self._entered:
            self.done = {each: record for each, record in self.done.items() if not is_within(each, path)}
            self.write({"again": path})
        self._entered.add(path)
