"""A step that failed: which one, and why, in words."""

from __future__ import annotations

from pflow.binding.resolve import nothing_gives
from pflow.errors import PflowError, node_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import WiredStep
    from pflow.paths import Path


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
        self.journal: dict[Path, Any] = {}
        """What the branch that it happened in had written."""

    def __reduce__(self) -> Any:
        """How it gets from a child process to its parent."""
        return StepFailed, (self.step, self.node, PflowError(self.message)), self.__dict__

    def inside(self, outer: str) -> StepFailed:
        """The same failure as the flow around it sees it."""
        inner = StepFailed(f"{outer}/{self.step}", self.node, self)
        inner.__cause__ = self.__cause__
        return inner


def failure_of(id: str, node: str, wired: WiredStep, error: BaseException) -> StepFailed:
    """What a step raised, in words."""
    if isinstance(error, StepFailed):
        return error.inside(id)
    return StepFailed(id, node, in_words(node, wired, error))


def in_words(node: str, wired: WiredStep, error: BaseException) -> PflowError:
    if isinstance(error, KeyError) and not isinstance(error, PflowError) and error.args:
        item = wired.interface.reads.get(str(error.args[0]))
        if item is not None and item.required:
            return nothing_gives(item)
    return node_error(node, error)
