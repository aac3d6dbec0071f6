"""The engine: a flow that runs as a pocketflow Flow, a flow as a step of another, and the results of a flow."""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Container, Iterator, Mapping
from pflow.binding.resolve import Binding
from pflow.binding.sources import AlternativeSource, Fallback, TemplateSource, assign, find, has
from pflow.catalog.find import FLOW, PROGRAM
from pflow.engine.commits import VisitCommit
from pflow.engine.context import Context, StepFailed, failure_of
from pflow.engine.step import PlainStep, StepNode, bind, copied, is_direct
from pflow.errors import BAD_DATA, FAILED, MISSING, PflowError
from pflow.files.beneath import is_confined
from pflow.flow.graph import ERROR
from pflow.flow.pipe.carry import carried_out
from pflow.flow.subflow import CARRIED, FlowType
from pflow.flow.wired_flow import WiredFlow, WiredStep
from pflow.interface.interface import Field, Interface, fresh
from pflow.node import pocketflow
from pflow.text.printable import encodable
from pflow.values.paths import Path, are_nested

if TYPE_CHECKING:
    Overrides = Mapping[str, Mapping[str, Any]] | None
    """Values that replace those of the flow, by step and name."""


class Engine(pocketflow.Flow):  # type: ignore[misc,unused-ignore]
    """A flow ready to run: `Engine(flow, context).run(shared)` works on a dict and returns the last action.

    Raises StepFailed for the first step that fails without an `error` edge; the store then has the writes of the steps
    before it.
    """

    def __init__(self, flow: WiredFlow, context: Context, params: Overrides = None, data: Overrides = None) -> None:
        super().__init__()
        self.flow = flow
        self.context = context
        self.alternatives = _alternatives(flow)
        if self.alternatives:
            context.keep_order()
        self.has_forks = bool(flow.graph.forks())
        context.secret_paths += [path for wired in flow.steps.values() for path in wired.secret_paths()]
        self.nodes = {
            id: self._make(wired, bind(wired, (params or {}).get(id) or {}, (data or {}).get(id) or {}))
            for id, wired in flow.steps.items()
        }
        self.limits = {id: context.max_visits or wired.most_visits(flow.flow) for id, wired in flow.steps.items()}
        self._connect()
        self.start_node = self.nodes.get(flow.graph.first or "")

    def _make(self, wired: WiredStep, binding: Binding) -> Any:
        if wired.node_type is None:
            raise PflowError(f"cannot run '{wired.id}': no node '{wired.step.type}'", exit=BAD_DATA)
        try:
            node = make_node(wired, self.context)
            node.set_params(binding.params)
        except Exception as error:
            raise failure_of(wired.id, wired.node_type.name, wired, error, self.context.secrets) from error
        if self._is_plain(wired, binding) and is_direct(wired, node, self.context):
            return PlainStep(wired, node, self.context)
        if wired.step.batch is not None:
            from pflow.engine.parallel import BatchStep

            return BatchStep(wired, node, binding, self.context)
        return StepNode(wired, node, binding, self.context)

    def _is_plain(self, wired: WiredStep, binding: Binding) -> bool:
        is_watched = self.context.recorder is not None or self.context.isolate or self.has_forks or is_confined()
        is_simple = binding.is_plain and not wired.targets and wired.step.batch is None
        is_simple = is_simple and not wired.interface.has_secrets
        assert wired.node_type
        return is_simple and not is_watched and wired.node_type.origin not in (FLOW, PROGRAM)

    def _connect(self) -> None:
        """Give each node its successors, through a fork if several edges have the same action."""
        forks = {(fork.source, fork.action): fork for fork in self.flow.graph.forks()}
        for id, actions in self.flow.graph.next.items():
            for action, targets in actions.items():
                fork = forks.get((id, action))
                if fork is None:
                    self.nodes[id].next(self.nodes[targets[0]], action)
                else:
                    from pflow.engine.parallel import ForkNode

                    node = ForkNode(fork, self)
                    self.nodes[id].next(node, action)
                    if fork.meet is not None:
                        node.next(self.nodes[fork.meet])

    def _orch(self, shared: Any, params: dict[str, Any] | None = None) -> Any:
        for source in self.alternatives:  # a subflow that runs again has a new store, and a new order of writes
            source.written_at = self.context.written_at
        return self.walk(shared, self.start_node)

    def walk(self, shared: Any, node: Any, stop: Any = None, inside: Container[str] | None = None) -> Any:
        """Run from a node on, to the end of the flow or to `stop`, and return the last action.

        In a branch of a fork (`inside` has its steps), a failure whose `error` edge leads out of it is raised.
        """
        visits, limits = self.context.visits, self.limits
        action = None
        while node is not None and node is not stop:
            id = node.id
            if id in limits:
                visits[id] = count = visits.get(id, 0) + 1
                if count > limits[id]:
                    raise self._too_many(node, count - 1)
            action, handled = self._visit(node, shared, stop, inside)
            if handled:
                node = node.handler_of(handled)
                continue
            successors = node.successors
            if not successors:
                return action
            following = successors.get(action or "default")
            if following is None and node.id:
                following = self._without_edge(node, action)
            node = following
        return action

    def _visit(self, node: Any, shared: Any, stop: Any, inside: Container[str] | None) -> tuple[Any, str]:
        """Make a visit and commit it, or repeat its changes if it is already done. Returns as `_attempt` does."""
        journal = self.context.journal
        if journal is None:
            return self._attempt(node, shared, stop, inside)
        visit = VisitCommit(self.context, journal, node.visit_path())
        if visit.done is not None:
            return visit.redo(shared, visit.done)
        try:
            action, handled = self._attempt(node, shared, stop, inside)
        except StepFailed as failure:  # after a signal no record is written: the step's effects are unknown
            visit.fail(failure)
            raise
        if node.id:
            visit.end(action, handled)
        else:
            visit.end_fork(action, handled, [id for branch in node.fork.branches for id in branch])
        return action, handled

    def _attempt(self, node: Any, shared: Any, stop: Any, inside: Container[str] | None) -> tuple[Any, str]:
        """Run a step or a fork; return its action, and the step that failed if an `error` edge handles that."""
        try:
            return node._run(shared), ""
        except StepFailed as failure:
            step = failure.step.partition("/")[0]
            handler = None if failure.ends_run else node.handler_of(step)
            if handler is None or (inside is not None and not self._is_inside(handler, stop, inside)):
                raise
            self._note_failure(shared, failure)
            return ERROR, step

    def _without_edge(self, node: Any, action: Any) -> Any:
        """Return the next node for an action that has no edge: the default one for a declared `error`, else None."""
        following = node.successors.get("default")
        if action == ERROR and ERROR in node.interface.actions and following is not None:
            self.context.warn(default_edge_warning(node.id))
            return following
        self._warn_of_end(node, action)
        return None

    def _is_inside(self, handler: Any, stop: Any, inside: Container[str]) -> bool:
        """Return True if a step, or every step that a fork leads to, is in a branch."""
        starts = [handler.id] if handler.id else handler.fork.starts
        return handler is stop or all(start in inside for start in starts)

    def _note_failure(self, shared: Any, failure: StepFailed) -> None:
        """Put a failure at ID.error. Raises the failure itself if something else is in the way."""
        about = {"exit": failure.exit, "message": encodable(failure.message)}
        try:
            self.context.assign(shared, (failure.step.partition("/")[0], "error"), about)
        except PflowError:
            raise failure from None

    def _warn_of_end(self, node: Any, action: Any) -> None:
        actions = ", ".join(each for each in node.successors if each != ERROR)
        if actions:
            name = action or "default"
            self.context.warn(f"'{node.id}' returned {name}, which has no edge ({actions}): the flow ends")

    def _too_many(self, node: Any, count: int) -> StepFailed:
        hint = "--max-visits=N, or max_visits in the flow, allows more"
        if self.context.journal is not None:
            hint = f"pflow resume {self.context.run_id} --max-visits=N goes on"
        what = f"cannot visit '{node.id}' again: it had its {count} visits"
        error = PflowError(what, hint=hint, exit=FAILED, is_permanent=True)
        return StepFailed(node.id, node.wired.step.type, error)


