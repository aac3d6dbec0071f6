"""The state that the steps of a run share: its journal, events, failures, limits, and every change to the store."""

from __future__ import annotations

import os
import time

from pflow import TYPE_CHECKING, Any, Callable, Iterable, Mapping
from pflow.binding.resolve import failure_in, nothing_gives
from pflow.binding.sources import assign, has, remove
from pflow.binding.store import REMOVED
from pflow.cache.policy import CachePolicy
from pflow.errors import TIMED_OUT, PflowError, result_of
from pflow.files.state_key import state_key
from pflow.flow.wired_flow import WiredStep
from pflow.mcp.client.sockets import begin_run
from pflow.process.signals import Paused
from pflow.record.journal import Journal
from pflow.record.records import FileStates, batch_of, is_within
from pflow.stage.trace import event_line
from pflow.values.digest import keyed_digest
from pflow.values.jsontext import plain
from pflow.values.paths import Path, are_nested
from pflow.values.secrets import Secrets
from pflow.values.usage import Calls

if TYPE_CHECKING:
    from pflow.process.worker import Parent
    from pflow.record.records import Record


class StepFailed(PflowError):
    """A failure and the step that it happened in; in a subflow the step is `outer/inner`."""

    def __init__(self, step: str, node: str, error: PflowError) -> None:
        super().__init__(error.message)
        self.changes: dict[Path, Any] = {}
        """The changes that the failed branch of a fork had made."""
        self.__dict__ |= error.__dict__
        self.step = step
        self.node = node

    def __reduce__(self) -> Any:
        """Pickle the failure, so that a child process can send it to its parent."""
        return StepFailed, (self.step, self.node, PflowError(self.message)), self.__dict__

    def inside(self, outer: str) -> StepFailed:
        """Return the failure as the flow around it sees it."""
        inner = StepFailed(f"{outer}/{self.step}", self.node, self)
        inner.__cause__ = self.__cause__
        return inner


def failure_of(id: str, node: str, wired: WiredStep, error: BaseException, secrets: Secrets) -> StepFailed:
    """Return the exception of a step as a failure in words, without secrets."""
    if isinstance(error, StepFailed):
        return error.inside(id)
    return StepFailed(id, node, in_words(node, wired, error, secrets))


def in_words(node: str, wired: WiredStep, error: BaseException, secrets: Secrets) -> PflowError:
    if isinstance(error, KeyError) and not isinstance(error, PflowError) and error.args:
        field = wired.interface.reads.get(str(error.args[0]))
        if field is not None and field.required:
            return nothing_gives(field)
    return secrets.hide(failure_in(node, wired.interface, error))


class Recorder:
    """Makes the events of one lane of a run, and passes each to `write` as a line.

    `item` says in which item of the batches around it a step is: `3`, or `3/0` in a batch within one. `index` is the
    item that runs now.
    """

    def __init__(self, write: Callable[[bytes], None], *, prefix: str = "", lane: str = "", item: str = "") -> None:
        self.write = write
        self.prefix = prefix
        self.lane = lane
        self.item = item
        self.index = ""

    def inside(self, step: str) -> Recorder:
        """Return the recorder of a subflow's steps."""
        item = "/".join(filter(None, (self.item, self.index)))
        return Recorder(self.write, prefix=f"{self.prefix}{step}/", lane=self.lane, item=item)

    def for_lane(self, write: Callable[[bytes], None], lane: str = "") -> Recorder:
        """Return a recorder for another process or lane."""
        return Recorder(write, prefix=self.prefix, lane=lane or self.lane, item=self.item)

    def event(self, event: str, step: str, about: dict[str, Any]) -> None:
        """Record the start or the end of a step's visit."""
        named = {"step": self.prefix + step}
        if self.lane:
            named["lane"] = self.lane
        if self.item:
            named["item"] = self.item
        self.write(event_line(event, {**named, **about}))


_MOMENT = 0.05
"""Seconds after which a call that has to wait asks again: other processes decide when it may begin."""


