"""The events in the bytes of a run's log: which are sound, and what they say of the run.

TAB lists runs by it, so this module stays lean.
"""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any, Iterable, Iterator
from pflow.errors import OVER_BUDGET
from pflow.values.jsontext import decode
from pflow.values.paths import UNITS
from pflow.words.budget import BUDGET
from pflow.words.usage import Usage

if TYPE_CHECKING:
    Event = dict[str, Any]
else:
    Event = dict


def read_events(data: bytes) -> tuple[list[Event], list[str]]:
    """Return the events in the bytes of a log, in order, and a warning for lines that were left out."""
    *lines, rest = data.split(b"\n")
    parsed = [parse_event(line) for line in lines]
    skipped = parsed.count(None) + bool(rest)
    warnings = [f"left out lines of the log that are torn or not events: {skipped}"] if skipped else []
    return [event for event in parsed if event is not None], warnings


def parse_event(line: bytes) -> Event | None:
    """Return the event in a line; None for anything that this pflow does not know."""
    try:
        event = decode(line)
    except ValueError:
        return None
    is_ours = isinstance(event, dict) and event.get("v") == 1 and isinstance(event.get("event"), str)
    return event if is_ours and is_sound(event) else None


_NEEDED = {
    "start": ("step", "node"),
    "end": ("step", "node"),
    "item": ("step",),
    "batch": ("step",),
    "key": ("step", "node", "visit", "cache"),
    "budget": ("used", "limits"),
}
_TYPES = {
    **dict.fromkeys(("step", "node", "lane", "item", "warning"), str),
    **dict.fromkeys(("reads", "writes", "tokens", "items", "usage", "cache", "error", "map", "store"), dict),
    **dict.fromkeys(("used", "limits", "seen"), dict),
    **dict.fromkeys(("steps", "exit", "failed_items", "index", "count"), int),
    **dict.fromkeys(("tried", "asked"), list),
}
_LATEST = 1e12
"""A moment in seconds, or a duration in ms, that no clock tells."""


def is_sound(event: Event) -> bool:
    """Return True if an event has all members of its kind, each of its type: a log may be damaged."""
    types = {**_TYPES, "time": int | float, "ms": int | float, "visit": str if event["event"] == "key" else int}
    is_whole = all(name in event for name in ("time", *_NEEDED.get(event["event"], ())))
    is_typed = all(isinstance(event[name], type) for name, type in types.items() if name in event)
    if not is_whole or not is_typed or max(abs(event["time"]), abs(event.get("ms", 0))) > _LATEST:
        return False
    are_sound = all(isinstance(each, dict) for name in ("tried", "asked") for each in event.get(name, ()))
    for amounts in (event.get("used", {}), event.get("limits", {}), *event.get("seen", {}).values()):
        are_sound &= isinstance(amounts, dict) and all(isinstance(each, int | float) for each in amounts.values())
    return are_sound and all(map(is_shape, event.get("store", {}).values()))


def is_shape(shape: Any) -> bool:
    """Return True for the type and size of a key in the store, as `describe` gives them."""
    if not isinstance(shape, dict) or not isinstance(shape.get("type"), str):
        return False
    return "size" not in shape or (shape["type"] in UNITS and isinstance(shape["size"], int))


def lines_back(log: bytes) -> Iterator[bytes]:
    """Yield the whole lines of a log, the last one first."""
    end = log.rfind(b"\n")
    while end >= 0:
        start = log.rfind(b"\n", 0, end)
        yield log[start + 1 : end]
        end = start


_END = b'{"v":1,"event":"end",'


def steps_done(log: bytes) -> Iterator[bytes]:
    """Yield the flow's own steps that succeeded. Only ends that may have failed are decoded: a log may be long."""
    for line in log.split(_END)[1:]:
        at, end = line.find(b'"step":"') + 8, line.find(b"\n")
        step = line[at : line.find(b'"', at)]
        has_failed = line.find(b'"exit":', 0, end) >= 0 and "exit" in first_event([_END + line[:end]])
        if end >= 0 and b"/" not in step and not has_failed:
            yield step


def missed_step(log: bytes) -> str:
    """Return the first step that was looked for in the cache, and ran; else ""."""
    at = log.find(b'"cache":{"verdict":"miss"')
    line = log[log.rfind(b"\n", 0, at) + 1 : log.find(b"\n", at)] if at >= 0 else b""
    return str(first_event([line]).get("step", ""))


_BUDGET = b'{"v":1,"event":"budget",'


def limits_reached(log: bytes, end: Event) -> list[str]:
    """Return the flags of the limits that ended a run, each to be given a higher one."""
    hint = str(end.get("error", {}).get("hint", ""))
    if end.get("exit") != OVER_BUDGET:
        return ["--max-visits=N"] if "--max-visits=" in hint else []
    at = log.rfind(_BUDGET)
    last = first_event([log[at : log.find(b"\n", at)]]) if at >= 0 else {}
    used, limits = last.get("used", {}), last.get("limits", {})
    flags = {name: f"--{flag.replace('_', '-')}" for name, flag in BUDGET.items()}
    reached = [name for name in flags if name in limits and used.get(name, 0) >= limits[name]]
    told = [name for name, flag in flags.items() if f"{flag} allows" in hint or f"{flag}=" in hint]
    return [f"{flag}=N" for name, flag in flags.items() if name in {*reached, *told}]


def usage_so_far(log: bytes) -> dict[str, Any]:
    """Return what models took in a run that has no end."""
    usage = Usage()
    for event in read_events(log)[0]:
        usage.add_event(event)
    return usage.total()


def first_event(lines: Iterable[bytes]) -> Event:
    return next((event for line in lines if (event := parse_event(line)) is not None), {})
