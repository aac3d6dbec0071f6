"""A step in a process of its own: what it breaks there stays there."""

from __future__ import annotations

from pflow.errors import PflowError
from pflow.process.signals import Interrupted
from pflow.process.stdout import ClosedPipe
from pflow.run.failure import in_words
from pflow.run.step import StepNode
from pflow.run.workers import run_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.run.work import Work
    from pflow.run.workers import Take


class IsolatedStep(StepNode):
    """Runs its node in a child process; what it wrote, and what is to be said of it, comes back."""

    def perform(self, shared: Any, work: Work) -> Any:
        emit = self.context.emit

        def show(part: bytes) -> None:
            if emit is not None:
                emit(part)

        def serve(number: int, take: Take) -> Any:
            self.context.journal = {}
            self.context.emit = emit and (lambda part: take(part if isinstance(part, bytes) else _encoded(part)))
            try:
                StepNode.perform(self, shared, work)
            except (Interrupted, ClosedPipe):
                raise
            except BaseException as error:
                failure = in_words(self.type, self.wired, error)
                failure.reads = work.reads
                raise failure from error
            return self.context.journal, work.action, work.reads, work.writes, work.more, self.context.carried

        try:
            (done,) = run_all(1, serve, jobs=1, is_reused=False, take=show)
        except PflowError as error:
            work.reads = error.reads
            raise
        journal, work.action, work.reads, work.writes, work.more, self.context.carried = done
        for path, value in journal.items():
            self.context.apply(shared, path, value)
        return work.action


def _encoded(part: str) -> bytes:
    return part.encode("utf-8", "replace")
