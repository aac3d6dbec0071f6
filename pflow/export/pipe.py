"""Pipe syntax, one step a line, where it can say the flow."""

from __future__ import annotations

from pflow.flow.pipe.write import write_pipe
from pflow.flow.wired import WiredFlow


def export(wired: WiredFlow) -> str:
    """Raises PflowError (65) that says what pipe syntax cannot."""
    return write_pipe(wired.flow).rstrip("\n") + "\n"
