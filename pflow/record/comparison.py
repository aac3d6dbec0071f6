"""Comparing two runs: which part of its cache key made a step run again, and how the visits in two traces differ."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Any

from pflow.cache.key import SHORT, differences
from pflow.errors import PflowError
from pflow.record.log import FLOW, KEYS, Event, is_shape, read_events
from pflow.record.records import UNSOUND
from pflow.record.runs import RecordedRun, run_directories
from pflow.record.trace import Trace, TracedVisit
from pflow.terminal.columns import Colour, duration
from pflow.terminal.messages import say
from pflow.text.printable import clean, counted, from_one
from pflow.values.digest import digest_of
from pflow.values.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.cache.key import Facts

_MOST = 20
"""The most visits of a step that are explained; a batch may have thousands."""

_TIMES, _MS = 1.5, 10
"""Two durations differ if the longer is more than _TIMES the shorter, and more than _MS milliseconds above it."""


class StepKeys:
    """The cache keys of one step in a run; `events` has the key event of each visit or item by its path."""

    def __init__(self, run: RecordedRun, step: str) -> None:
        self.run = run
        self.events = {event["visit"]: event for event in _key_events(run) if step in (event["step"], event["visit"])}
        self._values: dict[str, Any] = {}

    def value(self, part: Facts) -> Any:
        """Return the value of a key's part, found by its digest in the run's snapshot or flow; `...` if unknown."""
        if "value" in part:
            return part["value"]
        if not self._values:
            self._values = {digest_of(value)[:SHORT]: value for value in _kept_values(self.run)}
        return self._values.get(str(part.get("path", part["digest"]))[:SHORT], ...)

    def nearest(self, event: Event) -> Event | None:
        """Return this run's key event of the same path, else the one that has the most key parts in common."""
        parts = _digests(event)
        same = self.events.get(event["visit"])
        return same or max(self.events.values(), key=lambda each: len(parts & _digests(each)), default=None)


def _digests(event: Event) -> set[tuple[str, str, str]]:
    return {(part["kind"], part["name"], part["digest"]) for part in event.get("parts", [])}


def _key_events(run: RecordedRun) -> list[Event]:
    events, warnings = read_events(run.read(KEYS))
    for warning in warnings:
        say("pflow why", f"warning: run {run.id}: {warning}")
    return [event for event in events if event["event"] == "key" and _is_sound(event)]


def _is_sound(event: Event) -> bool:
    """Return True if an event has all members that are shown."""
    parts = event.get("parts", [])
    return isinstance(parts, list) and all(map(_is_part, parts)) and "verdict" in event["cache"]


def _is_part(part: Any) -> bool:
    """Return True if a part of a key has its kind, name and digest; the type and size of its value are optional."""
    if not isinstance(part, dict) or not all(isinstance(part.get(name), str) for name in ("kind", "name", "digest")):
        return False
    return "size" not in part or is_shape(part)


def _kept_values(run: RecordedRun) -> Iterator[Any]:
    """Yield the values in a run's snapshot and in its flow, of all steps."""
    for values in [run.snapshot.get("cli_injections", {}), *run.snapshot.get("config_overrides", {}).values()]:
        yield from values.values()
    with suppress(*UNSOUND):  # with a damaged flow, only its values are missing from the lines
        for node in run.read_json(FLOW).get("nodes", ()):
            yield from [*node.get("params", {}).values(), *node.get("inputs", {}).values()]


def find_earlier(run: RecordedRun, step: str) -> StepKeys | None:
    """Return the step's keys in the newest run of the same flow before this one.

    Flows are the same if they have one name, or no name and the same wiring.
    """
    before = islice(dropwhile(lambda directory: directory != run.directory, run_directories()), 1, None)
    for directory in before:
        if not os.path.isfile(os.path.join(directory, KEYS)):
            continue
        other = RecordedRun(directory)
        is_same = other.name == run.name and (run.name != "flow" or other.flow_hash == run.flow_hash)
        if is_same and (visits := StepKeys(other, step)).events:
            return visits
    return None


def reasons(run: RecordedRun, step: str, against: RecordedRun | None) -> list[str]:
    """Return lines about each visit that missed the cache, and the number of hits. Raises PflowError (1)."""
    visits = StepKeys(run, step)
    if not visits.events:
        raise PflowError(f"cannot tell why '{step}' ran: no cached step of the run has this name", hint=_how(run))
    before = StepKeys(against, step) if against else find_earlier(run, step)
    hits = [event for event in visits.events.values() if event["cache"]["verdict"] == "hit"]
    others = [event for event in visits.events.values() if against or event not in hits]
    lines = [line for event in others[:_MOST] for line in _lines(visits, event, before)]
    lines += [f"and {len(others) - _MOST:,} more"] if len(others) > _MOST else []
    if hits and not against:
        lines.append(_hits_text(hits))
    return lines


def _how(run: RecordedRun) -> str:
    known = list(dict.fromkeys(event["step"] for event in _key_events(run)))
    return f"cached steps are {', '.join(known)}" if known else "--cache caches steps that are not pure"


def _label(visit: str) -> str:
    """Return the name of a visit for people: `check@2`, `check` for the first; an item by the start of its digest."""
    path, bracket, item = visit.partition("[")
    return path.replace("@1/", "/").removesuffix("@1") + bracket + (item[:8] + "]" if item else "")


