"""PFLOW_ROOT: the directory that file access is limited to, as for calls of an MCP client."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.errors import DENIED, PflowError, shorten

if TYPE_CHECKING:
    from typing import Any

ROOT = "PFLOW_ROOT"


def is_below(real: str, folder: str) -> bool:
    """Return True if a path is the folder or in it; both are real paths."""
    return real == folder or real.startswith(folder.rstrip("/") + "/")


def fault_of(path: str) -> str:
    """Say why a path is out of bounds; empty if it is allowed, or there is no root.

    With links followed, it leads out of the root, or to files that decide which code runs, such as settings and hooks
    in a .git, which may also hold keys.
    """
    root = os.environ.get(ROOT)
    if not root:
        return ""
    from pflow.files.xdg import pflow_directory

    try:
        real, root = os.path.realpath(path), os.path.realpath(root)
    except ValueError:  # a NUL in it
        return "it contains NUL"
    if not is_below(real, root):
        return f"it is not below {os.environ[ROOT]}"
    if ".git" in real[len(root) :].lower().split("/"):
        return "it belongs to git"
    data = pflow_directory("XDG_DATA_HOME", ".local/share")
    runs = [os.path.realpath(os.path.join(data, name)) for name in ("flows", "nodes")] if data else []
    return "pflow runs the files there" if any(is_below(real, folder) for folder in runs) else ""


def hold_below_root(path: Any) -> None:
    """Refuse a path, also in a list, that is out of bounds. Raises PflowError (77)."""
    if isinstance(path, list):
        for each in path:
            hold_below_root(each)
    elif isinstance(path, str | bytes) and path and (fault := fault_of(os.fsdecode(path))):
        raise PflowError(f"cannot use '{shorten(os.fsdecode(path))}': {fault}", exit=DENIED)
