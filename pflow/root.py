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


def leads_out(path: str) -> bool:
    """Whether there is a root, and a path leads out of it once links are followed."""
    root = os.environ.get(ROOT)
    try:
        return bool(root) and not is_below(os.path.realpath(path), os.path.realpath(root or ""))
    except ValueError:  # a NUL in it
        return True


def hold_below_root(path: Any) -> None:
    """Refuse a path, or one in a list, that leads out of the root. Raises PflowError (77)."""
    if isinstance(path, list):
        for each in path:
            hold_below_root(each)
    elif isinstance(path, str | bytes) and path and leads_out(os.fsdecode(path)):
        what = f"cannot use '{shorten(os.fsdecode(path))}': it is not below {os.environ[ROOT]}"
        raise PflowError(what, exit=DENIED)
