"""Pipe syntax, one step a line, if that can express the flow."""

from pflow.flow.pipe.write import write_pipe
from pflow.flow.wired_flow import WiredFlow


def export(wired: WiredFlow) -> str:
    """Write the flow as pipe syntax. Raises PflowError (65) if that cannot express it."""
    return write_pipe(wired.flow)
