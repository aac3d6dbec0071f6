"""Flow: pocketflow's Flow, in which each node keeps its own params."""

from __future__ import annotations

from pflow.node import pocketflow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Flow(pocketflow.Flow):  # type: ignore[misc,unused-ignore]
    """A pocketflow.Flow whose nodes keep the params that were set on them; the flow's own go over them.

    Everything else is pocketflow's: `Flow(start=node)`, `a >> b`, `a - "action" >> b`, `flow.run(shared)`.
    """

    def _orch(self, shared: Any, params: dict[str, Any] | None = None) -> Any:
        given = params or self.params
        node, action = self.start_node, None
        while node:
            current = copied(node)
            if given:
                current.set_params({**node.params, **given})
            action = current._run(shared)
            node = self.get_next_node(node, action)
        return action


def copied(node: Any) -> Any:
    """A shallow copy of a node, as pocketflow makes for each visit: what it sets on itself is gone after it."""
    new = object.__new__(node.__class__)
    new.__dict__ = node.__dict__.copy()
    return new
