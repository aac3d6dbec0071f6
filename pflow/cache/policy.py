"""The policy of a run: which steps use the cache, and how. Most runs use no cache and load only this module of it."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any
from pflow.catalog.node_type import NodeType
from pflow.errors import BAD_CONFIG, PflowError
from pflow.interface.interface import Interface

if TYPE_CHECKING:
    from pflow.cache.use import CachedNode

REQUIRE = "require"
"""The mode in which no cacheable step runs: it takes its answer from the cache, or fails."""


def is_off() -> bool:
    """Return True if PFLOW_CACHE turns the cache off, which nothing overrides."""
    return os.environ.get("PFLOW_CACHE", "").lower() in ("off", "0", "no", "false")


class CachePolicy:
    """A run's flags about the cache.

    `mode` says which steps are cached: True for all that can be, REQUIRE, False for none, None for pure ones only.
    `refresh` names the step (True: all) whose kept answers are ignored.
    """

    def __init__(self, mode: bool | str | None = None, refresh: bool | str | None = None) -> None:
        self.mode = mode
        self.refresh = refresh

    def inside(self, own_mode: bool | str | None) -> CachePolicy:
        """Return the policy for the steps of a flow inside a step. `own_mode` is the mode of that step, if any."""
        return self if own_mode is None or (own_mode and self.mode == REQUIRE) else CachePolicy(own_mode, self.refresh)

    def of_step(
        self,
        name: str,
        node_type: NodeType,
        interface: Interface,
        node: Any,
        own_mode: bool | str | None,
        *,
        is_from_python: bool = False,
    ) -> CachedNode | None:
        """Return how a step uses the cache; None if it does not. `own_mode` is this step's mode, if any.

        Raises PflowError (78) if the cache is off and required.
        """
        mode = self.mode if own_mode is None else own_mode
        if mode is False or (mode is None and not getattr(node, "flow_safe", False)):
            return None
        is_required = REQUIRE in (self.mode, mode)
        if is_off() and not is_required:
            return None
        from pflow.cache.use import CachedNode

        found = CachedNode(
            node_type,
            interface,
            is_asked=bool(own_mode),
            is_unasked=mode is None,
            is_required=is_required,
            refreshes=self._refreshes(name),
            is_from_python=is_from_python,
        )
        if not is_off():
            return found
        if own_mode or found.can_be_kept(node):
            what = f"cannot take a kept answer of '{node_type.name}': PFLOW_CACHE turns the cache off"
            raise PflowError(what, hint="unset it, or omit --cache=require", exit=BAD_CONFIG)
        return None

    def _refreshes(self, name: str) -> bool:
        wanted = self.refresh
        return wanted is True or (isinstance(wanted, str) and f"{name}/".startswith(f"{wanted}/"))
