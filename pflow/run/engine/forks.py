"""What runs in processes of its own: the branches of a fork, and each step of `--isolate`."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.binding.store import REMOVED
from pflow.node import pocketflow
from pflow.process.signals import ClosedPipe, Interrupted
from pflow.run.engine.context import StepFailed, drop, in_words, storable
from pflow.run.engine.step import StepNode
from pflow.run.engine.workers import Died, run_all

if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.graph import Fork
    from pflow.paths import Path
    from pflow.run.engine.step import Work
    from pflow.run.engine.workers import Take


class ForkNode(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """Stands between a step and the branches that its action leads to. The first failure ends the other branches."""

    def __init__(self, fork: Fork, engine: Any) -> None:
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
        context, starts = self.engine.context, self.fork.starts

        def serve(number: int, take: Take) -> Any:
            return self._branch(number, shared, take)

        take = context.recorder.write if context.recorder is not None else drop
        try:
            branches = run_all(len(starts), serve, jobs=context.jobs, is_reused=False, take=take)
        except Died as died:
            start = starts[died.number]
            raise StepFailed(start, self.engine.nodes[start].wired.step.type, died) from died
        except StepFailed as failure:
            self._apply(shared, failure.journal)
            raise
        for journal, visits in branches:
            self._apply(shared, journal)
            context.visits.update(visits)

    def _apply(self, shared: Any, journal: dict[Path, Any]) -> None:
        for path, value in journal.items():
            self.engine.context.assign(shared, path, value)

    def _branch(self, number: int, shared: Any, take: Take) -> Any:
        """In the child process: the steps of one branch, and every change that they make to the store."""
        engine, context, start = self.engine, self.engine.context, self.fork.starts[number]
        before = dict(context.visits)
        context.journal = {}
        if context.recorder is not None:
            lane = f"{context.recorder.prefix}{self.fork.source}/{start}"
            context.recorder = context.recorder.to(take, lane)
        try:
            meet = engine.nodes.get(self.fork.meet or "")
            engine.walk(shared, engine.nodes[start], meet, self.fork.branches[number])
        except StepFailed as failure:
            failure.journal = context.journal
            raise
        return context.journal, {id: count for id, count in context.visits.items() if before.get(id) != count}


class IsolatedStep(StepNode):
    """Runs its node in a child process, so that what it breaks stays there; its changes and its trace come back."""

    def run_once(self, store: Any, work: Work) -> tuple[dict[str, Any], dict[str, Any]]:
        emit = self.context.emit

        def serve(number: int, take: Take) -> Any:
            if emit is not None:
                self.context.emit = lambda part: take(
                    part if isinstance(part, bytes) else part.encode("utf-8", "replace")
                )
            try:
                changes, found = StepNode.run_once(self, store, work)
                changes = {key: value if value is REMOVED else storable(key, value) for key, value in changes.items()}
                return work, None, changes, {key: found[key] for key in self.binding.stored if key in found}
            except (Interrupted, ClosedPipe):
                raise
            except BaseException as error:
                return work, in_words(self.type, self.wired, error), {}, {}

        ((done, error, changes, found),) = run_all(1, serve, jobs=1, is_reused=False, take=emit or drop)
        work.action, work.reads, work.more = done.action, done.reads, done.more
        if error is not None:
            raise error
        return changes, found
