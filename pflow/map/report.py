"""What the ledger of a map tells, afterwards or while it goes: of all items, and of one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from pflow.errors import shorten
from pflow.map.ledger import Ledger
from pflow.map.states import BEGUN, DONE, STATUSES, TODO, WHY_BEGUN
from pflow.record.runs import RUNNING, Run
from pflow.terminal.columns import duration
from pflow.text.printable import clean
from pflow.values.jsontext import decode
from pflow.values.usage import usage_words

_FAILURE = "'exit', exit, 'message', error, 'count', count(*), 'number', min(position) + 1, 'id', id"
_QUERIES = {
    "failures": f"SELECT json_object('status', status, {_FAILURE}) FROM items WHERE status NOT IN ('{DONE}', '{TODO}')"
    " GROUP BY status, exit, error ORDER BY count(*) DESC, min(position) LIMIT 10",
    "slowest": "SELECT json_object('number', position + 1, 'id', id, 'ms', ms) FROM items ORDER BY ms DESC LIMIT 3",
}


def map_report(run: Run) -> dict[str, Any]:
    """Return how many items ended how, the usage of each model, the most frequent failures, and the slowest items."""
    with closing(Ledger(run.ledger, is_read=True)) as ledger:
        found = {name: [decode(row[0].encode()) for row in ledger.rows(sql)] for name, sql in _QUERIES.items()}
        if run.status == RUNNING:  # what has begun is under way
            found["failures"] = [each for each in found["failures"] if each["exit"] is not None]
        counts = {"items": run.items, "statuses": ledger.counts()}
        return {"ledger": run.ledger, **counts, "models": ledger.specs(run.id), **found}


def map_items(run: Run) -> Iterator[dict[str, Any]]:
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


def map_dots(run: Run) -> list[list[Any]]:
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
    """Return a report for a person, with what to type for a failure."""
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


def item_lines(run: Run, word: str) -> list[str]:
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