def default_edge_warning(name: str) -> str:
    """Return the warning for a step without an edge for the action `error` that its node declares."""
    return f"'{name}' returned error, which has no edge: the default one is taken"


def make_node(wired: WiredStep, context: Context) -> Any:
    """Make the node of a step: an instance of its class, a program, or a flow."""
    node_type = wired.node_type
    assert node_type is not None
    if wired.step.made is not None:
        return copied(wired.step.made)
    if node_type.origin == FLOW:
        return SubflowNode(wired, context)
    if node_type.origin == PROGRAM:
        from pflow.stage.program import program_class

        return program_class(node_type.file, node_type.name, wired.interface)()
    return node_type.node_class()()


class SubflowNode(pocketflow.Node):  # type: ignore[misc,unused-ignore]
    """Runs a flow on its own store: inputs are mapped in, outputs mapped out. Its last step gives the action."""

    def __init__(self, wired: WiredStep, context: Context) -> None:
        super().__init__()
        assert isinstance(wired.node_type, FlowType)
        self.id = wired.id
        self.interface = wired.interface
        self.flow = wired.node_type.flow
        self.place_of = wired.place_of
        self.context = context
        self.said_of_cache = wired.step.cache

    def prep(self, shared: Any) -> dict[str, Any]:
        return {name: shared[name] for name in (*self.flow.inputs, "stdin") if name in shared}

    def exec(self, given: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        store: dict[str, Any] = {}
        data: dict[str, dict[str, Any]] = {}
        params: dict[str, dict[str, Any]] = {}
        for name, value in given.items():
            if name in self.flow.inputs:
                self.flow.inputs[name].give(value, store, data)
            else:
                store[name] = value
        for name, value in self.params.items():
            if value is not None and name not in self.interface.reads:
                step, _, param = name.partition(".")
                params.setdefault(step, {})[param] = value
        set_defaults(self.flow, store)
        if self.context.journal is not None:
            self.context.journal.enter(self.context.visit_path(self.id))
        context = self.context.inside(self.id)
        context.cache = context.cache and context.cache.inside(self.said_of_cache)
        context.secret_paths += self._secret_outputs()
        action = Engine(self.flow, context, params, data).run(store)
        return results_of(self.flow, self.interface, store, context.carried, given), action

    def _secret_outputs(self) -> Iterator[Path]:
        """Yield the places in the inner flow's store that a step outside takes as secrets."""
        for name, write in self.interface.writes.items():
            if any(are_nested(path, self.place_of(name)) for path in self.context.secret_paths):
                yield from places_behind(self.flow, write)

    def post(self, shared: Any, store: Any, result: tuple[dict[str, Any], Any]) -> Any:
        shared.update(result[0])
        return result[1]


def set_defaults(flow: WiredFlow, store: Any) -> None:
    """Put the default of each input that a store lacks into it."""
    for given in flow.inputs.values():
        if given.has_default and not has(store, given.path):
            assign(store, given.path, fresh(given.fitted(given.default, "its default")))


def outputs_of(flow: WiredFlow, store: Any) -> dict[str, Any]:
    """Return the declared outputs that have a value: a run need not pass every step."""
    found = {}
    for name, source in flow.outputs.items():
        try:
            found[name] = source.find(store)
        except PflowError as error:
            if error.exit != MISSING:
                raise
    return found


def results_of(
    flow: WiredFlow, interface: Interface, store: Mapping[str, Any], carried: Path | None, given: Mapping[str, Any]
) -> dict[str, Any]:  # fmt: skip
    """Return the writes of a flow as a step: its declared outputs, else all writes of its steps.

    The value that the flow carries is added if none of these is that value. A flow whose steps carry nothing hands on
    the value that was `given` to its input from the pipe.
    """
    outputs, write = flow.flow.outputs, interface.pipe_write
    inputs = {"stdin", *(each.path[0] for each in flow.inputs.values())}
    is_open, writes = interface.open, interface.writes  # an open interface allows any key
    given_out = outputs_of(flow, store) if outputs else store
    found = {key: value for key, value in given_out.items() if key in writes or (is_open and key not in inputs)}
    if write is None or CARRIED not in write.marks:
        return found
    if carried is None:
        values = [given[name] for name, each in interface.reads.items() if "pipe" in each.marks and name in given]
    else:
        place, there = flow.place_outside(carried), found if outputs else store
        values = [find(there, place)] if place and has(there, place) else []
    return {**found, write.name: values[0]} if values else found


def places_behind(flow: WiredFlow, write: Field) -> list[Path]:
    """Return the places of a flow's store that one of its writes as a step may come from."""
    if CARRIED in write.marks:
        return [place for place in carried_out(flow) if place]
    return [*flow.outputs[write.name].paths] if write.name in flow.outputs else [(write.name,)]


def _alternatives(flow: WiredFlow) -> list[AlternativeSource]:
    """Return every source of several places in a flow, also inside others."""
    found = list(flow.sources())
    many = [each for each in found if isinstance(each, TemplateSource | Fallback)]
    found += [inner for each in many for inner in each.sources.values()]
    return [each for each in found if isinstance(each, AlternativeSource)]
