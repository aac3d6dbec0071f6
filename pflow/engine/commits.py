"""The driver as the steps of one process see it: its services, and what they commit to its journal."""

from __future__ import annotations

import time

from pflow import TYPE_CHECKING, Any, Callable, Mapping
from pflow.errors import TIMED_OUT, PflowError
from pflow.process.signals import Paused
from pflow.record.journal import Journal
from pflow.record.records import FileStates, batch_of, is_within
from pflow.values.secrets import Secrets

if TYPE_CHECKING:
    from pflow.process.worker import Parent
    from pflow.record.records import Record

_MOMENT = 0.05
"""Seconds after which a call that has to wait asks again: its turn depends on those of other processes."""


def gate_of(ask: Callable[[str, Any], Any]) -> Callable[[str, dict[str, Any]], Any]:
    """Return the gate of Calls; `ask` asks the driver or the map. Time limits stand still while a call waits."""

    def gate(name: str, question: dict[str, Any]) -> Any:
        from pflow.process.worker import line_of_descent

        question["owner"] = line_of_descent()
        if name != "begin":
            return ask(name, question)
        with Paused():
            while (ticket := ask(name, question)) is None:
                time.sleep(_MOMENT)
            return ticket

    return gate


_SERVICES = ("keep", "claim", "release", "learn")


class Services:
    """The services of a run's driver to its steps; in a child process, `parent` passes each request on to it.

    `outside` answers what is not a service of the run: its budget does, or the map whose item it is.
    """

    def __init__(self, journal: Journal | None, secrets: Secrets) -> None:
        self.journal = journal
        self.secrets = secrets
        self.parent: Parent | None = None
        self.outside: Callable[[str, Any], Any] = lambda name, question: None
        self.files = journal.records.files if journal and journal.records else FileStates()
        self._writers: dict[str, dict[str, str]] = {}
        """For each batch, by its path, the item that wrote each file."""
        self._wrote: dict[str, list[str]] = {}
        """The files of each item that is not committed yet."""
        for path, record in (journal.records.done if journal and journal.records else {}).items():
            self._writers.setdefault(batch_of(path), {}).update(dict.fromkeys(record.get("wrote", ()), path))

    def ask(self, name: str, question: Any) -> Any:
        """Have a service done, by its name, or ask what is around the run; in a child, its parent does both."""
        if name == "keep":
            self.files.add(question)
        return self._do(name, question) if self.parent is None else self.parent.ask(name, question)

    def answer(self, name: str, request: Any, reply: Callable[[Any], None]) -> None:
        """Do what a child process requests by the name of a service, or pass the request on without waiting."""
        from pflow.process.worker import own_parent  # only who has processes needs it

        if name == "keep":
            self.files.add(request)
        above = self.parent if name in _SERVICES else own_parent()
        if above is not None:
            above.ask_later(name, request, reply)
        else:
            reply(self._do(name, request))

    def _do(self, name: str, question: Any) -> Any:
        return getattr(self, f"_{name}")(question) if name in _SERVICES else self.outside(name, question)

    def _keep(self, record: Record) -> None:
        """Write a record to the journal. Raises PflowError (73)."""
        if self.journal is not None:
            wrote = self._wrote.pop(str(record.get("end")), None)
            self.journal.write({**record, "wrote": wrote} if wrote else record)

    def _claim(self, request: tuple[str, str]) -> str:
        """Note that an item writes a file; return the path of the item of its batch that wrote the file first."""
        item, file = request
        writer = self._writers.setdefault(batch_of(item), {}).setdefault(file, item)
        if writer == item and self.journal is not None:
            self._wrote.setdefault(item, []).append(file)
        return writer

    def _release(self, batch: str) -> None:
        """Forget the files of a batch that has ended."""
        self._writers.pop(batch, None)

    def _learn(self, secrets: list[Any]) -> None:
        """Keep these values out of the journal."""
        self.secrets.add(secrets)


class Commits:
    """Writes the records of one process: `keep` hands each to the driver, which owns the journal.

    `done` has the ends of visits from an earlier part of the run, by their paths. Each is taken once, so that another
    try of the flow around a step runs the step again.
    """

    def __init__(self, keep: Callable[[Record], None], done: Mapping[str, Record]) -> None:
        self.write = keep
        self.done = dict(done)
        self._entered: set[str] = set()

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
