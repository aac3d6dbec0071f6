"""A step of a flow as a pocketflow node: it finds values, runs its node, stores changes and records both ends."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping
from pflow.binding.resolve import Binding, Places
from pflow.binding.sources import Constant, check_place, has
from pflow.binding.store import REMOVED, NodeStore
from pflow.catalog.find import BUNDLED, FLOW, PROGRAM
from pflow.engine.commits import FileWatch, StepFiles
from pflow.engine.context import Context, StepFailed, failure_of, in_words, storable
from pflow.errors import PflowError
from pflow.files.beneath import CONFINED
from pflow.flow.graph import ERROR
from pflow.flow.wired_flow import WiredStep
from pflow.interface.interface import fresh
from pflow.node import STEP_KEY, Node, pocketflow, version_of
from pflow.process.signals import ClosedPipe, Deadline, Interrupted
from pflow.stage.visit import NodeRunner, Visit, runs_confined
from pflow.text.printable import encodable
from pflow.values.digest import digest_of
from pflow.values.paths import Path, are_nested, look_up, write_path
from pflow.values.usage import usage_of

if TYPE_CHECKING:
    from pflow.cache.use import CachedNode
    from pflow.process.worker import Parent


class PlainStep(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """A step without mappings and trace: its node works on the flow's own dict."""

    def __init__(self, wired: WiredStep, node: Any, context: Context) -> None:
        super().__init__()
        self.id = wired.id
        self.wired = wired
        self.node = node
        self.context = context
        self.interface = wired.interface
        self.type = wired.node_type.name if wired.node_type else wired.step.type
        self.carried = self.place_carried(wired.interface.writes)

    def visit_path(self) -> str:
        return self.context.visit_path(self.id)

    def handler_of(self, step: str) -> Any:
        """Return the step to which this step's `error` edge leads, if there is one."""
        return self.successors.get(ERROR)

    def _run(self, shared: Any) -> Any:
        """Make one visit. Raises StepFailed."""
        try:
            action = _action(self.new_node()._run(shared))
        except (StepFailed, Interrupted, ClosedPipe):
            raise
        except BaseException as error:
            raise failure_of(self.id, self.type, self.wired, error, self.context.secrets) from error
        if self.carried is not None:
            self.context.carried = self.carried
        return action

    def new_node(self) -> Any:
        """Return a node for one visit, with the functions that it calls before it writes a file or asks a model.

        The nodes inside a pocketflow Flow that is one step are equipped too.
        """
        node = copied(self.node)
        self.equip(node)
        return node

    def equip(self, node: Any) -> None:
        for each in [node, *nodes_inside(node)] if isinstance(node, pocketflow.Flow) else [node]:
            if getattr(each, "tells_budget", False):
                each.calls = self.context.calls
            if isinstance(each, Node):
                each.claim_file = self.context.claim

    def place_carried(self, writes: Iterable[str]) -> Path | None:
        """Return the place of the write that a pipe would carry."""
        key = self.interface.carried_of(writes)
        return None if key is None else self.wired.place_of(key)

    def carry(self, writes: Iterable[str]) -> None:
        self.context.carried = self.place_carried(writes) or self.context.carried


