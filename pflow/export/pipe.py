"""A flow as pipe syntax, where that can say it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.wired import WiredFlow


def export(plan: WiredFlow) -> str:
    """One step a line. Raises PflowError (65) that says what pipe syntax cannot."""
    from pflow.flow.pipe import write_pipe

    return write_pipe(plan.flow).rstrip("\n") + "\n"
