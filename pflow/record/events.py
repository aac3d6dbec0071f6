"""The events in the bytes of a run's log: which are sound, and what they say of the run.

TAB lists runs by it, so this module stays lean.
"""

from __future__ import annotations

from pflow import TYPE_CHECKING, Any
from pflow.errors import result_of
from pflow.values.jsontext import decode
from pflow.values.paths import UNITS

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
    event: Any = result_of(decode, line, of=ValueError, otherwise=None)
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
