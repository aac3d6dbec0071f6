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


def hold_below_root(path: Any) -> None:
    """Refuse a path, or one in a list, that leads out of the root once links are followed. Raises PflowError (77)."""
    root = os.environ.get(ROOT)
    if isinstance(path, list):
        for each in path:
            hold_below_root(each)
    elif root and isinstance(path, str | bytes) and path and not _is_below_root(os.fsdecode(path), root):
        raise PflowError(f"cannot use '{shorten(os.fsdecode(path))}': it is not below {root}", exit=DENIED)


def _is_below_root(path: str, root: str) -> bool:
    try:
        return is_below(os.path.realpath(path), os.path.realpath(root))
    except ValueError:  # a NUL in it
        return False
