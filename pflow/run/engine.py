"""The engine: a plan as a pocketflow Flow, walked from step to step."""

from __future__ import annotations

from pflow.errors import BAD_DATA, FAILED, PflowError
from pflow.flow.kinds import FLOW, PROGRAM
from pflow.flow.sources import AlternativeSource, TemplateSource
from pflow.run.failure import StepFailed
from pflow.run.flow import Flow
from pflow.run.step import PlainStep, StepNode
from pflow.run.values import Values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping
    from typing import Any

    from pflow.flow.plan import Plan, Wired
    from pflow.flow.sources import Source
    from pflow.run.context import Context

    Given = Mapping[str, Mapping[str, Any]] | None
    """Values that go over those of the flow, by step and name."""


class Engine(Flow):
    """A plan made ready to run: `Engine(plan, context).run(shared)` works on a dict and returns the last action.

    Raises StepFailed for the first step that fails and has no `error` edge; then the store holds what the steps before
    it wrote.
    """

    def __init__(self, plan: Plan, context: Context, params: Given = None, data: Given = None) -> None:
        super().__init__()
        self.plan = plan
        self.context = context
        if any(isinstance(each, AlternativeSource) for each in _sources(plan)):
            _watch_order(plan, context)
        self.has_forks = bool(plan.graph.forks())
        self.nodes = {
            id: self._make(wired, Values(wired, (params or {}).get(id), (data or {}).get(id)))
            for id, wired in plan.steps.items()
        }
        self.limits = {id: wired.step.max_visits or plan.flow.max_visits for id, wired in plan.steps.items()}
        self._connect()
        self.start_node = self.nodes.get(plan.graph.first or "")

    def _make(self, wired: Wired, values: Values) -> Any:
        if wired.kind is None:
            raise PflowError(f"cannot run '{wired.id}': no node '{wired.step.type}'", exit=BAD_DATA)
        node = make_node(wired, self.context)
        node.set_params(values.params)
        if self._is_plain(wired, values):
            plain = PlainStep(wired, node, self.context)
            if plain.is_direct:
                return plain
        if wired.step.batch is not None:
            from pflow.run.batch import BatchStep

            return BatchStep(wired, node, values, self.context)
        if self.context.isolate and wired.kind.origin != FLOW:
            from pflow.run.isolated import IsolatedStep

            return IsolatedStep(wired, node, values, self.context)
        return StepNode(wired, node, values, self.context)

    def _is_plain(self, wired: Wired, values: Values) -> bool:
        is_watched = self.context.recorder is not None or self.context.isolate or self.has_forks
        is_simple = values.is_plain and not wired.targets and wired.step.batch is None
        assert wired.kind
        return is_simple and not is_watched and wired.kind.origin not in (FLOW, PROGRAM)

    def _connect(self) -> None:
        """Give each node its successors; where several edges have one action, a fork stands between."""
        forks = {(fork.source, fork.action): fork for fork in self.plan.graph.forks()}
        for id, actions in self.plan.graph.next.items():
            for action, targets in actions.items():
                fork = forks.get((id, action))
                if fork is None:
                    self.nodes[id].next(self.nodes[targets[0]], action)
                else:
                    from pflow.run.forks import ForkNode

                    node = ForkNode(fork, self)
                    self.nodes[id].next(node, action)
                    if fork.meet is not None:
                        node.next(self.nodes[fork.meet])
                    for step, target in fork.exits:
                        node.next(self.nodes[target], f"error of {step}")

    def _orch(self, shared: Any, params: dict[str, Any] | None = None) -> Any:
        return self.walk(shared, self.start_node)

    def walk(self, shared: Any, node: Any, stop: Any = None, inside: Container[str] | None = None) -> Any:
        """Run from a node on, to the end of the flow or until `stop` is reached. The last action.

        In a branch of a fork a failure whose `error` edge leads out of it (`inside` is what it holds) is raised.
        """
        visits, limits = self.context.visits, self.limits
        action = None
        while node is not None and node is not stop:
            id = node.id
            if id in limits:
                visits[id] = count = visits.get(id, 0) + 1
                if count > limits[id]:
                    raise self._too_many(node, count - 1)
            try:
                action = node._run(shared)
            except StepFailed as failure:
                action = node.action_of(failure)
                handler = node.successors.get(action)
                if handler is None or (inside is not None and handler is not stop and handler.id not in inside):
                    raise
                self._note_failure(shared, failure)
            successors = node.successors
            if not successors:
                return action
            following = successors.get(action or "default")
            if following is None:
                self._warn_of_end(node, action)
            node = following
        return action

    def _note_failure(self, shared: Any, failure: StepFailed) -> None:
        about = {"exit": failure.exit, "message": failure.message.encode("utf-8", "backslashreplace").decode()}
        self.context.assign(shared, (failure.step.partition("/")[0], "error"), about)

    def _warn_of_end(self, node: Any, action: Any) -> None:
        actions = ", ".join(node.successors)
        self.context.warn(f"'{node.id}' returned {action or 'default'}, which has no edge ({actions}): the flow ends")

    def _too_many(self, node: Any, count: int) -> StepFailed:
        error = PflowError(
            f"cannot visit '{node.id}' again: it had its {count} visits",
            hint="max_visits allows more",
            exit=FAILED,
            is_permanent=True,
        )
        return StepFailed(node.id, node.wired.step.type, error)


def make_node(wired: Wired, context: Context) -> Any:
    """The node of a step: an instance of its class, a program, or a flow."""
    kind = wired.kind
    assert kind is not None
    if kind.origin == FLOW:
        from pflow.run.subflow import SubflowNode

        return SubflowNode(wired, context)
    if kind.origin == PROGRAM:
        from pflow.run.program import ProgramNode

        return ProgramNode(wired)
    return kind.node_class()()


def _sources(plan: Plan) -> Iterator[Source]:
    """Every source of a plan, those inside templates too."""
    for wired in plan.steps.values():
        for source in [*wired.sources.values(), *wired.params.values(), *([wired.over] if wired.over else [])]:
            yield source
            if isinstance(source, TemplateSource):
                yield from source.sources.values()
    yield from plan.outputs.values()


def _watch_order(plan: Plan, context: Context) -> None:
    context.keep_order()
    for source in _sources(plan):
        if isinstance(source, AlternativeSource):
            source.written_at = context.written_at
