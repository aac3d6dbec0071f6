"""A fork: branches that run at the same time, each in a process of its own, and go on as one where they meet."""

from __future__ import annotations

from pflow.node import pocketflow
from pflow.run.failure import StepFailed
from pflow.run.record import Recorder
from pflow.run.workers import Died, drop, run_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.graph import Fork
    from pflow.paths import Path
    from pflow.run.engine import Engine
    from pflow.run.workers import Take


class ForkNode(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """Stands between a step and the branches that its action leads to. The first failure ends the other branches."""

    def __init__(self, fork: Fork, engine: Engine) -> None:
        super().__init__()
        self.id = ""
        self.fork = fork
        self.engine = engine

    def handler_of(self, failure: StepFailed) -> Any:
        """The step that an `error` edge out of the fork leads to from the one that failed, where there is one."""
        step = failure.step.partition("/")[0]
        target = next((target for source, target in self.fork.exits if source == step), None)
        return self.engine.nodes[target] if target is not None else None

    def _run(self, shared: Any) -> None:
        context = self.engine.context
        starts = self.fork.starts
        if context.recorder is not None:
            context.recorder.flush()
        take: Take = context.recorder.take if context.recorder is not None else drop

        def serve(number: int, take: Take) -> Any:
            return self._branch(number, shared, take)

        try:
            branches = run_all(len(starts), serve, jobs=context.jobs, is_reused=False, take=take)
        except Died as died:
            raise self._named(starts[died.number], died) from died
        except StepFailed as failure:
            self._apply(shared, failure.journal)
            raise
        for journal, visits, warnings in branches:
            self._apply(shared, journal)
            context.visits.update(visits)
            for warning in warnings:
                context.warn(warning)

    def _apply(self, shared: Any, journal: dict[Path, Any]) -> None:
        for path, value in journal.items():
            self.engine.context.apply(shared, path, value)

    def _named(self, start: str, died: Died) -> StepFailed:
        return StepFailed(start, self.engine.nodes[start].wired.step.type, died)

    def _branch(self, number: int, shared: Any, take: Take) -> Any:
        """In the child process: the steps of one branch, and every change that they make to the store."""
        engine, context, start = self.engine, self.engine.context, self.fork.starts[number]
        warnings: list[str] = []
        before = dict(context.visits)
        context.journal = {}
        context.warn = warnings.append
        if context.recorder is not None:
            prefix = context.recorder.prefix
            context.recorder = Recorder(take, prefix=prefix, lane=f"{prefix}{self.fork.source}/{start}")
        try:
            meet = engine.nodes.get(self.fork.meet or "")
            engine.walk(shared, engine.nodes[start], meet, self.fork.branches[number])
        except StepFailed as failure:
            failure.journal = context.journal
            raise
        finally:
            if context.recorder is not None:
                context.recorder.flush()
        visits = {id: count for id, count in context.visits.items() if before.get(id) != count}
        return context.journal, visits, warnings
