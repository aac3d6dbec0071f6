"""Reading a trace from the events of a run: each step's start and its end are joined to one visit."""

from __future__ import annotations

from pflow.run.runs import RUNNING, is_int, milliseconds
from pflow.run.trace import trace
from pflow.run.trace.trace import Trace, Visit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.run.runs import Events, Run

    Event = dict[str, Any]

_MORE = ("action", "exit", "message", "tokens", "model", "cost", "tries", "items", "dry")


def trace_of_run(run: Run, events: Events) -> Trace:
    """The trace of a run, as far as its events tell."""
    found = Trace(run.id, run.name)
    found.status, found.exit, found.ms = run.status, run.exit, run.ms
    found.begun = found.last = run.begun
    found.events, found.snapshot = list(events), run.snapshot()
    reader = _Reader(found)
    for event in events:
        found.last = max(found.last, event["time"])
        reader.take(event)
    for visit in found.visits:
        if visit.state == trace.RUNNING and run.status != RUNNING:
            visit.state = trace.CUT
    return found


class _Reader:
    def __init__(self, found: Trace) -> None:
        self.found = found
        self.going: dict[tuple[str, int, str], list[Visit]] = {}
        """Those of a batch's items go on at the same time, and are told apart by nothing."""
        self.latest: dict[str, Visit] = {}

    def take(self, event: Event) -> None:
        readers = {"run": self._take_run, "start": self._take_start, "end": self._take_end, "finish": self._take_finish}
        if event["event"] in readers:
            readers[event["event"]](event)

    def _take_run(self, event: Event) -> None:
        for name in ("flow_hash", "traceparent", "parent"):
            setattr(self.found, name, text_in(event, name))

    def _take_start(self, event: Event) -> None:
        if isinstance(event.get("step"), str):
            self.going.setdefault(_key(event), []).append(self._begin(event, event["time"]))

    def _take_end(self, event: Event) -> None:
        """End the visit that began first of those that are alike; an end without a start is a visit of its own."""
        if not isinstance(event.get("step"), str):
            return
        ms = milliseconds(event) or 0.0
        same = self.going.get(_key(event))
        visit = same.pop(0) if same else self._begin(event, event["time"] - ms / 1000)
        fill(visit, event)
        visit.ms = ms
        visit.reads = {key: places_in(value) for key, value in object_in(event, "reads").items()}
        visit.origins = {key: " and ".join(places) for key, places in visit.reads.items()}

    def _begin(self, event: Event, begun: float) -> Visit:
        visit = Visit(len(self.found.visits) + 1, event["step"], text_in(event, "node"))
        _, visit.visit, visit.lane = _key(event)
        visit.begun = begun
        outer, slash, _ = visit.step.rpartition("/")
        visit.outer = self.latest.get(outer) if slash else None
        self.latest[visit.step] = visit
        self.found.visits.append(visit)
        return visit

    def _take_finish(self, event: Event) -> None:
        self.found.error = object_in(event, "error")
        self.found.store = object_in(event, "store")


def _key(event: Event) -> tuple[str, int, str]:
    return event["step"], event["visit"] if is_int(event.get("visit")) else 1, text_in(event, "lane")


def fill(visit: Visit, fields: dict[str, Any]) -> None:
    """What the end of a visit and an entry of a document's header tell alike."""
    visit.version = text_in(fields, "version")
    visit.writes = {key: places_in(value) for key, value in object_in(fields, "writes").items()}
    visit.more = {name: fields[name] for name in _MORE if name in fields}
    visit.state = trace.FAILED if fields.get("exit") else trace.DONE


def text_in(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def object_in(fields: dict[str, Any], name: str) -> dict[str, Any]:
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def places_in(value: Any) -> list[str]:
    return [str(place) for place in value] if isinstance(value, list) else [str(value)]