class StepNode(PlainStep, NodeRunner):
    """A step that finds its values, checks its changes, stores them at their places, and records events."""

    def __init__(self, wired: WiredStep, node: Any, binding: Binding, context: Context) -> None:
        super().__init__(wired, node, context)
        self.binding = binding
        self.learn, self.warn = context.learn, context.warn
        self.version = wired.node_type.version if wired.node_type else version_of(type(node))
        self.is_direct = is_direct(wired, node, context)
        self.places = {key: wired.place_of(key) for key in [*wired.interface.writes, *wired.targets]}
        self.words = {key: (write_path(path),) for key, path in self.places.items()}
        self.deep = [path for path in self.places.values() if len(path) > 1]
        origin = wired.node_type.origin if wired.node_type else ""
        self.is_flow = origin == FLOW  # then its steps report usage, and have keys in the cache
        acts = bool(wired.interface.effects) or wired.interface.open or origin == PROGRAM
        # Only a step that may start programs sets a variable: threads share it, and libc never frees an old value.
        self.may_start = acts and not self.is_flow and not getattr(node, "waits", False)
        self.cached = None if self.is_flow else self._cached()
        self.is_restricted = is_restricted(wired, node)
        is_alone = context.isolate and not self.is_flow and wired.step.batch is None
        self.is_apart = is_alone or self.is_restricted or runs_confined(node)
        self.answer = context.coordinator.answer
        self.files = StepFiles(wired) if context.journal is not None else None

    def _cached(self) -> CachedNode | None:
        """Return the node for the cache; None if it is not cached. Raises StepFailed if it has to be and cannot."""
        policy, wired = self.context.cache, self.wired
        if policy is None or wired.node_type is None:
            return None
        name = f"{self.context.recorder.prefix if self.context.recorder else ''}{self.id}"
        is_from_python = wired.step.made is not None
        try:
            about = (name, wired.node_type, self.interface, self.node, wired.step.cache)
            cached = policy.of_step(*about, is_from_python=is_from_python)
            if cached is not None and cached.is_asked:
                cached.check(self.node)
        except PflowError as error:
            raise StepFailed(self.id, self.type, error) from error
        if cached is not None:
            cached.secrets, cached.run = self.context.secrets, self.context.run_id
        return cached

    def _run(self, shared: Any) -> Any:
        recorder, visit = self.context.recorder, Visit()
        about = {"node": self.type, "version": self.version, "visit": self.context.visits.get(self.id, 1)}
        if self.wired.node_type is not None and self.wired.node_type.pack is not None:
            about["pack"] = self.wired.node_type.pack.label
        if recorder is not None:
            recorder.event("start", self.id, about)
        failed: dict[str, Any] = {}
        try:
            self.perform(shared, visit)
        except ClosedPipe:
            recorder = None
            raise
        except BaseException as error:
            failed = self.told(error)
            if isinstance(error, Interrupted):
                raise
            raise failure_of(self.id, self.type, self.wired, error, self.context.secrets) from error
        finally:
            if recorder is not None:
                recorder.event("end", self.id, about | visit.entry(failed))
        return visit.action

    def perform(self, shared: Any, visit: Visit) -> None:
        """Run the node once and put its changes into the store."""
        for path in self.deep:
            check_place(shared, path)
        changes, found = self.run_once(shared, visit)
        if self.binding.stored:
            self.put_data(shared, found)
        for key, value in changes.items():
            self.put(shared, key, value)
        if changes:
            visit.writes = self.places_of([key for key, value in changes.items() if value is not REMOVED])
            self.carry(visit.writes)

    def run_once(self, store: Any, visit: Visit) -> tuple[dict[str, Any], dict[str, Any]]:
        """Find the values in a store and run the node on them; return its changes, checked, and the values."""
        binding, node = self.binding, self.new_node()
        view = self.open(store)
        if binding.bound_params:
            node.set_params(binding.find_params(store))
        with FileWatch(self.files, self.context, self.visit_path(), node, view):
            changes, lookup = self.visit(node, view, store, visit)
        if self.context.secret_paths:
            self.learn([*self._secrets_in(changes)])
        if lookup is not None:
            visit.more["cache"] = lookup.keep(node, visit.action, changes, view)
            if self.context.recorder is not None:
                about = {"node": self.type, "visit": self.visit_path(), **lookup.facts()}
                self.context.recorder.event("key", self.id, about)
        return changes, view.found

    def _secrets_in(self, changes: dict[str, Any]) -> Iterator[Any]:
        """Yield the parts of the node's changes that some step takes as secrets."""
        for key, value in changes.items():
            place = self.wired.place_of(key)
            for path in self.context.secret_paths if value is not REMOVED else ():
                if are_nested(path, place):
                    try:
                        yield look_up(value, path, len(place))
                    except PflowError:
                        yield value  # the path leads into the list of all items, so one item does not have it

    def places_of(self, keys: Iterable[str]) -> Places:
        return {key: self.words.get(key) or (write_path(self.wired.place_of(key)),) for key in keys}

    def begin(self, node: Any) -> None:
        journal = self.context.journal
        if journal is not None and not self.wired.may_repeat(node.params):
            journal.write({"start": self.visit_path()})

    def enter_child(self, parent: Parent) -> None:
        self.context.emit = self.context.emit and parent.take
        self.context.coordinator.parent = parent

    def sink(self) -> Callable[[Any], None] | None:
        return self.context.emit if self.context.emitter == self.id else None

    def as_failure(self, error: BaseException) -> PflowError:
        return in_words(self.type, self.wired, error, self.context.secrets)

    def act(self, node: Any, view: NodeStore, visit: Visit) -> Any:
        key = step_key(self.context, self.visit_path())
        if key:
            vars(node)["step_key"] = key
        run = self._run_directly if self.is_direct else self._try
        if not (key and self.may_start):
            return _action(run(node, view, visit))
        before = os.environ.get(STEP_KEY)
        os.environ[STEP_KEY] = key  # the programs that the node starts find it
        try:
            return _action(run(node, view, visit))
        finally:
            if before is not None:
                os.environ[STEP_KEY] = before
            else:
                os.environ.pop(STEP_KEY, None)

    def _run_directly(self, node: Any, view: NodeStore, visit: Visit) -> Any:
        try:
            return node._run(view)
        except BaseException as error:
            self.spend(node, usage_of(error), visit)
            raise

    def _try(self, node: Any, view: NodeStore, visit: Visit) -> Any:
        """Run the node with tries and a time limit, and show parts as they arrive."""
        step = self.wired.step
        with Deadline(step.timeout, act="cannot finish"):
            return self.try_node(node, view, visit, retries=step.retries, wait=step.wait, sink=self.sink())

    def note_try(self, node: Any, error: Exception, visit: Visit) -> None:
        visit.more.setdefault("tried", []).append({"ms": visit.ms(), **self.told(error)})

    def told(self, error: BaseException) -> dict[str, Any]:
        if isinstance(error, Interrupted):
            return {"exit": error.exit, "message": error.message}
        failure = self.as_failure(error)
        return {"exit": failure.exit, "message": encodable(failure.message)}

    def spend(self, node: Any, usage: dict[str, Any], visit: Visit) -> None:
        """Add the model usage of a try or an answer, also to the budget. The steps of a flow add their own."""
        if usage and not self.is_flow:
            visit.spent.append(usage)
            if not getattr(node, "tells_budget", False):
                self.context.calls.spend(usage)

    def put_data(self, shared: Any, found: dict[str, Any]) -> None:
        """Put each data flag into the store if nothing is at its place."""
        for key, value in self.binding.data(found).items():
            place = self.wired.data_place(key)
            if not has(shared, place):
                self.context.assign(shared, place, value)

    def put(self, shared: Any, key: str, value: Any) -> None:
        """Put one write at its place, or remove what is there."""
        path = self.places.get(key) or self.wired.place_of(key)
        self.context.assign(shared, path, storable(key, value))


