"""The trace of a run: the visits of its steps in the order in which they began, and all that as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pflow.jsontext import encode
from pflow.run.log import describe
from pflow.run.runs import DONE, FAILED, RUNNING, Event, Run, time_of
from pflow.stage.document import Document
from pflow.terminal.columns import PLAIN, Colour, clean, duration

CUT = "cut"
"""The state of a visit that has no end and does not run any more, beside those of a run."""

_MORE = ("action", "exit", "message", "tokens", "model", "cost", "tries", "items", "dry")


@dataclass
class Visit:
    """One visit of a step: its `number` in the trace, and which of this step's visits it is (`visit`).

    `reads` gives for each read the places of the store that its value came from (none: the flow itself gives it);
    `origins` says the same in words. `writes` gives the places of each write. `begun` is in seconds; `ms` is None
    where it has no end. `outer` is the visit of the subflow that it is in, `lane` the branch of a fork. `more` holds
    what not every visit has: action, exit, message, tokens, model, cost, tries, items, dry.
    """

    number: int
    step: str
    node: str
    version: str = ""
    visit: int = 1
    lane: str = ""
    outer: Visit | None = None
    begun: float = 0.0
    ms: float | None = None
    state: str = RUNNING
    reads: dict[str, list[str]] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    writes: dict[str, list[str]] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """How many subflows it is in."""
        return 0 if self.outer is None else self.outer.depth + 1

    @property
    def read_keys(self) -> list[str]:
        """Every place that it read, once."""
        return list(dict.fromkeys(place for places in self.reads.values() for place in places))

    @property
    def write_keys(self) -> list[str]:
        """Every place that it wrote, once."""
        return list(dict.fromkeys(place for places in self.writes.values() for place in places))

    def end(self, fields: Event) -> None:
        """Take what an end event, or an entry of a document's header, says."""
        self.version = fields.get("version", "")
        self.ms = fields.get("ms")
        self.reads = {key: _places(value) for key, value in fields.get("reads", {}).items()}
        self.writes = {key: _places(value) for key, value in fields.get("writes", {}).items()}
        self.more = {name: fields[name] for name in _MORE if name in fields}
        self.state = FAILED if fields.get("exit") else DONE
        self.origins = {key: " and ".join(places) for key, places in self.reads.items()}


@dataclass
class Trace:
    """What is known of one run.

    `status` is the run's (done, failed, running, killed), "" for a document. `begun` and `last`, the last known moment,
    are in seconds. `error` is {step, node, exit, message}, or empty. `store` gives for each key of the final store its
    type and size, and its value where that was kept; None where the run has no end. `traceparent` is the run's own span
    in a wider trace, `parent` the span that began it.
    """

    run: str
    name: str = ""
    flow_hash: str = ""
    traceparent: str = ""
    parent: str = ""
    status: str = ""
    begun: float = 0.0
    last: float = 0.0
    ms: float | None = None
    exit: int | None = None
    error: dict[str, Any] = field(default_factory=dict)
    visits: list[Visit] = field(default_factory=list)
    store: dict[str, Any] | None = None
    snapshot: Any = None
    events: list[Event] = field(default_factory=list)


def trace_of_run(run: Run, events: list[Event]) -> Trace:
    """The trace of a run, as far as its events say."""
    trace = Trace(run.id, run.name, status=run.status, begun=run.begun, last=run.begun, ms=run.ms, exit=run.exit)
    trace.events, trace.snapshot = events, run.snapshot()
    visits = _Visits(trace)
    for event in events:
        trace.last = max(trace.last, event["time"])
        if event["event"] == "run":
            trace.flow_hash, trace.traceparent = event.get("flow_hash", ""), event.get("traceparent", "")
            trace.parent = event.get("parent", "")
        elif event["event"] == "finish":
            trace.error, trace.store = event.get("error", {}), event.get("store", {})
        elif event["event"] in ("start", "end"):
            (visits.start if event["event"] == "start" else visits.end)(event)
    for visit in trace.visits:
        if visit.state == RUNNING and run.status != RUNNING:
            visit.state = CUT
    return trace


