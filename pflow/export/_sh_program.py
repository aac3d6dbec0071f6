"""What a shell calls a node by, and what a stage may be called."""

from __future__ import annotations

import os

from pflow.catalog.kinds import BUNDLED, PROGRAM
from pflow.catalog.registry import names_in
from pflow.errors import BAD_DATA, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.wired import WiredStep


def refused(why: str, hint: str = "") -> PflowError:
    return PflowError(f"cannot export the flow to sh: {why}", hint=hint, exit=BAD_DATA)


def program_of(wired: WiredStep) -> str:
    """How a shell calls the node: by its own executable, else through pflow, which makes a stage of a program."""
    kind = wired.kind
    if kind is None:
        raise refused(f"'{wired.id}' is no known node")
    on_path = os.environ.get("PATH", "").split(os.pathsep)
    if kind.origin == BUNDLED or (is_bare(wired) and os.path.dirname(kind.file) in on_path):
        return f"pflow-{kind.name}"
    is_taken = kind.name in ("help", *names_in("commands"))  # there `pflow NAME` is the command
    return f"pflow pflow-{kind.name}" if is_taken else f"pflow {kind.name}"


def is_bare(wired: WiredStep) -> bool:
    """Whether it is a program without an interface: pflow starts it and makes no stage of it."""
    return wired.kind is not None and wired.kind.origin == PROGRAM and wired.interface.open
