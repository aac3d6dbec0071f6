"""What the ledger of a map tells, afterwards or while it goes: of all items, and of one."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from typing import Any

from pflow.errors import shorten
from pflow.many.executor import BEGUN, DONE, FAILED, POISON, TODO
from pflow.many.ledger import Ledger
from pflow.record.runs import Run
from pflow.terminal.columns import duration
from pflow.words.printable import clean
from pflow.words.usage import Usage, usage_words

STATUSES = (DONE, FAILED, POISON, BEGUN, TODO)

_ENDED = f"FROM items WHERE status NOT IN ('{DONE}', '{TODO}') GROUP BY status, exit, error"
_FAILURES = f"SELECT status, exit, error, count(*) AS n, min(position), id {_ENDED} ORDER BY n DESC, 5 LIMIT 10"
_SLOWEST = "SELECT position, id, ms FROM items WHERE ms > 0 ORDER BY ms DESC LIMIT 3"
_PARTS = ("calls", "unpriced", "cost", "tokens.in", "tokens.out")
_SUMS = ", ".join(f"sum(json_extract(usage, '$.{part}'))" for part in _PARTS)
_MODELS = f"SELECT json_extract(usage, '$.model'), {_SUMS} FROM items GROUP BY 1"


def map_report(run: Run) -> dict[str, Any]:
    """Return the items by status, the usage of each model, the most frequent failures, and the slowest items."""
    with closing(Ledger(run.ledger, is_read=True)) as ledger:
        return {
            "ledger": run.ledger,
            "items": run.items,
            "statuses": ledger.counts(),
            "models": [usage.total() for row in ledger.rows(_MODELS) if (usage := _usage(*row)).calls],
            "failures": _dicts(("status", "exit", "message", "count", "number", "id"), ledger.rows(_FAILURES)),
            "slowest": _dicts(("number", "id", "ms"), ledger.rows(_SLOWEST)),
        }


def _dicts(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def _usage(model: str, calls: int, unpriced: int, cost: float | None, read: int, written: int) -> Usage:
    usage = Usage()
    about = {"model": model, "calls": calls, "unpriced": unpriced, "cost": cost}
    usage.add({**about, "tokens": {"in": read, "out": written}} if calls else {})
    return usage


def map_text(run: str, report: dict[str, Any]) -> str:
    """Return a report for a person, with what to type for a failure."""
    statuses = {status: report["statuses"].get(status) for status in STATUSES}
    counts = ", ".join(f"{status} {count:,}" for status, count in statuses.items() if count)
    total = report["items"]["total"]
    lines = [f"items: {counts}" + (f" of {total:,}" if total else "")]
    lines += [f"model: {', '.join(usage_words(usage))}" for usage in report["models"]]
    for each in report["failures"]:
        how = f"{each['count']:,} {each['status']} with {each['exit']}: {shorten(each['message'], 200)}"
        lines.append(f"{how}  (pflow why {run} {each['number']})")
    slowest = ", ".join(f"#{each['number']} {duration(each['ms'])}" for each in report["slowest"])
    lines += [f"slowest: {slowest}"] * bool(slowest)
    return "".join(f"{clean(line)}\n" for line in lines)


def item_lines(run: Run, word: str) -> list[str]:
    """Return what is known of an item, by its id, the beginning of that, or its number. Raises PflowError (66)."""
    with closing(Ledger(run.ledger, is_read=True)) as ledger:
        entry = ledger.find(word)
    facts = [entry.status + (f" with {entry.exit}" if entry.exit else ""), f"tries {entry.tries}"]
    facts += ([duration(entry.ms)] if entry.ms else []) + usage_words(entry.usage)
    is_left = entry.has_begun and entry.status != DONE
    how = "runs it" if entry.status == TODO else "--redo runs it again" if is_left else "--failed runs it again"
    begun, again = "a step of it has begun that does not repeat", f"pflow resume {run.id} {how}"
    lines = [entry.error, begun * is_left, again * (entry.status != DONE)]
    return [f"#{entry.index} {entry.id}: {', '.join(facts)}", *(f"    {line}" for line in lines if line)]
