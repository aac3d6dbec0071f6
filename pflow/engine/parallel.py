"""The branches of a fork, each in a process of its own."""

from __future__ import annotations

from pflow import Any
from pflow.engine.context import StepFailed
from pflow.errors import BAD_DATA, PflowError
from pflow.flow.graph import Fork
from pflow.node import pocketflow
from pflow.process.loop import run_all
from pflow.process.pool import Died
from pflow.process.worker import Parent
from pflow.values.paths import Path, meet, write_path


class ForkNode(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """Stands between a step and the branches that its action leads to. The first failure ends the other branches."""

    def __init__(self, fork: Fork, engine: Any) -> None:
        super().__init__()
        self.id = ""
        self.fork = fork
        self.engine = engine

    def visit_path(self) -> str:
        """Return the path under which a failure is committed that is handled outside; branches commit their steps."""
        return str(self.engine.context.visit_path(self.fork.source)) + ":fork"

    def handler_of(self, step: str) -> Any:
        """Return the step that an `error` edge out of the fork leads to from the failed one, if there is one."""
        target = next((target for source, target in self.fork.exits if source == step), None)
        return self.engine.nodes[target] if target is not None else None

    def _run(self, shared: Any) -> None:
        context, starts = self.engine.context, self.fork.starts

        def serve(number: int, parent: Parent) -> Any:
            return self._branch(number, shared, parent)

        def keep(number: int, result: Any) -> Any:
            return self._failed(starts[number], result) if isinstance(result, Died) else result

        ask = context.services.answer
        try:
            branches = run_all(len(starts), serve, jobs=context.jobs, take=context.take, ask=ask, keep=keep)
        except StepFailed as failure:
            self._apply(shared, failure.changes)
            raise
        self._refuse_meeting([journal for journal, _ in branches])
        for journal, visits in branches:
            self._apply(shared, journal)
            context.visits.update(visits)

    def _refuse_meeting(self, journals: list[dict[Path, Any]]) -> None:
        """Raise StepFailed if two branches wrote different values to one place: one of them would be lost.

        The rules have checked the declared writes. A data flag is only stored if nothing is there yet.
        """
        steps = [self.engine.flow.steps[id] for branch in self.fork.branches for id in branch]
        flags = {step.data_place(key) for step in steps for key in step.step.inputs}
        written: dict[str | int, list[tuple[Path, Any, str]]] = {}
        for start, journal in zip(self.fork.starts, journals, strict=True):
            for path, value in journal.items():
                there = written.setdefault(path[0], [])
                met = [other for place, found, other in there if meet(path, place) and (path, value) != (place, found)]
                if path not in flags and any(other != start for other in met):
                    raise self._cannot_join(met[0], start, path)
                there.append((path, value, start))

    def _cannot_join(self, one: str, other: str, path: Path) -> StepFailed:
        what = f"those that begin at '{one}' and '{other}' both wrote '{write_path(path)}'"
        error = PflowError(
            f"cannot join the branches of the fork at '{self.fork.source}': {what}",
            hint="output_mappings give each a place of its own",
            exit=BAD_DATA,
        )
        return self._failed(other, error)

    def _failed(self, step: str, error: PflowError) -> StepFailed:
        return StepFailed(step, self.engine.nodes[step].wired.step.type, error)

    def _apply(self, shared: Any, journal: dict[Path, Any]) -> None:
        for path, value in journal.items():
            self.engine.context.assign(shared, path, value)

    def _branch(self, number: int, shared: Any, parent: Parent) -> Any:
        """Run one branch in the child process; return its changes to the store, and its visits."""
        engine, context, start = self.engine, self.engine.context, self.fork.starts[number]
        before = dict(context.visits)
        changes: dict[Path, Any] = {}
        context.watchers.append(changes)
        context.enter_child(parent, f"{context.recorder.prefix if context.recorder else ''}{self.fork.source}/{start}")
        try:
            meet = engine.nodes.get(self.fork.meet or "")
            engine.walk(shared, engine.nodes[start], meet, self.fork.branches[number])
        except StepFailed as failure:
            failure.changes = changes
            raise
        return changes, {id: count for id, count in context.visits.items() if before.get(id) != count}
