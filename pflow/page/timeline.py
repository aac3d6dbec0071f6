"""The rows of a page's timeline: a bar for each visit of a step, with its tries, and its items below."""

import heapq
from dataclasses import dataclass, field
from typing import Any

from pflow.page.axis import Axis
from pflow.record.events import Event
from pflow.record.run import DONE, RUNNING
from pflow.record.trace import Trace, Visit
from pflow.record.trace_text import facts_of
from pflow.text.printable import from_one
from pflow.usage.usage import amount
from pflow.values.jsontext import encode

MOST_ITEMS = 500
"""How many items of one batch are drawn; of more a sample is."""
PARTLY = "partly"
"""The state of a batch whose items did not all succeed, beside those of a visit."""
_HIGHEST = 160
_MOST_VALUES = 50_000
"""Characters that the values of all visits together may take on a page."""
_LONGEST_VALUE = 4000


@dataclass
class Access:
    """Where a value of a read came from, or that of a write went: `number` is the visit that wrote it, if any did."""

    key: str
    path: str
    number: int | None = None
    value: str | None = None


@dataclass
class Mark:
    """A moment of a bar, or an item: its place from 0 to 100, its width, its lane, its state and words about it."""

    left: float
    width: float
    state: str
    words: str
    lane: int = 0


@dataclass
class Row:
    """A visit: its bar from 0 to 100, how deep it is in flows, its reads and writes, and the items of a batch."""

    visit: Visit
    depth: int
    left: float
    width: float
    facts: list[str]
    reads: list[Access]
    writes: list[Access]
    tries: list[Mark]
    items: list[Mark] = field(default_factory=list)
    lanes: int = 0
    left_out: int = 0

    @property
    def height(self) -> int:
        """The pixels that its items take."""
        return min(self.lanes * 8, _HIGHEST)

    @property
    def state(self) -> str:
        if _is_cached(self.visit):
            return "cached"
        has_failures = (self.visit.get("items") or {}).get("failed") and self.visit["state"] == DONE
        return PARTLY if has_failures else str(self.visit["state"])

    @property
    def message(self) -> str:
        return str(self.visit.get("message", ""))


def rows_of(trace: Trace, axis: Axis, now: float, values: dict[int, dict[str, Any]]) -> list[Row]:
    """Return a row for each visit; `values` are what they wrote, by number and place, where that was kept."""
    writers: dict[tuple[Any, Any], dict[str, int]] = {}  # each flow within, and each of its items, has its own store
    depths = {0: -1}
    longest = min(_LONGEST_VALUE, _MOST_VALUES // max(sum(map(len, values.values())), 1))
    rows = []
    for visit in trace["execution_trace"]:
        number, kept = visit["number"], values.get(visit["number"], {})
        depths[number] = depths[visit.get("outer", 0)] + 1
        known = writers.setdefault((visit.get("outer"), visit.get("item")), {})
        left, width = axis.span(visit["began"], _end(visit, trace, now))
        row = Row(
            visit,
            depths[number],
            left,
            width,
            facts_of(visit, now),
            [Access(key, path, _writer(path, known)) for key, path in _places(visit["reads"], "given")],
            [Access(key, path, value=_text(kept, path, longest)) for key, path in _places(visit["writes"], "")],
            [_try(each, visit, axis) for each in visit.get("tried", ())],
        )
        shown = {place.path for place in row.writes}
        row.writes += [Access("", path, value=_text(kept, path, longest)) for path in kept if path not in shown]
        known |= dict.fromkeys(visit["write_keys"], number)
        _add_items(row, trace["batch_items"].get(number, []), axis)
        rows.append(row)
    return rows


def _is_cached(about: dict[str, Any]) -> bool:
    return bool(about.get("cache", {}).get("verdict") == "hit")


def _end(visit: Visit, trace: Trace, now: float) -> float:
    if visit["ms"] is not None:
        return float(visit["began"] + visit["ms"] / 1000)
    return now if visit["state"] == RUNNING else float(trace["last"])


def _places(said: dict[str, list[str]], otherwise: str) -> list[tuple[str, str]]:
    return [(key, path) for key, paths in said.items() for path in paths or [otherwise]]


def _writer(path: str, writers: dict[str, int]) -> int | None:
    """Return the visit that wrote a place, or what holds it, last."""
    while path and path not in writers:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return writers.get(path)


def _text(kept: dict[str, Any], path: str, longest: int) -> str | None:
    return shown(kept[path], longest) if path in kept else None


def shown(value: Any, longest: int = _LONGEST_VALUE) -> str:
    """Return a value as a person reads it: a text as it is, anything else as JSON; a long one is cut."""
    text = value if isinstance(value, str) else encode(value, escape=False).decode("utf-8", "backslashreplace")
    return text if len(text) <= longest else f"{text[:longest]}… +{len(text) - longest:,} characters"


def _try(said: dict[str, Any], visit: Visit, axis: Axis) -> Mark:
    ms = amount(said.get("ms")) or 0
    words = f"a try failed {ms:,.0f} ms after the beginning, with {said.get('exit')}: {said.get('message', '')}"
    return Mark(axis.at(visit["began"] + ms / 1000), 0, "failed", words)


def sample(things: list[Event], most: int) -> list[Event]:
    """Return at most so many of them, evenly chosen."""
    return things[:: -(-len(things) // most) or 1]


def _add_items(row: Row, items: list[Event], axis: Axis) -> None:
    """Draw the items of a batch in lanes, as many as worked at once."""
    failed = [each for each in items if "exit" in each][:MOST_ITEMS]
    chosen = failed + sample([each for each in items if "exit" not in each], MOST_ITEMS)
    busy: list[tuple[float, int]] = []
    for event in sorted(chosen, key=lambda event: event["time"] - event.get("ms", 0) / 1000):
        begin = event["time"] - event.get("ms", 0) / 1000
        lane = heapq.heappop(busy)[1] if busy and busy[0][0] <= begin + 1e-4 else len(busy)
        heapq.heappush(busy, (event["time"], lane))
        state = "failed" if "exit" in event else "cached" if _is_cached(event) else "done"
        words = [f"item {from_one(event.get('index', ''))}", f"{event.get('ms', 0):,.0f} ms"]
        words += [f"failed with {event['exit']}: {event.get('message', '')}"] if "exit" in event else []
        words += [f"tries {event['tries']}"] if "tries" in event else []
        row.items.append(Mark(*axis.span(begin, event["time"]), state, ", ".join(words), lane))
    row.lanes, row.left_out = len(busy), len(items) - len(chosen)
