"""A dry run of a flow: what each step would read, write and touch."""

from __future__ import annotations

from pflow.paths import write_path
from pflow.stage.failure import say
from pflow.stage.step import add_step, step_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.plan import Plan, Wired
    from pflow.stage.document import Document


def pretend(plan: Plan, document: Document, name: str) -> Document:
    """Say each step on stderr; the document for the stages after it, marked with the places that would be written."""
    document = document.copy()
    places = say_steps(plan)
    if plan.carried is not None:
        document.header["last"] = write_path(plan.carried)
    document.header["dry"] = [*document.header.get("dry", []), *places]
    add_step(document, {"id": step_id(document, name, None), "node": f"flow:{name}", "dry": True})
    return document


def say_steps(plan: Plan) -> list[str]:
    """Say each step on stderr; the places that the flow would write, for the stages after it."""
    for id in plan.graph.order():
        say("pflow run", _would(plan.steps[id]))
    if plan.flow.outputs:
        return list(plan.flow.outputs)
    places = [wired.place_of(key) for wired in plan.steps.values() for key in [*wired.interface.writes, *wired.targets]]
    return list(dict.fromkeys(write_path(place) for place in places))


def _would(wired: Wired) -> str:
    parts = [f"would run {wired.id} ({wired.step.type})"]
    reads = [f"{key} from {source.origin}" for key, source in wired.sources.items() if source.paths]
    if reads:
        parts.append("reads " + ", ".join(reads))
    writes = [write_path(wired.place_of(key)) for key in wired.interface.writes]
    if writes:
        parts.append("writes " + ", ".join(writes))
    if wired.interface.effects:
        parts.append(", ".join(wired.interface.effects))
    return "; ".join(parts)
