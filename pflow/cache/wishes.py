"""What a run asks of the cache, step by step; most ask for nothing, and load no more than this."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from pflow.cache.use import CachedNode
    from pflow.catalog.interfaces import Kind
    from pflow.interface.interface import Interface

REQUIRE = "require"
"""With it nothing runs: what is kept is handed on, else it fails."""


def is_off() -> bool:
    """Whether PFLOW_CACHE turns the cache off, whatever else is said."""
    return os.environ.get("PFLOW_CACHE", "").lower() in ("off", "0", "no", "false")


class Wishes:
    """`mode` is True for every step that can be cached, REQUIRE, False for none, None for pure ones; of what `refresh`
    names (a step, or with True all) nothing counts that is kept.
    """

    def __init__(self, mode: bool | str | None = None, refresh: bool | str | None = None) -> None:
        self.mode = mode
        self.refresh = refresh

    def of_step(
        self, name: str, kind: Kind, interface: Interface, node: Any, said: bool | str | None, *, is_made: bool = False
    ) -> CachedNode | None:
        """The use that a step makes of the cache, where it makes any; `said` is what the flow says of it.

        Raises PflowError (78) where the flow asks for it, and it cannot be.
        """
        mode = self.mode if said is None else said
        if mode is False or (mode is None and not getattr(node, "flow_safe", False)) or is_off():
            return None
        from pflow.cache.use import CachedNode

        is_required = REQUIRE in (self.mode, mode)
        found = CachedNode(
            kind,
            kind.version,
            interface,
            is_required=is_required,
            refreshes=self._refreshes(name),
            is_unasked=mode is None,
            is_made=is_made,
        )
        if said:
            found.insist(node)
        return found

    def _refreshes(self, name: str) -> bool:
        wanted = self.refresh
        return wanted is True or (isinstance(wanted, str) and f"{name}/".startswith(f"{wanted}/"))