def bind(wired: WiredStep, params: Mapping[str, Any], data: Mapping[str, Any]) -> Binding:
    """Bind each value of a step to its source; `params` and `data`, already of their types, replace the flow's."""
    flags = {key: source for key, source in wired.sources.items() if key in wired.step.inputs}
    return Binding(
        wired.interface,
        flags={**flags, **{key: Constant(value, f"--{key}") for key, value in data.items()}},
        mappings={key: source for key, source in wired.sources.items() if key not in flags},
        params=wired.params,
        overrides={**params, **wired.interface.implied({**wired.step.inputs, **wired.step.params, **params, **data})},
    )


def is_direct(wired: WiredStep, node: Any, context: Context) -> bool:
    """Return True if pocketflow's own `_run` is enough for this step."""
    step = wired.step
    asks = (step.retries, step.wait, step.timeout) != (None, None, None)
    is_streamed = context.emit is not None and context.emitter == wired.id
    tries = getattr(node, "max_retries", 1)
    is_other = isinstance(node, pocketflow.AsyncNode) or hasattr(node, "confinement")
    return not (asks or is_streamed or tries != 1 or is_other)


def is_restricted(wired: WiredStep, node: Any) -> bool:
    """Return True if a step of a run within bounds could write elsewhere: it is Python that did not come with pflow."""
    if not os.environ.get(CONFINED) or wired.node_type is None or wired.node_type.origin in (BUNDLED, FLOW, PROGRAM):
        return False
    from pflow.mcp.client.node import McpNode

    return not isinstance(node, McpNode)


def nodes_inside(flow: Any) -> Iterator[Any]:
    """Yield the nodes that a pocketflow Flow walks, and those of the Flows among them."""
    from pflow.flow.from_pocketflow import nodes_from

    for node in nodes_from(flow.start_node):
        yield node
        if isinstance(node, pocketflow.Flow):
            yield from nodes_inside(node)


def copied(node: Any) -> Any:
    """Copy a node shallowly, as pocketflow does for each visit, and its params, so that its changes do not last."""
    new = object.__new__(node.__class__)
    new.__dict__ = {**node.__dict__, "params": fresh(node.params)}
    return new


def _action(action: Any) -> Any:
    """Return the action's name; a number gets one that no edge has, so that the flow ends, as in pocketflow."""
    if not action or isinstance(action, str):
        return str(action) if action else None
    if isinstance(action, int | float):
        return f"the {type(action).__name__} {action}"
    raise PflowError(
        f"cannot go on: it returned {type(action).__name__}, not an action", hint="return a str or nothing"
    )


def step_key(context: Context, path: str) -> str:
    """Return a digest of the run and the path of a visit, the same in all tries and resumes; empty outside of a run."""
    return digest_of([context.run_id, path]) if context.run_id else ""
