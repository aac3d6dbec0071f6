"""Every node there is and every saved flow, each with its interface, read from its file and never run."""

from __future__ import annotations

import os

from pflow.errors import NOT_FOUND, PflowError
from pflow.flow.kinds import BUNDLED, find_kind, list_kinds, no_such_kind
from pflow.flow.subflow import saved_flows
from pflow.jsontext import decode
from pflow.source import in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.kinds import Kind


class _Stated:
    """What a node's class states beside its interface."""

    def __init__(self, version: str, flow_safe: bool) -> None:
        self.version = version
        self.flow_safe = flow_safe


def everything() -> list[Kind]:
    """Every node, then every saved flow."""
    flows = [find_kind(f"flow:{name}") for name in saved_flows()]
    return [*list_kinds(), *(kind for kind in flows if kind is not None)]


def find(name: str) -> Kind:
    """The node of this name, else the saved flow. Raises PflowError (127) where there is neither."""
    kind = find_kind(name) or find_kind(f"flow:{name}")
    if kind is None:
        error = no_such_kind(name)
        raise PflowError(error.message, hint=error.hint, exit=NOT_FOUND)
    return kind


def entry(kind: Kind) -> dict[str, Any]:
    """A kind's interface as `--describe` gives it, with its `origin` and `file`; with `fault`, what is wrong with it.

    Where the file cannot be read, the fault stands in place of the interface.
    """
    where = {"origin": kind.origin, "file": kind.file}
    try:
        about = _described(kind)
    except PflowError as error:
        return {"name": kind.name, **where, "fault": error.message}
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return {"name": kind.name, **where, "fault": f"cannot read '{kind.file}': {in_words(error)}"}
    fault = kind.interface.fault
    return {**about, **where, "fault": fault} if fault else {**about, **where}


def _described(kind: Kind) -> dict[str, Any]:
    from pflow.stage.describe import describe

    if not os.path.isfile(kind.file):
        raise ValueError("it is no file")
    interface = kind.interface
    flow_safe = getattr(kind.node_class(), "flow_safe", False) if kind.origin == BUNDLED else interface.flow_safe
    about = decode(describe(kind.name, _Stated(kind.version, flow_safe), interface).encode())
    assert isinstance(about, dict)
    return about


def is_known(entry: dict[str, Any]) -> bool:
    """Whether an entry has the node's interface."""
    return "reads" in entry
