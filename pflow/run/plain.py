"""A step that nobody watches, and that takes everything by name: the node itself, on the flow's own dict."""

from __future__ import annotations

from pflow.flow.graph import ERROR
from pflow.node import pocketflow
from pflow.process.signals import Interrupted
from pflow.process.stdout import ClosedPipe
from pflow.run.failure import StepFailed, failure_of
from pflow.run.step import copied

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import WiredStep
    from pflow.run.context import Context


class PlainStep(pocketflow.BaseNode):  # type: ignore[misc,unused-ignore]
    """A step that takes every value from the store by its name, and of which nobody keeps a trace: the node itself."""

    def __init__(self, wired: WiredStep, node: Any, context: Context) -> None:
        super().__init__()
        self.id = wired.id
        self.wired = wired
        self.node = node
        self.context = context
        write = wired.interface.pipe_write
        self.carries = (write.name,) if write else None

    def handler_of(self, failure: StepFailed) -> Any:
        return self.successors.get(ERROR)

    def _run(self, shared: Any) -> Any:
        try:
            action = copied(self.node)._run(shared)
        except (StepFailed, Interrupted, ClosedPipe):
            raise
        except BaseException as error:
            name = self.wired.kind.name if self.wired.kind else self.wired.step.type
            raise failure_of(self.id, name, self.wired, error) from error
        if self.carries:
            self.context.carried = self.carries
        return action
