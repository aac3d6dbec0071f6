"""What a drawing of a flow shows: a label for each step and each edge, whatever the picture is made with."""

from __future__ import annotations

from pflow.catalog.kinds import FLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pflow.flow.flow import Edge
    from pflow.flow.wired import WiredFlow, WiredStep


def names_of(plan: WiredFlow) -> dict[str, str]:
    """A name for each step that any language of pictures takes: an id may hold anything."""
    return {id: f"n{number}" for number, id in enumerate(plan.steps, 1)}


def label_of(wired: WiredStep) -> list[str]:
    """The lines of a step's label: its id, its node where that has another name, and what it runs once for each of."""
    node = wired.kind.name if wired.kind else wired.step.type
    lines = [wired.id]
    if node != wired.id:
        lines.append(node)
    if wired.step.batch is not None:
        lines.append(f"once for each {wired.step.batch.item} of {wired.step.batch.over}")
    return lines


def is_flow(wired: WiredStep) -> bool:
    return wired.kind is not None and wired.kind.origin == FLOW


def edges_of(plan: WiredFlow) -> Iterator[Edge]:
    """The edges between steps that there are."""
    return (edge for edge in plan.flow.edges if edge.source in plan.steps and edge.target in plan.steps)


def label_of_edge(edge: Edge) -> str:
    """The action of an edge; nothing for the default."""
    return "" if edge.action == "default" else edge.action


def escaped(text: str, signs: Mapping[str, str]) -> str:
    """A text on one line of a label; `signs` gives what stands there for those that mean something in it."""
    return "".join([signs.get(sign, sign if sign.isprintable() else " ") for sign in text])