def gate_of(ask: Callable[[str, Any], Any]) -> Callable[[str, dict[str, Any]], Any]:
    """Return a gate for Calls, which asks the driver or the map by `ask`. Time limits are paused while it waits."""

    def gate(name: str, question: dict[str, Any]) -> Any:
        from pflow.process.worker import line_of_descent

        question["owner"] = line_of_descent()  # if one of these processes dies, its reservation is given back
        if name != "begin":
            return ask(name, question)
        with Paused():
            while (ticket := ask(name, question)) is None:
                time.sleep(_MOMENT)
            return ticket

    return gate


_SERVICES = ("keep", "claim", "release", "learn")


class Coordinator:
    """Answers the requests of a run's steps; in a child process it passes each request on to `parent`.

    It writes a record to the journal (`keep`), notes which item of a batch writes a file (`claim`), forgets these notes
    at the end of the batch (`release`), and masks secrets (`learn`). `outside`, the run's budget or the map of this
    item, answers all other requests.
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
        # An item that runs in a resume may not write over the files of items that were done before it.
        for path, record in (journal.records.done if journal and journal.records else {}).items():
            self._writers.setdefault(batch_of(path), {}).update(dict.fromkeys(record.get("wrote", ()), path))

    def ask(self, name: str, question: Any) -> Any:
        """Have a request answered here, or in a child process by its parent."""
        if name == "keep":  # a child's own steps look at these states too
            self.files.add(question)
        return self._do(name, question) if self.parent is None else self.parent.ask(name, question)

    def answer(self, name: str, request: Any, reply: Callable[[Any], None]) -> None:
        """Answer the request of a child process, or pass it on without waiting."""
        from pflow.process.worker import own_parent  # not at the top: only runs with child processes need its pickle

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
        """Mask these values in the journal from now on."""
        self.secrets.add(secrets)


class JournalClient:
    """One process's access to the journal: `write` hands each record to the driver, which alone writes the file.

    `done` has the ends of visits from an earlier part of the run, by their paths. Each is taken once: another try of
    the flow around a step runs the step again.
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
        """Note that a visit or item failed. If it was cut short, write no record, since its effects are unknown."""
        if not (error.is_cut or error.exit == TIMED_OUT or error.exit >= 128):
            self.write({"failed": path, "exit": error.exit})

    def enter(self, path: str) -> None:
        """Begin a flow inside a visit. In another try of the visit, none of its steps are done."""
        if path in self._entered:
            self.done = {each: record for each, record in self.done.items() if not is_within(each, path)}
            self.write({"again": path})
        self._entered.add(path)


