"""Names of tools: of the signs and the length that every client takes, each of one tool only."""

from __future__ import annotations

import hashlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

_LONGEST = 64
_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def tool_name(label: str, taken: Container[str]) -> str:
    """The name of a node or a saved flow (`flow:NAME`) as it is, where it can be a tool's and is free.

    Else, for a flow whose name a node has, `flow_NAME`; else as much of the name as can stand, and a digest of it all.
    """
    plain = label.removeprefix("flow:")
    for name in dict.fromkeys([plain, label.replace(":", "_", 1)]):
        if _can_be_one(name) and name not in taken:
            return name
    digest = hashlib.sha256(label.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    kept = "".join(sign if sign in _SIGNS else "_" for sign in plain).lstrip("-")
    return f"{kept[: _LONGEST - 9]}-{digest}"


def _can_be_one(name: str) -> bool:
    return 0 < len(name) <= _LONGEST and set(name) <= _SIGNS and not name.startswith("-")
