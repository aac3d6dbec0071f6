"""One step of a flow as a node of pocketflow: its values in, the node, its changes out, and an event on either side."""

from __future__ import annotations

import time

from pflow import TYPE_CHECKING
from pflow.binding.secrets import has_secrets, secret_values, secret_writes
from pflow.binding.sources import check_place, has
from pflow.binding.store import REMOVED, check_changes
from pflow.catalog.kinds import FLOW, PROGRAM
from pflow.engine.context import StepFailed, failure_of
from pflow.engine.step_key import KeyInEnvironment, step_key
from pflow.errors import PflowError
from pflow.flow.graph import ERROR
from pflow.node import pocketflow, version_of
from pflow.process.signals import ClosedPipe, Deadline, Interrupted, TimedOut
from pflow.stage.tries import run_node
from pflow.values.paths import look_up, meet, write_path
from pflow.words import budget
from pflow.words.printable import encodable
from pflow.words.usage import Usage, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from pflow.binding.resolve import Binding
    from pflow.binding.resolve import Origins as Places
    from pflow.binding.store import NodeStore
    from pflow.cache.use import CachedNode, Visit
    from pflow.engine.context import Context
    from pflow.flow.wired import WiredStep
    from pflow.values.paths import Path


class Work:
    """What one visit of a step did, for the trace: its action, the places of its reads and of its writes, and more."""

    __slots__ = ("action", "more", "reads", "usage", "writes")

    def __init__(self) -> None:
        self.action: Any = None
        self.reads: Places = {}
        self.writes: Places = {}
        self.more: dict[str, Any] = {}
        self.usage = Usage()


