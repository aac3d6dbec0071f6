"""The trace of a run, or of a store that came through a pipe: as data, and as text with a block for each visit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pflow.errors import Ignoring, PflowError, shorten
from pflow.record.log import Event, is_sound
from pflow.record.runs import DONE, FAILED, FINISHED, KILLED, RUNNING, RecordedRun, time_of
from pflow.stage.document import Document
from pflow.terminal.columns import PLAIN, Colour, duration
from pflow.terminal.messages import say
from pflow.text.printable import clean, from_one
from pflow.values.jsontext import encode
from pflow.values.paths import describe, parse_path, size_text
from pflow.values.secrets import MASK
from pflow.values.usage import MEMBERS, Usage, usage_words

Trace = dict[str, Any]
"""run, flow {name, hash} (None for a document), status, exit, began, last (the last known moment; both in seconds), ms
(None while it runs), resumed (how often), error {step, node, exit, message} or empty, usage (of all models together, as
Usage.total), snapshot, next (commands to type), execution_trace, batch_items, store and events.

`traceparent` is the run's own span in a wider trace, `parent` the span that began it. `store` gives for each key of the
final store its type and size, and its value if that was kept; it is None if the run has no end. `execution_trace` has
each visit of a step, in the order in which they began. `batch_items` gives the events of a batch's items by the number
of its visit; it is not printed, since `events` has them too.
"""

TracedVisit = dict[str, Any]
"""number (in the trace), step, node, version, visit (the step's first, second …), state, began (seconds), ms (None
without an end), reads and writes (the places of each), read_keys and write_keys (every place once). Some visits have
lane (the branch of a fork), item (of the batch around it), outer (the number of the visit around it), and some of
OPTIONAL_MEMBERS."""

WrittenValues = dict[int, dict[str, Any]]
"""The values that each visit wrote, by its number, then by place; the mask for a value with a secret in it."""

CUT = "cut"
"""The state of a visit whose process has ended before it did. The other states are those of a run."""

OPTIONAL_MEMBERS = (
    "pack", "action", "exit", "message", *MEMBERS, "tries", "tried", "asked", "items", "cache", "dry", "skipped",
    "warning",
)  # fmt: skip

_LONGEST = 1000


def trace_of_run(run: RecordedRun, events: list[Event]) -> Trace:
    """Return the trace of a run, from its events."""
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
    """Return the trace of the stages that a store has passed; its header has durations, no times."""
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
    """Return True if an entry of a header has our form: another JSON tool may have changed it."""
    return isinstance(step, dict) and is_sound(_event_of(step, 0.0))


def _event_of(step: dict[str, Any], time: float) -> Event:
    return {**step, "event": "end", "step": str(step.get("id")), "node": str(step.get("node")), "time": time}


def values_of(run: RecordedRun, trace: Trace) -> WrittenValues | None:
    """Return the values that each visit of a run wrote; None if the journal is missing or damaged."""
    try:
        kept = run.written()
    except PflowError as error:
        say("pflow trace", f"warning: {error.message}")
        return None
    paths = visit_paths(trace["execution_trace"]).items()
    return None if kept is None else {number: kept.get(path, {}) for number, path in paths}


def store_with(trace: Trace) -> Trace:
    """Return the trace with the known values in its final store: the values it began with, and those its visits wrote.

    A value is left out if its type or size is not the one recorded for its key: then only a part of it was kept.
    """
    known, values = Document(), trace.get("values") or {}
    injected = (trace["snapshot"] or {}).get("cli_injections", {})
    # Of a value that was too large, the snapshot has only a digest.
    begun = {path: value for path, value in injected.items() if "$digest" not in str(value)[:9]}
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


def visit_paths(visits: Iterable[TracedVisit]) -> dict[int, str]:
    """Return the path of each visit by its number. They are the paths of RecordedRun.written, except inside items."""
    paths: dict[int, str] = {}
    for visit in visits:
        scope = f"{paths[visit['outer']]}/" if "outer" in visit else ""
        paths[visit["number"]] = f"{scope}{visit['step'].rpartition('/')[2]}@{visit['visit']}"
    return paths


def _visits(events: list[Event], *, unfinished: str) -> tuple[list[TracedVisit], dict[int, list[Event]]]:
    """Return the visits, each from the start and the end of a step, and the events of items by the numbers of batches.

    An end without a start is a visit of its own: the header of a document has only ends.
    """
    visits: list[TracedVisit] = []
    items: dict[int, list[Event]] = {}
    latest: dict[tuple[str, str], int] = {}
    # Old logs name no items, so that the visits in several items have one key here.
    open_visits: dict[tuple[str, int, str, str], list[TracedVisit]] = {}
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


def _begun(event: Event, number: int, outer: int | None) -> TracedVisit:
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


def _add_item(visit: TracedVisit, event: Event) -> None:
    """Count an item of a batch. Its usage is added until the batch ends: that event has the sum of all items."""
    usage = Usage(visit, event)
    counts = visit.setdefault("items", {"done": 0, "failed": 0})
    counts["failed" if "exit" in event else "done"] += 1
    visit.pop("model", None)
    visit.update(usage.members())


def _end(visit: TracedVisit, event: Event) -> None:
    visit["state"] = FAILED if event.get("exit") else DONE
    visit["version"], visit["ms"] = event.get("version", ""), event.get("ms")
    for name in ("reads", "writes"):
        several = {key: value if isinstance(value, list) else [value] for key, value in event.get(name, {}).items()}
        places = {key: list(map(str, each)) for key, each in several.items()}
        visit[name] = places
        keys = [key for each in places.values() for place in each for key in _keys_in(place)]
        visit[f"{name[:-1]}_keys"] = list(dict.fromkeys(keys))
    visit.update({name: event[name] for name in OPTIONAL_MEMBERS if name in event})


def _keys_in(place: str) -> list[str]:
    """Return a place as a list of one; for a flag, such as `--prompt (a.b, c)`, return the places in its template."""
    if not place.startswith("--"):
        return [place]
    return list(filter(None, place.partition(" (")[2].removesuffix(")").split(", ")))


def trace_text(trace: Trace, *, now: float, with_store: bool, colour: Colour = PLAIN) -> bytes:
    """Return a block for each visit of a step, the failure, the status of a run, and the store if wanted."""
    visits, error = trace["execution_trace"], trace["error"]
    depths = {0: -1}
    blocks = []
    for visit in visits:
        depths[visit["number"]] = depth = depths[visit.get("outer", 0)] + 1
        lines = _lines_of_visit(visit, now, colour)
        if "message" in visit and visit["message"] != error.get("message"):
            lines.append(f"    {colour.fault('✗')} {clean(str(visit['message']))}")
        blocks.append("".join("    " * depth + line + "\n" for line in lines))
    if error:
        words = clean(f"{error.get('step')} (exit {error.get('exit')}): {error.get('message')}")
        blocks.append(f"{colour.fault('failed:')} {words}\n")
    if trace["flow"]:
        paint = {DONE: colour.good, RUNNING: colour.warning}.get(trace["status"], colour.fault)
        words = clean(f"run {trace['run']} ({trace['flow']['name']})")
        used = clean("".join(f", {each}" for each in usage_words(trace["usage"])))
        blocks.append(f"{words}: {paint(status_text(trace, now))}{_resumed(trace)}{used}\n")
    elif len(visits) > 1 and trace["usage"]:
        blocks.append(clean(f"in all: {', '.join(usage_words(trace['usage']))}") + "\n")
    if with_store:
        blocks.append(_store(trace["store"]))
    return "\n".join(blocks if visits or trace["flow"] else ["no step has run\n", *blocks]).encode()


def _lines_of_visit(visit: TracedVisit, now: float, colour: Colour) -> list[str]:
    heading = colour.heading(clean(f"[{visit['number']}] {visit['step']} ({visit['node']})"))
    lines = [f"{heading}  {clean(', '.join(facts_of(visit, now)))}".rstrip()]
    reads = [
        f"{key} from {' and '.join(places)}" if places else f"{key} given" for key, places in visit["reads"].items()
    ]
    if reads:
        lines.append(f"    {colour.dim('← reads:')} {clean(', '.join(reads))}")
    if visit["write_keys"]:
        lines.append(f"    {colour.dim('→ writes:')} {clean(', '.join(visit['write_keys']))}")
    return lines


def facts_of(visit: TracedVisit, now: float) -> list[str]:
    """Return the facts of a visit, except its reads and writes: time, action, exit code, usage, tries, items, cache."""
    facts = [_took(visit, now)]
    facts += [f"visit {visit['visit']}"] if visit["visit"] > 1 else []
    facts += [f"branch {visit['lane']}"] if "lane" in visit else []
    facts += [f"item {from_one(visit['item'])}"] if "item" in visit else []
    facts += [_fact(name, visit[name]) for name in ("action", "exit") if name in visit]
    facts += usage_words(visit)
    facts += [f"tries {len(visit['tried']) + 1}"] if "tried" in visit and "tries" not in visit else []
    facts += [_fact(name, visit[name]) for name in ("tries", "items", "dry", "skipped") if name in visit]
    facts += [f"warning: {visit['warning']}"] if "warning" in visit else []
    return [*filter(None, facts), *_of_cache(visit.get("cache"))]


def _of_cache(said: Any) -> list[str]:
    """Return `cached`, or the reason why a step was not cached."""
    if not isinstance(said, dict):
        return []
    return ["cached"] if said.get("verdict") == "hit" else [f"not cached: {said['why']}"] if said.get("why") else []


def _took(visit: TracedVisit, now: float) -> str:
    if visit["state"] == RUNNING:
        return f"running for {duration(max(0.0, now - visit['began']) * 1000)}"
    if visit["state"] == CUT:
        return "did not end"
    return "" if visit["ms"] is None else duration(visit["ms"])


def _fact(name: str, value: Any) -> str:
    """Return `exit 66`, `items done 9 failed 1`, `dry`."""
    if isinstance(value, dict):
        value = " ".join(f"{key} {count}" for key, count in value.items())
    return name if value is True else f"{name} {value}"


def status_text(trace: Trace, now: float) -> str:
    """Return how a run ended, and after how long."""
    if trace["status"] == RUNNING:
        return f"running for {duration(max(0.0, now - trace['began']) * 1000)}"
    if trace["status"] == KILLED:  # a killed process writes no end
        return f"killed, its last event after {duration(trace['ms'])}"
    how = f"failed with {trace['exit']}" if trace["status"] == FAILED else trace["status"]
    return how if trace["ms"] is None else f"{how} after {duration(trace['ms'])}"


def _resumed(trace: Trace) -> str:
    count = trace["resumed"]
    return f", resumed {count} times" if count > 1 else ", resumed" if count else ""


def _store(store: dict[str, Any] | None) -> str:
    """Return a line for each key of a trace's store: `response: str, 12 characters: "It is fine."`."""
    if store is None:
        return "the store is known when the run has ended\n"
    lines = [f"    {key}: {_shape(shape)}" for key, shape in store.items()]
    return "".join(clean(line) + "\n" for line in ["the store" if lines else "the store is empty", *lines])


def _shape(shape: dict[str, Any]) -> str:
    text = str(shape["type"])
    if "size" in shape:
        text += f", {size_text(text, shape['size'])}"
    if "value" not in shape:
        return text
    return f"{text}: {shorten(str(encode(shape['value']), 'utf-8'), _LONGEST)}"