class _Visits:
    """Joins each start of a step and its end to one visit."""

    def __init__(self, trace: Trace) -> None:
        self.visits = trace.visits
        self.open: dict[tuple[str, int, str], list[Visit]] = {}
        """By step, visit and lane; items of a batch run at the same time and share all three."""
        self.latest: dict[str, Visit] = {}

    def start(self, event: Event) -> None:
        self.open.setdefault(_key(event), []).append(self._begin(event, event["time"]))

    def end(self, event: Event) -> None:
        """End the oldest open visit of this key; an end without a start is a visit of its own."""
        same = self.open.get(_key(event))
        visit = same.pop(0) if same else self._begin(event, event["time"] - event["ms"] / 1000)
        visit.end(event)

    def _begin(self, event: Event, begun: float) -> Visit:
        step, number, lane = _key(event)
        visit = Visit(len(self.visits) + 1, step, event["node"], visit=number, lane=lane, begun=begun)
        outer, slash, _ = step.rpartition("/")
        visit.outer = self.latest.get(outer) if slash else None
        self.latest[step] = visit
        self.visits.append(visit)
        return visit


def _key(event: Event) -> tuple[str, int, str]:
    return event["step"], event["visit"], event.get("lane", "")


def trace_of_document(document: Document, *, with_store: bool) -> Trace:
    """The trace of the stages that a store has passed, which says how long each took, and not when."""
    header = document.header
    run = str(header.get("run", ""))
    trace = Trace(run, traceparent=header.get("traceparent", ""), error=header.get("error", {}))
    trace.exit = trace.error.get("exit", 0)
    trace.begun = trace.last = time_of(run)
    trace.events = list(filter(_is_sound, header.get("steps", [])))
    for number, step in enumerate(trace.events, 1):
        visit = Visit(number, str(step.get("id")), str(step.get("node")), begun=trace.last)
        visit.end(step)
        visit.reads = {key: _places_in_words(origin) for key, origin in step.get("reads", {}).items()}
        trace.last += (visit.ms or 0.0) / 1000
        trace.visits.append(visit)
    trace.ms = (trace.last - trace.begun) * 1000
    if with_store:
        trace.store = {key: {**describe(value), "value": value} for key, value in dict(document).items()}
    return trace


def _is_sound(step: Any) -> bool:
    """Whether an entry of a header has the shape of ours: any JSON tool may have written it."""
    if not isinstance(step, dict) or not isinstance(step.get("ms", 0.0), int | float):
        return False
    return all(isinstance(step.get(name, {}), dict) for name in ("reads", "writes", "tokens", "items"))


def _places_in_words(origin: Any) -> list[str]:
    """The places of the store in an origin: `a.b`, or what templates in a flag refer to, `--prompt (a.b, c)`.

    A comma inside a quoted key separates nothing.
    """
    if not isinstance(origin, str) or not origin.startswith("--"):
        return _places(origin)
    paths = origin.partition(" (")[2].removesuffix(")")
    return [path.strip() for path in re.findall(r'(?:"(?:\\.|[^"\\])*"|[^,"])+', paths) if path.strip()]


def _places(value: Any) -> list[str]:
    return [str(place) for place in value] if isinstance(value, list) else [str(value)]


_LONGEST = 1000
_UNITS = {"str": "characters", "bytes": "bytes", "list": "items", "dict": "members"}


def trace_text(trace: Trace, *, now: float, with_store: bool, colour: Colour = PLAIN) -> bytes:
    """A block for each visit of a step, what failed, the status of a run, and the store if wanted."""
    blocks = [_visit(visit, trace, now, colour) for visit in trace.visits]
    error = trace.error
    if error:
        words = clean(f"{error.get('step')} (exit {error.get('exit')}): {error.get('message')}")
        blocks.append(f"{colour.fault('failed:')} {words}\n")
    if trace.status:
        paint = {DONE: colour.good, RUNNING: colour.warning}.get(trace.status, colour.fault)
        blocks.append(f"{clean(f'run {trace.run} ({trace.name})')}: {paint(_status(trace, now))}\n")
    blocks = blocks or ["no step has run\n"]
    return "\n".join([*blocks, *([_store(trace.store)] if with_store else [])]).encode()


