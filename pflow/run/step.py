"""One step of a flow as a node of pocketflow: values in, the node, its writes out, and an event on either side."""

from __future__ import annotations

import time

from pflow.binding.places import check_place, has
from pflow.binding.view import FOUND, OWN, REMOVED, check_changes
from pflow.errors import PflowError
from pflow.flow.graph import ERROR
from pflow.jsontext import encode
from pflow.node import pocketflow, version_of
from pflow.paths import write_path
from pflow.process.signals import Interrupted
from pflow.process.stdout import ClosedPipe
from pflow.run.deadlines import TimedOut, set_deadline, take_away
from pflow.run.failure import failure_of
from pflow.run.storable import storable
from pflow.run.work import Work
from pflow.stage.trace import usage_of
from pflow.stage.tries import run_node
from pflow.terminal.columns import encodable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.binding.resolve import Binding
    from pflow.binding.view import NodeStore
    from pflow.flow.wired import WiredStep
    from pflow.run.context import Context
    from pflow.run.failure import StepFailed
    from pflow.run.record import Recorder

    Reads = tuple[tuple[str, int], ...]
    """Each key that a node read, and where it came from, as NodeStore notes it."""


class StepNode(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """A step whose values are found and whose writes are checked and put where they belong, with an event each."""

    def __init__(self, wired: WiredStep, node: Any, binding: Binding, context: Context) -> None:
        super().__init__()
        self.id = wired.id
        self.wired = wired
        self.node = node
        self.binding = binding
        self.context = context
        self.type = wired.kind.name if wired.kind else wired.step.type
        self.version = wired.kind.version if wired.kind else version_of(type(node))
        self.interface = wired.interface
        self.is_direct = is_direct(wired, node)
        self.places = {key: wired.place_of(key) for key in [*wired.interface.writes, *wired.targets]}
        self.deep = [path for path in self.places.values() if len(path) > 1]
        write = wired.interface.pipe_write
        self.pipe_write = write.name if write else None
        self.declared = frozenset(wired.interface.writes) - {"stdin"}
        self._about: tuple[Any, str] = (None, "")
        self._reads: dict[Any, str] = {}
        self._writes: dict[tuple[str, ...], str] = {}

    def handler_of(self, failure: StepFailed) -> Any:
        """The step that takes its failures, where there is one."""
        return self.successors.get(ERROR)

    def _run(self, shared: Any) -> Any:
        """One visit. Raises StepFailed."""
        context = self.context
        visit = context.visits.get(self.id, 1)
        recorder = context.recorder
        if recorder is not None:
            about = self._named(recorder)
            recorder.start(about, visit)
        begun = time.monotonic_ns()
        work = Work()
        try:
            action = self.perform(shared, work)
        except Interrupted as interrupted:
            work.more = {"exit": interrupted.exit, "message": interrupted.message}
            self._note_end(visit, begun, work)
            raise
        except ClosedPipe:
            raise
        except BaseException as error:
            failure = failure_of(self.id, self.type, self.wired, error)
            work.more = {"exit": failure.exit, "message": encodable(failure.message)}
            self._note_end(visit, begun, work)
            raise failure from error
        if recorder is not None:
            if action is not None and action != "default":
                work.add(action=action)
            recorder.end(about, visit, work.reads, work.writes, time.monotonic_ns() - begun, work.more)
        return action

    def _named(self, recorder: Recorder) -> str:
        if self._about[0] is not recorder:
            self._about = (recorder, recorder.about(self.id, self.type, self.version))
        return self._about[1]

    def _note_end(self, visit: int, begun: int, work: Work) -> None:
        recorder = self.context.recorder
        if recorder is not None:
            took = time.monotonic_ns() - begun
            recorder.end(self._named(recorder), visit, work.reads, work.writes, took, work.more)

    def perform(self, shared: Any, work: Work) -> Any:
        """Run the node once and put its writes into the store. Its action."""
        for path in self.deep:
            if shared.get(path[0]).__class__ is not dict or len(path) > 2:
                check_place(shared, path)
        changes, found = self.run_once(shared, work)
        if self.binding.stored:
            self.put_data(shared, found)
        for key, value in changes.items():
            self.put(shared, key, value)
        written = tuple([key for key, value in changes.items() if value is not REMOVED])
        if written:
            work.writes = self._writes.get(written) or self._places_of(written)
            if "usage" in written:
                work.add(**usage_of(changes))
        return work.action

    def run_once(self, store: Any, work: Work) -> tuple[dict[str, Any], dict[str, Any]]:
        """Find the values in a store and run the node on them: its changes, which are checked, and what was found."""
        binding = self.binding
        view = binding.open(store)
        try:
            node = copied(self.node)
            if binding.param_finders or binding.has_containers:
                node.set_params(binding.find_params(store))
            action = node._run(view) if self.is_direct else self._run_node(node, view, work)
        finally:
            reads = tuple(view.reads.items())
            work.reads = self._reads.get(reads) or self._origins_of(reads, store)
        if action is not None:
            work.action = _action(action)
        changes = view.changes(binding.is_watched)
        if not self.declared.issuperset(changes):
            check_changes(self.interface, changes)
        return changes, view.found

    def origins(self, reads: Reads, view: Any) -> dict[str, tuple[str, ...]]:
        """The places of the store that each read, and each param with a template, really came from."""
        found = self.binding.origins(view)
        origins = {key: places for key, places in found.items() if key.startswith("params.")}
        for key, source in reads:
            origins[key] = (write_path((key,)),) if source == OWN else found.get(key, ()) if source == FOUND else ()
        return origins

    def _origins_of(self, reads: Reads, view: Any) -> str:
        json = str(encode(self.origins(reads, view)), "utf-8")
        if self.binding.is_fixed and len(self._reads) < _FEW:
            self._reads[reads] = json
        return json

    def _places_of(self, keys: tuple[str, ...]) -> str:
        json = str(encode({key: [write_path(self.places.get(key, (key,)))] for key in keys}), "utf-8")
        if len(self._writes) < _FEW:
            self._writes[keys] = json
        return json

    def _run_node(self, node: Any, store: NodeStore, work: Work) -> Any:
        """The node with tries, a time limit, and parts that are shown as they arrive."""
        step = self.wired.step
        is_emitter = self.context.emit is not None and self.context.emitter == self.id
        has_own_wait = step.retries is None and step.wait is None
        deadline = set_deadline(step.timeout) if step.timeout is not None else None
        try:
            action = run_node(
                node,
                store,
                retries=step.retries,
                wait=getattr(node, "wait", 0) if has_own_wait else 1.0 if step.wait is None else step.wait,
                sink=self.context.emit if is_emitter else None,
            )
        except TimedOut as late:
            if late.deadline is not deadline:
                raise
            raise PflowError(f"cannot finish: {late.message}", exit=late.exit) from late
        finally:
            if deadline is not None:
                take_away(deadline)
        tries = getattr(node, "cur_retry", 0) + 1
        if tries > 1:
            work.add(tries=tries)
        return action

    def put_data(self, shared: Any, found: dict[str, Any]) -> None:
        """Put the data flags into the store, where nothing is yet."""
        for key, value in self.binding.data(found).items():
            place = self.wired.data_place(key)
            if not has(shared, place):
                self.context.assign(shared, place, value)

    def put(self, shared: Any, key: str, value: Any) -> None:
        """Put one write where it belongs, or remove what is there."""
        path = self.places.get(key) or self.wired.place_of(key)
        if value is REMOVED:
            self.context.remove(shared, path)
            return
        self.context.assign(shared, path, storable(key, value))
        if key == self.pipe_write:
            self.context.carried = path


_FEW = 100
"""How many different sets of reads or writes of one step are remembered."""


def copied(node: Any) -> Any:
    """A shallow copy of a node, as pocketflow makes for each visit: what it sets on itself is gone after it."""
    new = object.__new__(node.__class__)
    new.__dict__ = node.__dict__.copy()
    return new


def is_direct(wired: WiredStep, node: Any) -> bool:
    """Whether pocketflow's own `_run` does all that this step asks for."""
    step = wired.step
    asks = (step.retries, step.wait, step.timeout) != (None, None, None)
    is_streamed = hasattr(node, "sink") and wired.interface.pipe_write is not None
    tries = getattr(node, "max_retries", 1)
    return not (asks or is_streamed or tries != 1 or isinstance(node, pocketflow.AsyncNode))


def _action(action: Any) -> Any:
    if action is None or isinstance(action, str):
        return str(action) if action else None
    raise PflowError(f"cannot go on: it returned {type(action).__name__}, which is no action", hint="a str, or nothing")
