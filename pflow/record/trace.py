"""The trace of a run, or of a store that came through a pipe, as data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pflow.errors import Ignoring, PflowError
from pflow.record.events import Event, is_sound
from pflow.record.run import DONE, FAILED, FINISHED, RUNNING, Run, time_of
from pflow.stage.document import Document
from pflow.terminal.messages import say
from pflow.usage.usage import MEMBERS, Usage
from pflow.values.paths import describe, parse_path
from pflow.values.secrets import MASK

Trace = dict[str, Any]
"""run, flow {name, hash} (None for a document), status, exit, began, last (the last known moment; both in seconds), ms
(None while it runs), resumed (how often), error {step, node, exit, message} or empty, usage (what models took in all:
pflow.usage.usage), snapshot, next (commands to type), execution_trace, batch_items, store and events.

`traceparent` is the run's own span in a wider trace, `parent` the span that began it. `store` gives for each key of the
final store its type and size, and its value where that was kept; it is None where the run has no end.
`execution_trace` has each visit of a step, in the order in which they began. `batch_items` gives the events of a
batch's items by the number of its visit; programs find them among the events.
"""

Visit = dict[str, Any]
"""number (in the trace), step, node, version, visit (which of this step's it is), state, began (seconds), ms (None
where it has no end), reads and writes (the places of each), read_keys and write_keys (every place once). What not every
visit has: lane (the branch of a fork), item (of the batch that it is in), outer (the number of the visit that it is
in), and all of MORE."""

Values = dict[int, dict[str, Any]]
"""The values that each visit wrote, by its number, then by their places. One with a secret in it is the mask."""

CUT = "cut"
"""The state of a visit that has no end and does not run any more, beside the states of a run."""

MORE = (
    "pack", "action", "exit", "message", *MEMBERS, "tries", "tried", "asked", "items", "cache", "dry", "skipped",
    "warning",
)  # fmt: skip


def trace_of_run(run: Run, events: list[Event]) -> Trace:
    """Return the trace of a run, as far as its events say."""
    return with_visits(
        {
            "run": run.id,
            "flow": {"name": run.name, "hash": run.flow_hash},
            "status": run.status,
            "exit": run.exit,
            "began": run.begun,
            "last": max([run.begun, *(event["time"] for event in events)]),
            "ms": run.ms,
            "resumed": sum(event["event"] == "resume" for event in events),
            "traceparent": run.about.get("traceparent", ""),
            "parent": run.about.get("parent", ""),
            "error": run.end.get("error", {}),
            "usage": run.usage,
            "snapshot": run.snapshot or None,
            "next": run.next_commands(),
            "store": run.end.get("store", {}) if run.end else None,
            "events": events,
        }
    )


def trace_of_document(document: Document, *, with_store: bool) -> Trace:
    """Return the trace of the stages that a store has passed; it has durations, not times."""
    header = document.header
    run = str(header.get("run", ""))
    error = header.get("error", {})
    steps = list(filter(_is_sound, header.get("steps", [])))
    began = time_of(run)
    usage = Usage(*steps)
    last = began + sum(step.get("ms", 0.0) for step in steps) / 1000
    store = {key: {**describe(value), "value": value} for key, value in dict(document).items()} if with_store else {}
    return with_visits(
        {
            "run": run,
            "flow": None,
            "status": FAILED if error else FINISHED if document.exit else DONE,
            "exit": error.get("exit", document.exit),
            "began": began,
            "last": last,
            "ms": (last - began) * 1000,
            "resumed": 0,
            "traceparent": header.get("traceparent", ""),
            "parent": "",
            "error": error,
            "usage": usage.total(),
            "snapshot": None,
            "next": [],
            "store": store,
            "events": steps,
        }
    )


def with_visits(trace: Trace) -> Trace:
    """Return a trace with its `execution_trace` and `batch_items`, which its events give."""
    if trace["flow"]:
        events = trace["events"]
    else:
        events, last = [], trace["began"]
        for step in filter(_is_sound, trace["events"]):
            last += step.get("ms", 0.0) / 1000
            events.append(_event_of(step, last))
    visits, items = _visits(events, unfinished=RUNNING if trace["status"] == RUNNING else CUT)
    return {**trace, "execution_trace": visits, "batch_items": items}


def _is_sound(step: Any) -> bool:
    """Return True if an entry of a header has the shape of ours: any JSON tool may have written it."""
    return isinstance(step, dict) and is_sound(_event_of(step, 0.0))


def _event_of(step: dict[str, Any], time: float) -> Event:
    return {**step, "event": "end", "step": str(step.get("id")), "node": str(step.get("node")), "time": time}


def values_of(run: Run, trace: Trace) -> Values | None:
    """Return what each visit of a run wrote; None if no journal has kept it, or if that is damaged."""
    try:
        kept = run.written()
    except PflowError as error:
        say("pflow trace", f"warning: {error.message}")
        return None
    paths = visit_paths(trace["execution_trace"]).items()
    return None if kept is None else {number: kept.get(path, {}) for number, path in paths}


def store_with(trace: Trace) -> Trace:
    """Return a trace with the values of its final store that are known: what the run began with, and its `values`.

    A value that is not of its key's type and size is left out: a part of it was not kept.
    """
    known, values = Document(), trace.get("values") or {}
    injected = (trace["snapshot"] or {}).get("cli_injections", {})
    begun = {path: value for path, value in injected.items() if "$digest" not in str(value)[:9]}  # else too large
    visits = [visit for visit in trace["execution_trace"] if "outer" not in visit]
    for places, wrote in [((), begun), *((visit["write_keys"], values.get(visit["number"], {})) for visit in visits)]:
        with Ignoring(PflowError, ValueError):
            for place in places:
                if place not in wrote:
                    known.remove(parse_path(place)[:1])
            for path, value in wrote.items():
                known.put(parse_path(path), value)
    store = {key: {**shape} for key, shape in (trace["store"] or {}).items()}
    for key in store.keys() & known.keys():
        if known[key] == MASK or describe(known[key]).items() <= store[key].items():
            store[key]["value"] = known[key]
    return trace if trace["store"] is None else {**trace, "store": store}


def visit_paths(visits: Iterable[Visit]) -> dict[int, str]:
    """Return the path of each visit, by its number, as Run.written has it; inside an item of a batch it finds none."""
    paths: dict[int, str] = {}
    for visit in visits:
        scope = f"{paths[visit['outer']]}/" if "outer" in visit else ""
        paths[visit["number"]] = f"{scope}{visit['step'].rpartition('/')[2]}@{visit['visit']}"
    return paths


def _visits(events: list[Event], *, unfinished: str) -> tuple[list[Visit], dict[int, list[Event]]]:
    """Join each start of a step to its end; an end without a start is a visit of its own.

    Returns the visits, and the events of items by the numbers of their batches.
    """
    visits: list[Visit] = []
    items: dict[int, list[Event]] = {}
    latest: dict[tuple[str, str], int] = {}
    open_visits: dict[tuple[str, int, str, str], list[Visit]] = {}  # logs of old have no items: these share all four
    for event in events:
        if event["event"] == "resume":
            for visit in (visit for same in open_visits.values() for visit in same):
                visit["state"] = CUT
            open_visits.clear()
        if event["event"] not in ("start", "item", "end"):
            continue
        item = event.get("item", "")
        same = open_visits.setdefault((event["step"], event.get("visit", 1), event.get("lane", ""), item), [])
        if event["event"] == "item":
            for visit in same[:1]:
                _add_item(visit, event)
                items.setdefault(visit["number"], []).append(event)
            continue
        if event["event"] == "start" or not same:
            around = event["step"].rpartition("/")[0]
            outer = latest.get((around, item)) or latest.get((around, item.rpartition("/")[0]))
            visit = _begun(event, len(visits) + 1, outer)
            visit["state"] = unfinished
            latest[event["step"], item] = visit["number"]
            visits.append(visit)
            same.append(visit)
        if event["event"] == "end":
            _end(same.pop(0), event)
    return visits, items


def _begun(event: Event, number: int, outer: int | None) -> Visit:
    return {
        "number": number,
        "step": event["step"],
        "node": event["node"],
        "version": event.get("version", ""),
        "visit": event.get("visit", 1),
        "began": event["time"] - event.get("ms", 0.0) / 1000,
        "ms": None,
        "reads": {},
        "writes": {},
        "read_keys": [],
        "write_keys": [],
        **{name: event[name] for name in ("lane", "item") if name in event},
        **({"outer": outer} if outer else {}),
    }


def _add_item(visit: Visit, event: Event) -> None:
    """Count an item of a batch. At the end of the batch stands the usage of all of them."""
    usage = Usage(visit, event)
    counts = visit.setdefault("items", {"done": 0, "failed": 0})
    counts["failed" if "exit" in event else "done"] += 1
    visit.pop("model", None)
    visit.update(usage.members())


def _end(visit: Visit, event: Event) -> None:
    visit["state"] = FAILED if event.get("exit") else DONE
    visit["version"], visit["ms"] = event.get("version", ""), event.get("ms")
    for name in ("reads", "writes"):
        several = {key: value if isinstance(value, list) else [value] for key, value in event.get(name, {}).items()}
        places = {key: list(map(str, each)) for key, each in several.items()}
        visit[name] = places
        keys = [key for each in places.values() for place in each for key in _keys_in(place)]
        visit[f"{name[:-1]}_keys"] = list(dict.fromkeys(keys))
    visit.update({name: event[name] for name in MORE if name in event})


def _keys_in(place: str) -> list[str]:
    """Return a place of the store; of a flag, `--prompt (a.b, c)`, those that its templates refer to."""
    if not place.startswith("--"):
        return [place]
    return list(filter(None, place.partition(" (")[2].removesuffix(")").split(", ")))