class PlainStep(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """A step that takes every value from the store by its name, untraced: the node itself, on the flow's own dict."""

    def __init__(self, wired: WiredStep, node: Any, context: Context) -> None:
        super().__init__()
        self.id = wired.id
        self.wired = wired
        self.node = node
        self.context = context
        self.interface = wired.interface
        self.type = wired.kind.name if wired.kind else wired.step.type
        self.carried = self.place_carried(wired.interface.writes)

    def visit_path(self) -> str:
        return self.context.visit_path(self.id)

    def handler_of(self, step: str) -> Any:
        """The step that takes its failures, where there is one."""
        return self.successors.get(ERROR)

    def _run(self, shared: Any) -> Any:
        """One visit. Raises StepFailed."""
        try:
            action = copied(self.node)._run(shared)
        except (StepFailed, Interrupted, ClosedPipe):
            raise
        except BaseException as error:
            raise failure_of(self.id, self.type, self.wired, error, self.context.secrets) from error
        if self.carried is not None:
            self.context.carried = self.carried
        return action

    def place_carried(self, writes: Iterable[str]) -> Path | None:
        """The place of that of its writes which a pipe would carry on."""
        key = self.interface.carried_of(writes)
        return None if key is None else self.wired.place_of(key)

    def carry(self, writes: Iterable[str]) -> None:
        self.context.carried = self.place_carried(writes) or self.context.carried


class StepNode(PlainStep):
    """A step whose values are found and whose changes are checked and put where they belong, with an event each."""

    def __init__(self, wired: WiredStep, node: Any, binding: Binding, context: Context) -> None:
        super().__init__(wired, node, context)
        self.binding = binding
        self.version = wired.kind.version if wired.kind else version_of(type(node))
        self.is_direct = is_direct(wired, node, context)
        self.places = {key: wired.place_of(key) for key in [*wired.interface.writes, *wired.targets]}
        self.words = {key: (write_path(path),) for key, path in self.places.items()}
        self.deep = [path for path in self.places.values() if len(path) > 1]
        self.has_secrets = has_secrets(wired.interface)
        self.declared = frozenset(wired.interface.writes) - {"stdin"}
        origin = wired.kind.origin if wired.kind else ""
        self.is_flow = origin == FLOW  # whose steps say themselves what they used, and have keys of their own
        acts = bool(wired.interface.effects) or wired.interface.open or origin == PROGRAM
        self.may_start = acts and not self.is_flow  # only then: the C library keeps every value that it ever had
        self.cached = None if self.is_flow else self._cached()

    def _cached(self) -> CachedNode | None:
        """Its use of the cache, where it makes any. Raises StepFailed where it is to, and cannot."""
        wishes, wired = self.context.cache, self.wired
        if wishes is None or wired.kind is None:
            return None
        name = f"{self.context.recorder.prefix if self.context.recorder else ''}{self.id}"
        is_made = wired.step.made is not None
        try:
            cached = wishes.of_step(name, wired.kind, self.interface, self.node, wired.step.cache, is_made=is_made)
        except PflowError as error:
            raise StepFailed(self.id, self.type, error) from error
        if cached is not None:
            cached.secrets = self.context.secrets
        return cached

    def _run(self, shared: Any) -> Any:
        recorder, work = self.context.recorder, Work()
        about = {"node": self.type, "version": self.version, "visit": self.context.visits.get(self.id, 1)}
        if recorder is not None:
            recorder.event("start", self.id, about)
        begun = time.monotonic()
        try:
            self.perform(shared, work)
            if work.action is not None and work.action != "default":
                work.more["action"] = work.action
        except Interrupted as interrupted:
            work.more |= {"exit": interrupted.exit, "message": interrupted.message}
            raise
        except ClosedPipe:
            recorder = None
            raise
        except BaseException as error:
            failure = failure_of(self.id, self.type, self.wired, error, self.context.secrets)
            work.more |= {"exit": failure.exit, "message": encodable(failure.message)}
            raise failure from error
        finally:
            if recorder is not None:
                ms = round((time.monotonic() - begun) * 1000, 3)
                about |= {"reads": work.reads, "writes": work.writes, "ms": ms, **work.usage.members(), **work.more}
                recorder.event("end", self.id, about)
        return work.action

    def perform(self, shared: Any, work: Work) -> None:
        """Run the node once and put its changes into the store."""
        for path in self.deep:
            check_place(shared, path)
        changes, found = self.run_once(shared, work)
        if self.binding.stored:
            self.put_data(shared, found)
        for key, value in changes.items():
            self.put(shared, key, value)
        if changes:
            work.writes = self.places_of([key for key, value in changes.items() if value is not REMOVED])
            self.carry(work.writes)

    def run_once(self, store: Any, work: Work) -> tuple[dict[str, Any], dict[str, Any]]:
        """Find the values in a store and run the node on them: its changes, which are checked, and what was found."""
        binding = self.binding
        if self.has_secrets:
            self.context.learn([*secret_values(binding, store)])
        view = binding.open(store)
        try:
            node = copied(self.node)
            if binding.param_finders or binding.has_containers:
                node.set_params(binding.find_params(store))
            visit = self.cached.begin(node, view, self.context.warn) if self.cached else None
            is_kept = visit is not None and visit.found is not None
            action = visit.apply(view) if visit and is_kept else self._act(node, view, work)
        except BaseException as error:
            if self.is_direct and not self.is_flow:
                self._spend(node, work, usage_of(error))
            raise
        finally:
            work.reads = binding.origins(view, store)
            if self.has_secrets:
                self.context.learn([*secret_writes(self.interface, view)])
        if action is not None:
            work.action = _action(action)
        changes = view.changes(binding.is_watched)
        if "usage" in changes and not (self.is_flow or is_kept):
            answered = Usage()
            answered.add_answer(changes.get("usage"))
            self._spend(node, work, answered.members())
        if not self.declared.issuperset(changes):
            check_changes(self.interface, changes)
        if self.context.secret_paths:
            self.context.learn([*self._secrets_in(changes)])
        if visit is not None:
            visit.keep(node, work.action, changes, view, self.context.run_id)
            self._note_cache(visit, work)
        return changes, view.found

    def _secrets_in(self, changes: dict[str, Any]) -> Iterator[Any]:
        """What of its changes a step takes as a secret."""
        for key, value in changes.items():
            place = self.wired.place_of(key)
            for path in self.context.secret_paths if value is not REMOVED else ():
                if meet(path, place):
                    try:
                        yield look_up(value, path, len(place))
                    except PflowError:
                        yield value  # an item of a batch, whose list is at the place

    def _note_cache(self, visit: Visit, work: Work) -> None:
        """Record what became of it; pflow why tells it."""
        work.more["cache"] = visit.about()
        if self.context.recorder is not None:
            about = {"node": self.type, "visit": self.visit_path(), **visit.facts()}
            self.context.recorder.event("key", self.id, about)

    def places_of(self, keys: Iterable[str]) -> Places:
        """Where writes go."""
        return {key: self.words.get(key) or (write_path(self.wired.place_of(key)),) for key in keys}

    def _act(self, node: Any, view: NodeStore, work: Work) -> Any:
        commits = self.context.commits
        if commits is not None and not self.wired.may_repeat(node.params):
            commits.write({"start": self.visit_path()})
        key = step_key(self.context, self.visit_path())
        if key:
            vars(node)["step_key"] = key
        with KeyInEnvironment(key if self.may_start else ""):
            return node._run(view) if self.is_direct else self._run_node(node, view, work)

    def _run_node(self, node: Any, view: NodeStore, work: Work) -> Any:
        """The node with tries, a time limit, and parts that are shown as they arrive."""
        step = self.wired.step
        is_emitter = self.context.emit is not None and self.context.emitter == self.id
        has_own_wait = step.retries is None and step.wait is None
        deadline = Deadline(step.timeout)
        try:
            with deadline:
                action = run_node(
                    node,
                    view,
                    retries=step.retries,
                    wait=getattr(node, "wait", 0) if has_own_wait else 1.0 if step.wait is None else step.wait,
                    sink=self.context.emit if is_emitter else None,
                    spent=None if self.is_flow else lambda usage: self._spend(node, work, usage),
                )
        except TimedOut as late:
            if late.deadline is not deadline:
                raise
            raise PflowError(f"cannot finish: {late.message}", exit=late.exit) from late
        tries = getattr(node, "cur_retry", 0) + 1
        if tries > 1:
            work.more["tries"] = tries
        return action

    def _spend(self, node: Any, work: Work, usage: dict[str, Any]) -> None:
        work.usage.add(usage)
        if not getattr(node, "tells_budget", False):
            budget.spend(usage)

    def put_data(self, shared: Any, found: dict[str, Any]) -> None:
        """Put the data flags into the store, where nothing is yet."""
        for key, value in self.binding.data(found).items():
            place = self.wired.data_place(key)
            if not has(shared, place):
                self.context.assign(shared, place, value)

    def put(self, shared: Any, key: str, value: Any) -> None:
        """Put one write where it belongs, or remove what is there."""
        path = self.places.get(key) or self.wired.place_of(key)
        self.context.change(shared, path, value, key)


def is_direct(wired: WiredStep, node: Any, context: Context) -> bool:
    """Whether pocketflow's own `_run` does all that this step asks for."""
    step = wired.step
    asks = (step.retries, step.wait, step.timeout) != (None, None, None)
    is_streamed = context.emit is not None and context.emitter == wired.id
    tries = getattr(node, "max_retries", 1)
    return not (asks or is_streamed or tries != 1 or isinstance(node, pocketflow.AsyncNode))


def copied(node: Any) -> Any:
    """A shallow copy of a node, as pocketflow makes for each visit: what it sets on itself is gone after it."""
    new = object.__new__(node.__class__)
    new.__dict__ = node.__dict__.copy()
    return new


def _action(action: Any) -> Any:
    if action is None or isinstance(action, str):
        return str(action) if action else None
    raise PflowError(f"cannot go on: it returned {type(action).__name__}, which is no action", hint="a str, or nothing")
