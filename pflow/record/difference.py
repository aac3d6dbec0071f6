"""The difference of two traces: which steps took another time or cost, and read or wrote something else."""

from __future__ import annotations

from typing import Any

from pflow.record.trace import Trace, Visit
from pflow.terminal.columns import Colour, duration
from pflow.text.printable import clean, counted, from_one
from pflow.usage.usage import Usage

_TIMES, _MS = 1.5, 10
"""Times differ where one is so many times the other, and by so many milliseconds."""


def difference(one: Trace, other: Trace) -> dict[str, Any]:
    """Return the `runs`; the `steps` that differ, each with its `visit` and the members that `differ`, with both values
    (null where a run has no such visit); and how many visits are the `same`.
    """
    visits = [_by_name(trace["execution_trace"]) for trace in (one, other)]
    steps, keys = [], dict.fromkeys([*visits[0], *visits[1]])
    for step, visit in keys:
        pair = [_members(there.get((step, visit))) for there in visits]
        both = {name: [each[name] for each in pair] for name in pair[0]}
        if differing := {name: values for name, values in both.items() if _differ(name, *values)}:
            steps.append({"step": step, "visit": visit, "differ": differing})
    return {"runs": [_summary(trace) for trace in (one, other)], "steps": steps, "same": len(keys) - len(steps)}


def _by_name(visits: list[Visit]) -> dict[tuple[str, int], Visit]:
    """Return the visits by step, with the item of a batch around it, and number: of those that this step had."""
    found: dict[tuple[str, int], Visit] = {}
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


def _members(visit: Visit | None) -> dict[str, Any]:
    """Return what is compared of a visit."""
    names = ("node", "version", "state", "action", "exit", "message", "ms", "tokens", "items", "tries")
    found: dict[str, Any] = {name: visit.get(name) if visit else None for name in names}
    found |= {name: visit[name] if visit else None for name in ("reads", "writes")}
    return {**found, "cost": (Usage(visit).price() or None) if visit else None}


def _differ(name: str, one: Any, other: Any) -> bool:
    if name != "ms" or one is None or other is None:
        return bool(one != other)
    return bool(abs(one - other) > _MS and max(one, other) > min(one, other) * _TIMES)


def difference_text(found: dict[str, Any], colour: Colour) -> str:
    """Return a difference for a person: the runs, and below a step what differs in it."""
    lines = [f"{sign} {_told_run(run)}" for sign, run in zip("-+", found["runs"], strict=True)]
    for each in found["steps"]:
        name = clean(each["step"]) + (f"  visit {each['visit']}" if each["visit"] > 1 else "")
        states = each["differ"].get("state", [""])
        if None in states:
            lines += ["", f"{'-+'[states[0] is None]} {colour.heading(name)}"]
            continue
        lines += ["", f"  {colour.heading(name)}"]
        lines += [f"    {member}: {' → '.join(_told(member, value) for value in values)}"
                  for member, values in each["differ"].items()]  # fmt: skip
    lines += ["", f"the same: {counted(found['same'], 'visit')}"] if found["same"] else []
    return "".join(f"{line}\n" for line in lines)


def _told_run(run: dict[str, Any]) -> str:
    items = ", ".join(f"{status} {count:,}" for status, count in run.get("items", {}).items())
    return clean("  ".join(filter(None, [run["run"], run["status"], _told("ms", run["ms"]), run["cost"], items])))


def _told(member: str, value: Any) -> str:
    if member == "ms" and value is not None:
        return duration(value)
    if isinstance(value, dict):
        parts = {key: " and ".join(each) if isinstance(each, list) else each for key, each in value.items()}
        value = ", ".join(
            f"{key} {each or 'given'}" if not each or member != "reads" else f"{key} from {each}"
            for key, each in parts.items()
        )
    return clean(str(value or "none"))
