"""What there is instead of a plan, where no model can make one: the nearest saved flows and nodes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.errors import PflowError

_FLOWS, _NODES = 3, 5
"""How many are named: a sentence takes one flow, and several nodes."""

_PIPE = "pipe syntax, 'a => b', needs none"


def add_nearest(error: PflowError, sentence: str) -> PflowError:
    """The same error, with `details` that name what is nearest, and its hint with them."""
    from pflow.plan.catalogue import near

    flows = near(sentence, _flows())[:_FLOWS]
    nodes = near(sentence, _nodes())[:_NODES]
    error.details = {"flows": flows, "nodes": nodes}
    said = [f"{what}: {', '.join(names)}" for what, names in (("saved flows", flows), ("nodes", nodes)) if names]
    error.hint = "; ".join([error.hint, _PIPE, *([f"nearest {', '.join(said)}"] if said else [])])
    return error


def _flows() -> list[tuple[str, str]]:
    from pflow.plan.saved import saved_flows

    return [(each.name, each.description) for each in saved_flows() if each.name.isprintable()]


def _nodes() -> list[tuple[str, str]]:
    from pflow.catalog.kinds import FLOW
    from pflow.catalog.lines import lines
    from pflow.flow.subflow import FlowCatalog

    there = [line for line in lines(FlowCatalog()) if line.is_there and line.origin != FLOW]
    return [(line.name, f"{line.summary} {line.words}") for line in there]