class Context:
    """One run, or one lane of it.

    `write` takes each event as a line. `jobs` limits how many processes work at once (None: as many as there is work
    for), `isolate` gives each step a process of its own, `warn` takes a warning's words, and `secrets` are masked in
    failures. `run_id` is empty outside of a run. `cache` says how the run uses the cache, `journal` records finished
    visits, and `calls` lets calls of models begin within the budget. `emit` takes the parts of an answer that the step
    `emitter` streams. `max_visits` replaces the limits of the flow.

    An item of a batch or a map calls `claim` with the path of each file before it writes the file. `carried` is the
    place in the store of the value that the pipe carries, `prefix` the path of the visit that a subflow's steps are in,
    and `item` the name of a batch's item (`name_items`). `watchers` are dicts that get the last change of each place,
    in order.
    """

    def __init__(
        self, *, write: Callable[[bytes], None] | None = None, jobs: int | None = None, isolate: bool = False,
        warn: Callable[[str], None] = lambda text: None, secrets: Secrets | None = None, run_id: str = "",
        cache: CachePolicy | None = None, journal: Journal | None = None, calls: Calls | None = None,
        emit: Callable[[Any], None] | None = None, emitter: str = "", max_visits: int | None = None,
    ) -> None:  # fmt: skip
        self.recorder = None if write is None else Recorder(write)
        self.jobs = jobs
        self.isolate = isolate
        begin_run()
        self.max_visits = max_visits
        self.run_id = run_id
        self.cache = cache
        self.prefix = ""
        self._warn = warn
        self._warned: set[str] = set()
        self.secrets = Secrets() if secrets is None else secrets
        self.coordinator = Coordinator(journal, self.secrets)
        self.journal: JournalClient | None = None
        self.calls = Calls()
        self.claim: Callable[[str], None] | None = None
        if journal is not None:
            done = journal.records.done if journal.records else {}
            self.journal = JournalClient(lambda record: self.coordinator.ask("keep", record), done)
        if calls is not None:
            self.coordinator.outside = calls.gate
            self.calls = Calls(gate_of(self.coordinator.ask), is_priced=calls.is_priced)
        self._begin_store(emit, emitter)

    def _begin_store(self, emit: Callable[[Any], None] | None = None, emitter: str = "") -> None:
        self.item = ""
        self.emit = emit
        self.emitter = emitter
        self.secret_paths: list[Path] = []
        """The places of the store that a step takes secrets from."""
        self.carried: Path | None = None
        self.visits: dict[str, int] = {}
        self.watchers: list[dict[Path, Any]] = []
        self._written_at: dict[Path, int] | None = None
        self._clock = 0

    def inside(self, step: str) -> Context:
        """Return the context of a subflow's steps: a store of its own, the same run."""
        inner = object.__new__(Context)
        inner.__dict__ = self.__dict__.copy()
        inner.recorder = self.recorder.inside(step) if self.recorder else None
        inner.prefix = f"{self.visit_path(step)}/"
        inner._begin_store()
        return inner

    def enter_child(self, parent: Parent, lane: str = "") -> None:
        """Go on in a child process, in a lane of its own: its parent answers requests and takes the events."""
        self.coordinator.parent = parent
        if self.recorder is not None:
            self.recorder = self.recorder.for_lane(parent.take, lane)

    def take(self, line: bytes) -> None:
        """Take the line of an event from a child process."""
        if self.recorder is not None:
            self.recorder.write(line)

    def visit_path(self, step: str) -> str:
        """Return the path of a step's current visit, `outer@1/inner@2`, or of its current item, `step@1[NAME]`."""
        return f"{self.prefix}{step}@{self.visits.get(step, 1)}{self.item}"

    def warn(self, text: str) -> None:
        """Print a warning once, however often a loop or a batch repeats it."""
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)

    def learn(self, secrets: list[Any]) -> None:
        """Mask these values from now on, also in the driver, which writes the journal."""
        if self.secrets.add(secrets) and self.journal is not None:
            self.coordinator.ask("learn", secrets)

    def keep_order(self) -> None:
        """Record from now on when each place is written, for reads that take the latest of several."""
        self._written_at = {}

    def assign(self, shared: Any, path: Path, value: Any) -> None:
        """Set a place, or remove it (REMOVED). Raises PflowError (65) if something else is in the way."""
        if value is REMOVED:
            if not has(shared, path):
                return
            remove(shared, path)
        elif len(path) == 1:
            shared[path[0]] = value
        else:
            assign(shared, path, value)
        if len(path) > 1:
            shared[path[0]] = shared[path[0]]  # a NodeStore notes a change only when a key is set
        if self._written_at is not None:
            self._clock += 1
            self._written_at[path] = self._clock
        for changes in self.watchers:
            changes.pop(path, None)
            changes[path] = value

    def written_at(self, path: Path) -> int:
        """Return when a place was written, as a number that only grows; -1 if before the run."""
        times = [number for place, number in (self._written_at or {}).items() if are_nested(place, path)]
        return max(times, default=-1)


def name_items(items: Iterable[Any]) -> list[str]:
    """Return `DIGEST.N` for each item of a batch: a keyed digest, which reveals no value, and a count among equals."""
    # A run that cannot read the user's key keeps no journal, so its names need not be the same in a resume.
    key = result_of(state_key, of=PflowError, otherwise=os.urandom(32))
    counts: dict[str, int] = {}
    names = []
    for item in items:
        digest = keyed_digest(key, item)[:32]
        names.append(f"{digest}.{counts.setdefault(digest, 0)}")
        counts[digest] += 1
    return names


def storable(key: str, value: Any) -> Any:
    """Return a copy of a node's write with tuples as lists, or REMOVED. Raises PflowError (65) if it is not JSON."""
    try:  # a context manager (Within) would cost more here, at each write of each step
        return value if value is REMOVED else plain(value)
    except PflowError as error:
        raise error.within(f"cannot store '{key}'") from None
