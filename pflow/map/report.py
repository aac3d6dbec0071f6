"""Reports on a map: its progress while it runs, and the account of all its items, or of one, from its ledger."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from pflow.driver.progress import PERIOD, BatchProgress
from pflow.errors import shorten
from pflow.map.ledger import BEGUN, DONE, STATUSES, TODO, WHY_BEGUN, Ledger, LedgerEntry
from pflow.record.log import write_status
from pflow.record.runs import RUNNING, RecordedRun
from pflow.terminal import messages
from pflow.terminal.columns import duration, rough_time
from pflow.terminal.messages import say, write_stderr
from pflow.text.printable import clean
from pflow.values.jsontext import decode
from pflow.values.usage import usage_words

_OFTEN = 1.0
"""Seconds between two status files, and between two drawings of the line."""
_LONG = 10.0
"""A wait of so many seconds is written into a log at once."""

_FAILURE = "'exit', exit, 'message', error, 'count', count(*), 'number', min(position) + 1, 'id', id"
_QUERIES = {
    "failures": f"SELECT json_object('status', status, {_FAILURE}) FROM items WHERE status NOT IN ('{DONE}', '{TODO}')"
    " GROUP BY status, exit, error ORDER BY count(*) DESC, min(position) LIMIT 10",
    "slowest": "SELECT json_object('number', position + 1, 'id', id, 'ms', ms) FROM items ORDER BY ms DESC LIMIT 3",
}


class MapProgress(BatchProgress):
    """The progress of a map whose run has this `directory`; `form` is json, none or empty. -q shows nothing."""

    def __init__(
        self, directory: str, form: str, total: int | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__("map", total, clock(), 0)
        self.directory = directory
        self.clock = clock
        self.form = "" if messages.is_quiet or form == "none" else form or "line"
        self.is_drawn = self.form == "line" and os.isatty(2) and os.environ.get("TERM", "") not in ("", "dumb")
        self.due = self.begun
        self.said -= PERIOD if self.form == "json" else 0
        self.waits = self._told = ""
        self.begun_items = 0
        self.marks = deque([(self.begun, 0)])
        """The times of the last minute, and how many items had been run then."""

    def note(self, entry: LedgerEntry, is_new: bool) -> None:
        """Count an item that is settled; `is_new` if it was run just now."""
        self.done += 1
        self.before += not is_new
        self.failed += entry.status != DONE
        self.begun_items += entry.status != DONE and entry.has_begun
        self.usage.add(entry.usage if is_new else {})

    def rate(self, now: float) -> float:
        """Return how many items were run in a second, over the last minute."""
        began, before = self.marks[0]
        return (self.done - self.before - before) / max(now - began, 1e-9)

    def pace(self, now: float) -> list[str]:
        rate = self.rate(now)
        pace = [f"{rate * 60:,.0f}/min", *super().pace(now)] if rate else []
        return [*pace, self.waits] if self.waits else pace

    def show(self, what: str = "", seconds: float = 0) -> None:
        """Show how far the map is, if it is time for that, and `what` it waits for (`429 from HOST, next try in`)."""
        now = self.clock()
        is_due = now >= self.due
        self.waits = f"{what} {rough_time(seconds)}" if seconds else what
        if is_due:
            self.due = now + _OFTEN
            self.marks.append((now, self.done - self.before))
            while self.marks[1][0] <= now - PERIOD:
                self.marks.popleft()
            self._write_status()
        if self.is_drawn:
            if is_due or not messages.is_drawn:
                messages.draw_line("  ".join(self.words(now)))
        elif is_due and (now - self.said >= PERIOD or (seconds >= _LONG and what != self._told)):
            self.said, self._told = now, what
            self._say(now)

    def _say(self, now: float) -> None:
        if self.form == "json":
            left = self.left(now)
            pace = {"per_minute": round(self.rate(now) * 60, 1), "left_s": left and round(left)}
            about = {**self._counts(), "cost": self.usage.cost, **pace, "waits": self.waits or None}
            write_stderr(json.dumps({**about, "time": time.time()}) + "\n")
        elif self.form:
            say("pflow map", ", ".join(self.words(now)))

    def _counts(self) -> dict[str, int | None]:
        return {"done": self.done - self.failed, "failed": self.failed, "total": self.count}

    def _write_status(self) -> None:
        left = None if self.count is None else self.count - self.done
        counts = {**self._counts(), "begun": self.begun_items, "left": left, "usage": self.usage.total()}
        write_status(self.directory, {**counts, "time": time.time()})

    def finish(self) -> None:
        """Show the last counts."""
        messages.clear_line()
        self._write_status()
        self.waits = ""
        if self.form == "json":
            self._say(self.clock())


def map_report(run: RecordedRun) -> dict[str, Any]:
    """Return how many items ended how, the usage of each model, the most frequent failures, and the slowest items."""
    with closing(Ledger(run.ledger, is_read=True)) as ledger:
        found = {name: [decode(row[0].encode()) for row in ledger.rows(sql)] for name, sql in _QUERIES.items()}
        if run.status == RUNNING:  # an item without an exit code is under way, not failed
            found["failures"] = [each for each in found["failures"] if each["exit"] is not None]
        counts = {"items": run.items, "statuses": ledger.counts()}
        return {"ledger": run.ledger, **counts, "models": ledger.usages(run.id), **found}


def map_items(run: RecordedRun) -> Iterator[dict[str, Any]]:
    """Yield the items that ended since the map began: number, id, status, exit, message, began, ms, tries, calls."""
    with closing(Ledger(run.ledger, is_read=True)) as ledger:
        for entry in ledger.entries():
            if entry.status not in (TODO, BEGUN) and (entry.time or 0) >= run.begun:
                calls = [call for call in entry.calls() if call["began"] >= run.begun]
                about = {"number": entry.index + 1, "id": entry.id, "status": entry.status, "exit": entry.exit}
                times = {"began": min([entry.began, *(call["began"] for call in calls)]), "last": entry.time}
                yield {**about, "message": entry.error, **times, "tries": entry.tries, "calls": calls}


MOST_DOTS = 5000
"""How many items a page shows as dots: so many that failed, and as many others."""


def map_dots(run: RecordedRun) -> list[list[Any]]:
    """Return the number, end (in seconds), milliseconds and status of the items that ended since the map began.

    Of many it is a sample, with the slowest and those that failed.
    """
    with closing(Ledger(run.ledger, is_read=True)) as ledger:
        (count,) = ledger.one("SELECT count(*) FROM items WHERE time >= ?", (run.begun,))
        step = -(-count // MOST_DOTS) or 1
        sql, begun = "SELECT position + 1, time, ms, status FROM items WHERE time >= ? AND", (run.begun,)
        wanted = [f"status <> '{DONE}' ORDER BY position LIMIT {MOST_DOTS}", f"position % {step} = 0 LIMIT {MOST_DOTS}"]
        wanted.append("ms > 0 ORDER BY ms DESC LIMIT 3")
        rows = dict.fromkeys(row for each in wanted for row in ledger.rows(f"{sql} {each}", begun))
        return [list(row) for row in rows]


def map_text(run: str, report: dict[str, Any]) -> str:
    """Return a report for a person, with the commands to type after a failure."""
    statuses = {status: report["statuses"].get(status) for status in STATUSES}
    counts = ", ".join(f"{status} {count:,}" for status, count in statuses.items() if count)
    total = report["items"]["total"]
    lines = [f"items: {counts}" + (f" of {total:,}" if total else "")]
    lines += [f"model: {', '.join(usage_words(usage))}" for usage in report["models"]]
    for each in report["failures"]:
        how = f"{each['count']:,} {each['status']}" + (f" with {each['exit']}" if each["exit"] is not None else "")
        how += f": {shorten(each['message'] or WHY_BEGUN, 200)}"
        lines.append(f"{how}  (pflow why {run} {each['number']})")
    slowest = [f"#{each['number']} {duration(each['ms'])}" for each in report["slowest"] if each["ms"]]
    lines += [f"slowest: {', '.join(slowest)}"] if slowest else []
    return "".join(f"{clean(line)}\n" for line in lines)


def item_lines(run: RecordedRun, word: str) -> list[str]:
    """Return what is known of an item, by its id, the beginning of that, or its number. Raises PflowError (66)."""
    with closing(Ledger(run.ledger, is_read=True)) as ledger:
        entry = ledger.find(word)
    facts = [entry.status + (f" with {entry.exit}" if entry.exit else ""), f"tries {entry.tries}"]
    is_earlier = (entry.time or run.begun) < run.begun
    facts += [duration(entry.ms)] if entry.ms else []
    facts += ["in an earlier map"] if is_earlier else usage_words(entry.usage)
    is_left = entry.has_begun and entry.status != DONE
    how = "runs it" if entry.status == TODO else "--redo runs it again" if is_left else "--failed runs it again"
    again = f"pflow resume {run.id} {how}" if entry.status != DONE else ""
    said = f"warning: {entry.error}" if entry.status == DONE and entry.error else entry.error
    lines = [said, WHY_BEGUN if is_left else "", again]
    return [f"#{entry.index + 1} {entry.id}: {', '.join(facts)}", *(f"    {line}" for line in lines if line)]
