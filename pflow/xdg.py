"""Where the XDG base directories are, and pflow's own in them."""

from __future__ import annotations

import os


def pflow_directory(variable: str, default: str) -> str | None:
    """pflow's directory below that of an XDG variable, else below `default` at home; None where neither names a place.

    A relative path in the variable counts as none, as the XDG specification has it.
    """
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.join(os.environ.get("HOME", ""), default)
    return os.path.join(base, "pflow") if os.path.isabs(base) else None
