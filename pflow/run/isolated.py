"""A step in a process of its own: what it breaks there stays there."""

from __future__ import annotations

from pflow.run.forks import _drop
from pflow.run.step import StepNode, in_words
from pflow.run.workers import run_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.run.step import Work
    from pflow.run.workers import Take


class IsolatedStep(StepNode):
    """Runs its node in a child process; only its writes come back."""

    def perform(self, shared: Any, work: Work) -> Any:
        def serve(number: int, take: Take) -> Any:
            self.context.journal = []
            try:
                StepNode.perform(self, shared, work)
            except Exception as error:
                raise in_words(self.type, self.wired, error) from error
            return self.context.journal, work.action, work.reads, work.writes, work.more, self.context.carried

        (done,) = run_all(1, serve, jobs=1, is_reused=False, take=_drop)
        journal, work.action, work.reads, work.writes, work.more, self.context.carried = done
        for path, value in journal:
            self.context.assign(shared, path, value)
        return work.action
