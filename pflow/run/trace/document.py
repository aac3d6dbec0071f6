"""Reading a trace from the header of a piped document, which knows how long each step took, and not when."""

from __future__ import annotations

from pflow.run.log import describe
from pflow.run.runs import milliseconds, time_of
from pflow.run.trace.read import fill, object_in, places_in, text_in
from pflow.run.trace.trace import Trace, Visit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.stage.document import Document


def trace_of_document(document: Document, *, with_store: bool) -> Trace:
    """The trace of the stages that a store has passed; its values are decoded where they are asked for."""
    header = document.header
    found = Trace(text_in(header, "run"), "")
    found.traceparent = text_in(header, "traceparent")
    found.error = object_in(header, "error")
    found.exit = found.error.get("exit", 0)
    found.begun = found.last = time_of(found.run)
    found.events = [step for step in header.get("steps", []) if isinstance(step, dict)]
    for number, step in enumerate(found.events, 1):
        visit = _visit(number, step)
        visit.begun = found.last
        found.last += (visit.ms or 0.0) / 1000
        found.visits.append(visit)
    found.ms = (found.last - found.begun) * 1000
    if with_store:
        found.store = {key: {**describe(value), "value": value} for key, value in document.decoded().items()}
    return found


def _visit(number: int, step: dict[str, Any]) -> Visit:
    visit = Visit(number, str(step.get("id")), str(step.get("node")))
    fill(visit, step)
    visit.ms = milliseconds(step)
    visit.origins = {key: " and ".join(places_in(origin)) for key, origin in object_in(step, "reads").items()}
    visit.reads = {key: _places(origin) for key, origin in object_in(step, "reads").items()}
    return visit


def _places(origin: Any) -> list[str]:
    """The places of the store in an origin: `a.b`, or what templates in a flag refer to, `--prompt (a.b, c)`."""
    if not isinstance(origin, str):
        return places_in(origin)
    if not origin.startswith("--"):
        return [origin]
    return _split(origin.partition(" (")[2].removesuffix(")"))


def _split(paths: str) -> list[str]:
    """Paths with a comma between two; one inside a quoted key is no such comma."""
    import re

    parts = re.findall(r'(?:"(?:\\.|[^"\\])*"|[^,"])+', paths)
    return [part.strip() for part in parts if part.strip()]
