"""A fork: branches that run at the same time, each in a process of its own, and go on as one where they meet."""

from __future__ import annotations

from pflow.node import pocketflow
from pflow.run.record import Recorder
from pflow.run.workers import run_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.graph import Fork
    from pflow.run.engine import Engine
    from pflow.run.failure import StepFailed
    from pflow.run.workers import Take


class ForkNode(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """Stands between a step and the branches that its action leads to. The first failure ends the other branches."""

    def __init__(self, fork: Fork, engine: Engine) -> None:
        super().__init__()
        self.id = ""
        self.fork = fork
        self.engine = engine

    def action_of(self, failure: StepFailed) -> str:
        """The way out for a failure in one of the branches, where there is one."""
        return f"error of {failure.step.partition('/')[0]}"

    def _run(self, shared: Any) -> None:
        context = self.engine.context
        starts = self.fork.starts
        if context.recorder is not None:
            context.recorder.flush()
        take: Take = context.recorder.take if context.recorder is not None else _drop

        def serve(number: int, take: Take) -> Any:
            return self._branch(shared, starts[number], take)

        branches = run_all(len(starts), serve, jobs=context.jobs, is_reused=False, take=take)
        for journal, visits, warnings in branches:
            for path, value in journal:
                context.assign(shared, path, value)
            context.visits.update(visits)
            for warning in warnings:
                context.warn(warning)

    def _branch(self, shared: Any, start: str, take: Take) -> Any:
        """In the child process: the steps of one branch, and every change that they make to the store."""
        engine, context = self.engine, self.engine.context
        warnings: list[str] = []
        before = dict(context.visits)
        context.journal = []
        context.warn = warnings.append
        if context.recorder is not None:
            prefix = context.recorder.prefix
            context.recorder = Recorder(take, prefix=prefix, lane=f"{prefix}{self.fork.source}/{start}")
        try:
            branch = next(each for each in self.fork.branches if start in each)
            engine.walk(shared, engine.nodes[start], engine.nodes.get(self.fork.meet or ""), branch)
        finally:
            if context.recorder is not None:
                context.recorder.flush()
        visits = {id: count for id, count in context.visits.items() if before.get(id) != count}
        return context.journal, visits, warnings


def _drop(line: bytes) -> None:
    return