def _hits_text(hits: list[Event]) -> str:
    runs = list(dict.fromkeys(event["of"] for event in hits if "of" in event))
    what = _label(hits[0]["visit"]) if len(hits) == 1 else f"{len(hits):,} visits"
    return f"{what}: hit" + (f", kept by the run {runs[0]}" if len(runs) == 1 else "")


def _lines(visits: StepKeys, event: Event, before: StepKeys | None) -> list[str]:
    """Return the verdict on a visit, and below it the changes."""
    verdict, why = event["cache"]["verdict"], event["cache"].get("why", "")
    if "parts" not in event:
        return [f"{_label(event['visit'])}: not cached: {why}"]
    head = f"{_label(event['visit'])}: {verdict}" + (f", not kept: {why}" if why else "")
    then = before.nearest(event) if before is not None else None
    if before is None or then is None or "parts" not in then:
        return [f"{head}; no earlier run of this flow has it"]
    changed = differences(event["parts"], then["parts"], visits.value, before.value)
    if not changed:
        changed = [_unchanged(event, then)]
    return [f"{head}, against the run {before.run.id}", *(f"    {line}" for line in changed)]


def _unchanged(event: Event, then: Event) -> str:
    """Return the reason why a step ran again although its key had not changed."""
    if event["cache"]["verdict"] == "hit":
        return "nothing changed"
    if event.get("refreshed"):
        return "nothing changed: --refresh ran it again"
    why = then["cache"].get("why")
    return f"nothing changed: that run did not keep it: {why}" if why else "nothing changed: the cache has lost it"


def compare_traces(one: Trace, other: Trace) -> dict[str, Any]:
    """Return the `runs`, the `steps` that differ, and how many visits are the `same`.

    Each of `steps` has its `visit` and the members that `differ`, with both values; null if a run has no such visit.
    """
    visits = [_by_name(trace["execution_trace"]) for trace in (one, other)]
    steps, keys = [], dict.fromkeys([*visits[0], *visits[1]])
    for step, visit in keys:
        pair = [_members(there.get((step, visit))) for there in visits]
        both = {name: [each[name] for each in pair] for name in pair[0]}
        if differing := {name: values for name, values in both.items() if _differ(name, *values)}:
            steps.append({"step": step, "visit": visit, "differ": differing})
    return {"runs": [_summary(trace) for trace in (one, other)], "steps": steps, "same": len(keys) - len(steps)}


def _by_name(visits: list[TracedVisit]) -> dict[tuple[str, int], TracedVisit]:
    """Return each visit by its step (with the item, if in a batch) and by its number among the visits of that name."""
    found: dict[tuple[str, int], TracedVisit] = {}
    counts: dict[str, int] = {}
    for each in visits:
        name = each["step"] + (f" item {from_one(each['item'])}" if "item" in each else "")
        counts[name] = counts.get(name, 0) + 1
        found[name, counts[name]] = each
    return found


def _summary(trace: Trace) -> dict[str, Any]:
    about = {name: trace[name] for name in ("run", "status", "exit", "ms")}
    about |= {"items": trace["map"]["statuses"]} if "map" in trace else {}
    return {**about, "cost": Usage(trace["usage"]).price()}


def _members(visit: TracedVisit | None) -> dict[str, Any]:
    """Return the members of a visit that are compared."""
    names = ("node", "version", "state", "action", "exit", "message", "ms", "tokens", "items", "tries")
    found: dict[str, Any] = {name: visit.get(name) if visit else None for name in names}
    found |= {name: visit[name] if visit else None for name in ("reads", "writes")}
    return {**found, "cost": (Usage(visit).price() or None) if visit else None}


def _differ(name: str, one: Any, other: Any) -> bool:
    if name != "ms" or one is None or other is None:
        return bool(one != other)
    return bool(abs(one - other) > _MS and max(one, other) > min(one, other) * _TIMES)


def difference_text(found: dict[str, Any], colour: Colour) -> str:
    """Return a difference for a person: the runs, and below each step the members that differ."""
    lines = [f"{sign} {_run_text(run)}" for sign, run in zip("-+", found["runs"], strict=True)]
    for each in found["steps"]:
        name = clean(each["step"]) + (f"  visit {each['visit']}" if each["visit"] > 1 else "")
        states = each["differ"].get("state", [""])
        if None in states:
            lines += ["", f"{'-+'[states[0] is None]} {colour.heading(name)}"]
            continue
        lines += ["", f"  {colour.heading(name)}"]
        lines += [f"    {member}: {' → '.join(_value_text(member, value) for value in values)}"
                  for member, values in each["differ"].items()]  # fmt: skip
    lines += ["", f"the same: {counted(found['same'], 'visit')}"] if found["same"] else []
    return "".join(f"{line}\n" for line in lines)


def _run_text(run: dict[str, Any]) -> str:
    items = ", ".join(f"{status} {count:,}" for status, count in run.get("items", {}).items())
    return clean("  ".join(filter(None, [run["run"], run["status"], _value_text("ms", run["ms"]), run["cost"], items])))


def _value_text(member: str, value: Any) -> str:
    if member == "ms" and value is not None:
        return duration(value)
    if isinstance(value, dict):
        parts = {key: " and ".join(each) if isinstance(each, list) else each for key, each in value.items()}
        value = ", ".join(
            f"{key} {each or 'given'}" if not each or member != "reads" else f"{key} from {each}"
            for key, each in parts.items()
        )
    return clean(str(value or "none"))
