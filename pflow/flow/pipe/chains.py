"""A flow's edges as chains, so that each step is met for the first time in the order of the steps."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.flow import Edge, Flow

    Chain = list[tuple[str, str]]
    """Steps in a row, each with the action that leads to it; "" for the first."""


def chains_of(flow: Flow) -> list[Chain]:
    """The chains: as long as they lead to steps that were not met yet. The edges of one step keep their order."""
    return _Walk(flow).chains()


class _Walk:
    def __init__(self, flow: Flow) -> None:
        self.unmet = dict.fromkeys(step.id for step in flow.steps)
        self.met: list[str] = []
        self.ahead: dict[str, list[Edge]] = {id: [] for id in self.unmet}
        for edge in reversed(flow.edges):
            self.ahead[edge.source].append(edge)

    def chains(self) -> list[Chain]:
        chains: list[Chain] = []
        while (start := self._start()) is not None:
            chain = [(start, "")]
            while (edge := self._next(chain[-1][0])) is not None:
                chain.append((edge.target, edge.action))
                if edge.target not in self.unmet:  # a way back, or to where ways meet
                    break
                self._meet(edge.target)
            chains.append(chain)
        return chains

    def _start(self) -> str | None:
        """Where the next chain starts: at a step with an edge that can be said now, else at the next one to meet."""
        for id in self.met:
            if self.ahead[id] and self._is_next(self.ahead[id][-1]):
                return id
        first = next(iter(self.unmet), None)
        if first is not None:
            self._meet(first)
        return first

    def _is_next(self, edge: Edge) -> bool:
        return edge.target not in self.unmet or edge.target == next(iter(self.unmet))

    def _next(self, id: str) -> Edge | None:
        edges = self.ahead[id]
        return edges.pop() if edges and self._is_next(edges[-1]) else None

    def _meet(self, id: str) -> None:
        del self.unmet[id]
        self.met.append(id)
