"""The state that the steps of one run share: events, failures, limits, position, and every change to the store."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Callable, Iterable
from pflow.binding.resolve import failure_in, nothing_gives
from pflow.binding.sources import assign, has, remove
from pflow.binding.store import REMOVED
from pflow.cache.wishes import Wishes
from pflow.engine.commits import Commits, Services, gate_of
from pflow.errors import PflowError, result_of
from pflow.files.state_key import state_key
from pflow.flow.wired_flow import WiredStep
from pflow.mcp.client.sockets import begin_run
from pflow.record.journal import Journal
from pflow.stage.trace import event_line
from pflow.values.digest import keyed_digest
from pflow.values.jsontext import plain
from pflow.values.paths import Path, meet
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
        """The changes that its branch had made by then."""
        self.__dict__ |= error.__dict__
        self.step = step
        self.node = node

    def __reduce__(self) -> Any:
        """Pickle it, for the way from a child process to its parent."""
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
        item = wired.interface.reads.get(str(error.args[0]))
        if item is not None and item.required:
            return nothing_gives(item)
    return secrets.hide(failure_in(node, wired.interface, error))


class Recorder:
    """Makes the events of one lane of a run and hands each, a line, to `write`.

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

    def to(self, write: Callable[[bytes], None], lane: str = "") -> Recorder:
        """Return the recorder of another process, or of another lane."""
        return Recorder(write, prefix=self.prefix, lane=lane or self.lane, item=self.item)

    def event(self, event: str, step: str, about: dict[str, Any]) -> None:
        """Record the start or the end of a step's visit."""
        named = {"step": self.prefix + step}
        if self.lane:
            named["lane"] = self.lane
        if self.item:
            named["item"] = self.item
        self.write(event_line(event, {**named, **about}))


def drop(line: Any) -> None:
    """Discard a line."""


class Context:
    """One run, or one lane of it.

    `write` takes its events, each a line. `jobs` limits how many processes work at once (None: as many as there is work
    for), `isolate` gives each step a process of its own, `warn` takes a warning's words, and `secrets` are masked in
    what a failure says. `run_id` is empty outside of a run. `cache` is what the run asks of the cache, `journal` keeps
    what is done, `calls` are under its budget. `emit` takes the parts that the step of the id `emitter` streams.
    `max_visits` replaces the limits of the flow.

    `calls` are those of models, which the budget of the run or a map may limit; `claim` takes the path of each file
    that an item of a batch or a map writes. `carried` is the place that the pipe carries so far, `prefix` the path of
    the visit that a subflow's steps are in, `item` the name of a batch's item (`name_items`). Each of `watchers` gets
    the last change of each place, in order.
    """

    def __init__(
        self, *, write: Callable[[bytes], None] | None = None, jobs: int | None = None, isolate: bool = False,
        warn: Callable[[str], None] = lambda text: None, secrets: Secrets | None = None, run_id: str = "",
        cache: Wishes | None = None, journal: Journal | None = None, calls: Calls | None = None,
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
        self.services = Services(journal, self.secrets)
        self.commits: Commits | None = None
        self.calls = Calls()
        self.claim: Callable[[str], None] | None = None
        if journal is not None:
            done = journal.records.done if journal.records else {}
            self.commits = Commits(lambda record: self.services.ask("keep", record), done)
        if calls is not None:
            self.services.outside = calls.gate
            self.calls = Calls(gate_of(self.services.ask), is_priced=calls.is_priced)
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
        """Go on in a child process, in a lane of its own: its parent does the services and takes the events."""
        self.services.parent = parent
        if self.recorder is not None:
            self.recorder = self.recorder.to(parent.take, lane)

    def take(self, line: bytes) -> None:
        """Take the line of an event from a child process."""
        if self.recorder is not None:
            self.recorder.write(line)

    def visit_path(self, step: str) -> str:
        """Return the path of a step's current visit, `outer@1/inner@2`, or of its current item, `step@1[NAME]`."""
        return f"{self.prefix}{step}@{self.visits.get(step, 1)}{self.item}"

    def warn(self, text: str) -> None:
        """Print a warning the first time only: a loop or a batch would repeat it."""
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)

    def learn(self, secrets: list[Any]) -> None:
        """Mask these values from now on, also in the driver, which writes the journal."""
        if self.secrets.add(secrets) and self.commits is not None:
            self.services.ask("learn", secrets)

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
            shared[path[0]] = shared[path[0]]  # so that a NodeStore counts it as changed
        if self._written_at is not None:
            self._clock += 1
            self._written_at[path] = self._clock
        for changes in self.watchers:
            changes.pop(path, None)
            changes[path] = value

    def written_at(self, path: Path) -> int:
        """Return when a place was written, as a number that only grows; -1 if before the run."""
        times = [number for place, number in (self._written_at or {}).items() if meet(place, path)]
        return max(times, default=-1)


def name_items(items: Iterable[Any]) -> list[str]:
    """Return `DIGEST.N` for each item of a batch: a keyed digest, which reveals no value, and a count among equals."""
    key = result_of(state_key, of=PflowError, otherwise=os.urandom(32))  # without a key, this run keeps nothing
    counts: dict[str, int] = {}
    names = []
    for item in items:
        digest = keyed_digest(key, item)[:32]
        names.append(f"{digest}.{counts.setdefault(digest, 0)}")
        counts[digest] += 1
    return names


def storable(key: str, value: Any) -> Any:
    """Return a copy of a node's write with tuples as lists, or REMOVED. Raises PflowError (65) if it is not JSON."""
    try:  # Within takes longer, and this is done for each write
        return value if value is REMOVED else plain(value)
    except PflowError as error:
        raise error.within(f"cannot store '{key}'") from None


class Commit:
    """The commit of one visit of a step or fork: `done` is its end if an earlier part of the run has done it."""

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
        """Repeat the changes of the visit; return its action, and the step whose failure was handled."""
        for path, *value in done.get("changes", ()):
            self.context.assign(shared, tuple(path), value[0] if value else REMOVED)
        if "carried" in done:
            self.context.carried = tuple(done["carried"])
        return done.get("action"), done.get("handled", "")

    def end_fork(self, action: Any, handled: str, steps: list[str]) -> None:
        """Commit a handled failure, which ended the branches; otherwise they have committed their own steps."""
        if handled:
            self.end(action, handled, over=[f"{self.context.prefix}{step}@" for step in steps])
        else:
            self.context.watchers.pop()

    def end(self, action: Any, handled: str, **more: Any) -> None:
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
