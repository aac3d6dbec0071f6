"""A step that failed: which one, and why."""

from __future__ import annotations

from pflow.errors import PflowError


class StepFailed(PflowError):
    """A failure and the step that it happened in; in a subflow the step is `outer/inner`."""

    def __init__(self, step: str, node: str, error: PflowError) -> None:
        super().__init__(
            error.message,
            hint=error.hint,
            exit=error.exit,
            retry_after=error.retry_after,
            is_permanent=error.is_permanent,
        )
        self.step = step
        self.node = node

    def inside(self, outer: str) -> StepFailed:
        """The same failure as the flow around it sees it."""
        inner = StepFailed(f"{outer}/{self.step}", self.node, self)
        inner.__cause__ = self.__cause__
        return inner
