"""The directory that files are held below, where PFLOW_ROOT names one, as for what an MCP client calls."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.errors import DENIED, PflowError, shorten

if TYPE_CHECKING:
    from typing import Any

ROOT = "PFLOW_ROOT"


def is_below(real: str, folder: str) -> bool:
    """Whether a path is a directory, or in it; both are real paths."""
    return real == folder or real.startswith(folder.rstrip("/") + "/")


def fault_of(path: str) -> str:
    """Why a path is out of bounds, where there is a root: once links are followed it leads out of it, or to what says
    what is run, as the settings and hooks in a .git do, which may hold keys as well.
    """
    root = os.environ.get(ROOT)
    if not root:
        return ""
    from pflow.files.xdg import pflow_directory

    try:
        real, root = os.path.realpath(path), os.path.realpath(root)
    except ValueError:  # a NUL in it
        return "it holds a NUL"
    if not is_below(real, root):
        return f"it is not below {os.environ[ROOT]}"
    if ".git" in real[len(root) :].lower().split("/"):
        return "it is git's own"
    data = pflow_directory("XDG_DATA_HOME", ".local/share")
    runs = [os.path.realpath(os.path.join(data, name)) for name in ("flows", "nodes")] if data else []
    return "pflow runs what is there" if any(is_below(real, folder) for folder in runs) else ""


def hold_below_root(path: Any) -> None:
    """Refuse a path, or one in a list, that is out of bounds. Raises PflowError (77)."""
    if isinstance(path, list):
        for each in path:
            hold_below_root(each)
    elif isinstance(path, str | bytes) and path and (fault := fault_of(os.fsdecode(path))):
        raise PflowError(f"cannot use '{shorten(os.fsdecode(path))}': {fault}", exit=DENIED)
