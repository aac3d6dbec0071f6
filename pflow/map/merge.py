"""Shards: one map in several processes, each with a ledger of its own, and how these become one."""

import os
from contextlib import closing
from typing import Any

from pflow.errors import USAGE, PflowError
from pflow.map.ledger import Ledger
from pflow.map.states import DONE

_ADD = (
    "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = excluded.calls,"
    " tokens = excluded.tokens, cost = excluded.cost, usage = excluded.usage, seen = excluded.seen"
    " WHERE excluded.calls >= calls"
)
"""Adds what another ledger knows of a run, or brings it up to date if that was merged before."""


def parse_shard(text: str) -> tuple[int, int]:
    """Parse I/N, as in 1/4 to 4/4; return the shard from 0, and N. Raises PflowError (2)."""
    number, _, count = text.partition("/")
    if not (text.isascii() and number.isdecimal() and count.isdecimal() and 0 < int(number) <= int(count)):
        hint = "shards count from 1, as in 1/4 to 4/4; a task I that counts from 0 takes $((I + 1))/4"
        raise PflowError(f"cannot take --shard={text}: it is no share of a map", hint=hint, exit=USAGE)
    return int(number) - 1, int(count)


def merge(paths: list[str], output: str) -> dict[str, int]:
    """Unite ledgers in `output`, a new file or a ledger; count the items by status, and those that no ledger has.

    Either all are united or none. Raises PflowError: 78 if they are of different maps, others as Ledger does.
    """
    is_new = not os.path.exists(output)
    others = [path for path in paths if is_new or not os.path.samefile(path, output)]
    _check(others if is_new else [output, *others])
    with closing(Ledger(output)) as united:
        try:
            for path in others:
                with closing(Ledger(path, is_read=True)) as other:
                    _absorb(united, other)
            missing = united.one("SELECT max(position) + 1 - count(DISTINCT position) FROM items")[0]
            return united.counts() | ({"or more in none of the ledgers": missing} if missing else {})
        except BaseException:
            united.undo()
            if is_new:
                os.unlink(output)
            raise


def _check(paths: list[str]) -> None:
    """Raise PflowError (78) unless all ledgers are of the same map."""
    about: dict[str, Any] = {}
    for path in paths:
        with closing(Ledger(path, is_read=True)) as ledger:
            about = about or ledger.about()
            hint = "merge ledgers of the same flow with the same flags"
            ledger.expect(about, f"cannot merge '{path}' with '{paths[0]}'", hint)


def _absorb(united: Ledger, other: Ledger) -> None:
    """Add the items of another ledger; of two tries of an item the first that succeeded stays."""
    for entry in other.entries():
        own = united.get(entry.id) or entry
        best = min(own, entry, key=lambda each: (each.status != DONE, each.time or float("inf")))
        best.has_begun, best.tries = own.has_begun or entry.has_begun, max(own.tries, entry.tries)
        united.save(best)
    for row in other.runs():
        united.one(_ADD, row)
    values = other.one("SELECT about, pass FROM map WHERE rowid = 1")
    united.one("UPDATE map SET about = ?, pass = max(pass, ?) WHERE rowid = 1", values)