def _visit(visit: Visit, trace: Trace, now: float, colour: Colour) -> str:
    facts = clean(", ".join(filter(None, _facts(visit, now))))
    lines = [colour.heading(clean(f"[{visit.number}] {visit.step} ({visit.node})")) + ("  " + facts if facts else "")]
    reads = [f"{key} from {origin}" if origin else f"{key} given" for key, origin in visit.origins.items()]
    if reads:
        lines.append(f"    {colour.dim('← reads:')} {clean(', '.join(reads))}")
    if visit.writes:
        places = ", ".join([" and ".join(places) for places in visit.writes.values()])
        lines.append(f"    {colour.dim('→ writes:')} {clean(places)}")
    message = visit.more.get("message")
    if message and message != trace.error.get("message"):
        lines.append(f"    {colour.fault('✗')} {clean(str(message))}")
    return "".join("    " * visit.depth + line + "\n" for line in lines)


def _facts(visit: Visit, now: float) -> list[str]:
    """How long a visit took, which one it is, what it used and how it ended, as far as that is known."""
    if visit.state == RUNNING:
        took = f"running for {duration(max(0.0, now - visit.begun) * 1000)}"
    elif visit.state == CUT:
        took = "did not end"
    else:
        took = "" if visit.ms is None else duration(visit.ms)
    number = f"visit {visit.visit}" if visit.visit > 1 else ""
    lane = f"in branch {visit.lane}" if visit.lane else ""
    return [took, number, lane, *(text(visit.more[name]) for name, text in _WORDS.items() if name in visit.more)]


def _items(items: dict[str, int]) -> str:
    done, failed = items.get("done", 0), items.get("failed", 0)
    if failed:
        return f"{done} of {done + failed} items"
    return "1 item" if done == 1 else f"{done} items"


_WORDS: dict[str, Callable[[Any], str]] = {
    "tries": lambda tries: f"{tries} tries",
    "items": _items,
    "tokens": lambda tokens: " + ".join(f"{count} tokens {side}" for side, count in tokens.items()),
    "model": str,
    "cost": lambda cost: "$" + f"{float(cost):.6f}".rstrip("0").rstrip("."),
    "dry": lambda dry: "dry" if dry else "",
    "action": lambda action: f"action {action}",
    "exit": lambda exit: f"exit {exit}",
}
"""What a visit may have beside its time, in the order in which it is printed."""


def _status(trace: Trace, now: float) -> str:
    if trace.status == RUNNING:
        return f"running for {duration(max(0.0, now - trace.begun) * 1000)}"
    how = {DONE: "done", FAILED: f"failed with {trace.exit}"}.get(trace.status, "killed")
    return how if trace.ms is None else f"{how} after {duration(trace.ms)}"


def _store(store: dict[str, Any] | None) -> str:
    """A line for each key, `response: str, 12 characters: "It is fine."`; `store` is as a trace has it."""
    if store is None:
        return "the store is known when the run has ended\n"
    lines = [f"    {key}: {_shape(shape)}" for key, shape in store.items()]
    return "".join(clean(line) + "\n" for line in ["the store" if lines else "the store is empty", *lines])


def _shape(shape: dict[str, Any]) -> str:
    text, size = str(shape["type"]), shape.get("size")
    if size is not None:
        unit = _UNITS[text]
        text += f", {size:,} {unit.removesuffix('s') if size == 1 else unit}"
    if "value" not in shape:
        return text
    value = str(encode(shape["value"]), "utf-8")
    return f"{text}: {value if len(value) <= _LONGEST else value[: _LONGEST - 1] + '…'}"
