"""The ledger of a map: an SQLite file with a row for each item, from which a later map goes on; and merging ledgers."""

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from pflow.errors import BAD_CONFIG, BAD_DATA, MISSING, USAGE, PflowError
from pflow.map.ledger_file import LedgerFile
from pflow.text.naming import joined
from pflow.values.digest import bytes_digest, digest_of
from pflow.values.fast_json import decode, encode
from pflow.values.usage import Usage, calls_in

DONE, FAILED, POISON, BEGUN, TODO = "done", "failed", "poison", "begun", "todo"
"""The states of an item. POISON: each process that worked on it died. BEGUN: it began a step that may not repeat, and
has no end.
"""

WHY_BEGUN = "a step of it has begun that does not repeat"
"""Why an item that has BEGUN does not run again."""

STATUSES = (DONE, FAILED, POISON, BEGUN, TODO)

Result = dict[str, Any]
"""The end of a try of an item: status, exit, outputs (by name), carried (the name of the one that the flow carries),
error (a message; a warning if the item is done), usage (`Usage.total`) and ms. A status of TODO stops the whole map,
with `exit`.
"""


def unfinished(status: str, exit: int, error: str) -> Result:
    """Return the result of a try that ended without one, such as that of a process that died."""
    return {"status": status, "exit": exit, "error": error, "outputs": None, "carried": "", "usage": {}, "ms": 0}


_COLUMNS = (
    "id, digest, position, status, exit, outputs, carried, error, tries, usage, ms, has_begun, pass, equals, time"
)
"""The columns of an item, in the order of a LedgerEntry."""

_SELECT = f"SELECT {_COLUMNS} FROM items"
_KINDS = {
    **dict.fromkeys(("id", "digest", "carried", "error", "usage"), "text"),
    **dict.fromkeys(("position", "tries", "has_begun", "pass", "equals"), "integer"),
    "outputs": "text, null",
    "exit": "integer, null",
    "ms": "real, integer, null",
    "time": "real, integer, null",
}
_STATES = """
WITH own AS (
  SELECT digest, iif(row_number() OVER (PARTITION BY id ORDER BY rowid) > 1, '', id) AS id FROM keys),
named AS (
  SELECT digest, iif(id = '', digest || '.' || (row_number() OVER (PARTITION BY digest, id) - 1), id) AS id FROM own)
SELECT ifnull(status, 'todo'), ifnull(tries, 0), ifnull(has_begun, 0), count(*)
FROM named LEFT JOIN items USING (id, digest) GROUP BY 1, 2, 3
"""
"""Looks up the states of the items in `keys`. An item without an id has the id DIGEST.N that `claim` would give it."""

_ANEW = "another --ledger begins anew"
_OBJECT = "CASE WHEN json_valid({0}) THEN json_type({0}) END = 'object'"
_SOUND = {
    "items": " AND ".join(
        [f"instr('{kinds}', typeof({name}))" for name, kinds in _KINDS.items()]
        + [f"status IN {STATUSES}", "(status <> 'done' OR outputs IS NOT NULL)", _OBJECT.format("usage")]
        + ["position BETWEEN 0 AND 1e15", "tries BETWEEN 0 AND 1e15", "ifnull(ms, 0) BETWEEN 0 AND 1e15"]
    ),
    "runs": " AND ".join(
        [f"typeof({name}) IN ('integer', 'real')" for name in ("calls", "tokens", "cost")]
        + ["json_valid(usage)", "NOT EXISTS (SELECT 1 FROM json_each(usage) WHERE type <> 'object')"]
        + [_OBJECT.format("seen"), "NOT EXISTS (SELECT 1 FROM json_each(seen) WHERE type <> 'object')"]
        + ["NOT EXISTS (SELECT 1 FROM json_tree(seen) WHERE type NOT IN ('object', 'integer', 'real'))"]
    ),
    "map": f"rowid > 1 OR (typeof(pass) = 'integer' AND {_OBJECT.format('about')})",
}
"""The condition that all rows of an intact table meet. Otherwise damaged fields would look like bugs, or like items
without outputs."""
_SAVE = (
    f"INSERT INTO items ({_COLUMNS}) VALUES ({', '.join('?' * len(_COLUMNS.split()))}) ON CONFLICT DO UPDATE SET"
    f" {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS.split(', ')[1:])}"
)


@dataclass
class LedgerEntry:
    """An item in a ledger; `index` is its position from 0 in the last map that had it, `tries` is over all maps."""

    id: str
    digest: str
    index: int
    status: str = TODO
    exit: int | None = None
    outputs: dict[str, Any] | None = None
    carried: str = ""
    error: str = ""
    tries: int = 0
    usage: dict[str, Any] = field(default_factory=dict)
    ms: float | None = None
    has_begun: bool = False
    pass_number: int = 0
    equals: int = 1
    time: float | None = None

    @property
    def began(self) -> float:
        """Return when its last try began."""
        return (self.time or 0) - (self.ms or 0) / 1000

    def calls(self) -> list[dict[str, Any]]:
        """Return the calls of models in all its tries."""
        return calls_in({**self.usage, "ms": self.ms or 0}, self.began)


class SameId(PflowError):
    """The fault of an item whose id an earlier one has."""


class Ledger(LedgerFile):
    """A ledger, open for one map, or for reading while a map goes on.

    `changed` counts the items of this pass that had ended with another input.
    """

    def __init__(self, path: str, *, is_read: bool = False) -> None:
        super().__init__(path, is_read=is_read)
        self.changed = 0
        self.run = ""
        self.usage: dict[str, Usage] = {}
        """What each model took in the map that is open, its resumes included."""
        for table in _SOUND:
            if row := self.one(f"SELECT CAST(id AS TEXT) FROM {table} WHERE ({_SOUND[table]}) IS NOT 1 LIMIT 1"):
                raise self._damaged(row[0], table)
        found = self.one("SELECT pass FROM map WHERE rowid = 1")
        if found is None:
            raise self._damaged("1", "map")
        self.passes = int(found[0])

    def begin(self, about: dict[str, Any], run: str = "", *, accepts_changes: bool = False) -> None:
        """Begin the pass of a run over the items of its map.

        Raises PflowError (78) if an earlier pass was `about` something else.
        """
        if not accepts_changes:
            self.expect(about)
        self.passes += 1
        values = (encode(about).decode(), self.passes, round(time.time(), 3))
        self.one("UPDATE map SET about = ?, pass = ?, began = ? WHERE rowid = 1", values)
        self.one("INSERT OR IGNORE INTO runs VALUES (?, 0, 0, 0, '[]', '{}')", (run,))
        self.run, self.usage = run, {each.get("model") or "": Usage(each) for each in self.usages(run)}
        self.commit(at_once=True)

    def about(self) -> dict[str, Any]:
        """Return what the maps of this ledger were about; empty before the first one."""
        about, id = self.one("SELECT about, id FROM map WHERE rowid = 1")
        return dict(self._json(about, id, "map"))

    def expect(self, about: dict[str, Any], act: str = "", hint: str = "") -> None:
        """Raise PflowError (78), which begins with `act`, if an earlier map was about something else."""
        act = act or f"cannot go on with the ledger '{self.path}'"
        hint = hint or f"--accept-changes goes on anyway, {_ANEW}"
        if others := [name for name, before in self.about().items() if before != about.get(name)]:
            raise PflowError(f"{act}: its map had other {joined(others)}", hint=hint, exit=BAD_CONFIG)

    def claim(self, index: int, digest: str, id: str = "") -> LedgerEntry:
        """Return the entry of an item of this pass, which is to be done again if its input has changed.

        Without an id it is called DIGEST.N, the N-th of its equals. Raises SameId (65) for an id that came before.
        """
        entry = self.get(id or f"{digest}.0") or LedgerEntry(id or f"{digest}.0", digest, index)
        if entry.pass_number == self.passes:
            if id:
                what = f"cannot map item {index + 1}: item {entry.index + 1} has the id '{id}' too"
                raise SameId(what, exit=BAD_DATA)
            entry.equals += 1
            self.save(entry)
            name = f"{digest}.{entry.equals - 1}"
            entry = self.get(name) or LedgerEntry(name, digest, index)
        if entry.digest != digest:
            self.changed += entry.status != TODO
            entry = LedgerEntry(entry.id, digest, index)
        entry.index, entry.pass_number, entry.equals = index, self.passes, 1
        self.save(entry)
        return entry

    def start(self, id: str) -> None:
        """Note that an item begins a step that does not repeat; it survives kill -9 from here on."""
        entry = self.get(id)
        if entry is not None and entry.status != DONE:
            entry.status, entry.has_begun = BEGUN, True
            self.save(entry)
            self.commit(at_once=True)

    def end(self, id: str, result: Result) -> LedgerEntry:
        """Keep the end of a try of an item of this pass, and return its entry."""
        entry = self.get(id)
        assert entry is not None
        earlier = entry.calls()
        vars(entry).update(result, tries=entry.tries + 1, time=round(time.time(), 3))
        if earlier:
            entry.usage = {**entry.usage, "asked": [*earlier, *entry.calls()]}
        self.save(entry)
        self.add_usage(entry.usage)
        return entry

    def add_usage(self, usage: dict[str, Any]) -> None:
        """Add what models took in a try of an item to what they took in the map that is open."""
        if usage.get("calls"):
            self.usage.setdefault(usage.get("model", ""), Usage()).add(usage)
            told = encode([{"model": None, **each.total()} for each in self.usage.values()]).decode()
            self.one("UPDATE runs SET usage = ? WHERE id = ?", (told, self.run))

    def claim_file(self, id: str, digest: str) -> str:
        """Return the item of this pass that was the first to write a file, which its path's digest names."""
        self.one("INSERT OR IGNORE INTO files VALUES (?, ?)", (digest, id))
        return str(self.one("SELECT id FROM files WHERE digest = ?", (digest,))[0])

    def runs(self, run: str = "") -> list[tuple[Any, ...]]:
        """Return the row of a run, or those of all maps, merged ledgers too."""
        return [*self.rows("SELECT * FROM runs WHERE ? IN ('', id)", (run,))]

    def used(self) -> dict[str, float]:
        """Return the calls of models, their tokens and their cost in the map that is open."""
        return dict(zip(("calls", "tokens", "cost"), self.runs(self.run)[0][1:], strict=False))

    def seen(self) -> dict[str, dict[str, float]]:
        """Return the most that an answer of each model has taken in the map that is open."""
        return dict(self._json(self.runs(self.run)[0][5], self.run, "runs"))

    def note_used(self, used: dict[str, float], seen: dict[str, dict[str, float]]) -> None:
        """Keep what the map that is open has used, and the most that an answer of each model has taken."""
        values = (used["calls"], used["tokens"], used["cost"], encode(seen).decode(), self.run)
        self.one("UPDATE runs SET calls = ?, tokens = ?, cost = ?, seen = ? WHERE id = ?", values)

    def usages(self, run: str) -> list[dict[str, Any]]:
        """Return what each model took in a run by the results of its items, each as `Usage.total`."""
        return [each for row in self.runs(run) for each in self._json(row[4], row[0], "runs")]

    def counts(self) -> dict[str, int]:
        """Count the items of each status."""
        return dict(self.rows("SELECT status, count(*) FROM items GROUP BY status"))

    def states(self, keys: Iterable[tuple[str, str]]) -> list[tuple[str, int, bool, int]]:
        """Return the states (status, tries, has_begun) of items of these digests and ids, and how many have each."""
        self.one("CREATE TEMP TABLE keys (digest TEXT, id TEXT)")  # a table, since there may be too many for memory
        for key in keys:
            self.one("INSERT INTO keys VALUES (?, ?)", key)
        found = list(self.rows(_STATES))
        self.one("DROP TABLE keys")
        return found

    def missed(self) -> int:
        """Count the items of earlier passes that are not done and not in this pass."""
        return int(self.one("SELECT count(*) FROM items WHERE pass < ? AND status <> 'done'", (self.passes,))[0])

    def find(self, word: str) -> LedgerEntry:
        """Return the item with this id, number from 1 (`17`, `#17`), or beginning of its id. Raises PflowError (66)."""
        number = word.removeprefix("#")
        index = int(number) - 1 if number.isdecimal() and len(number) < 19 else -1
        for where, value in (("id", word), ("position", index), (f"substr(id, 1, {len(word)})", word)):
            found = list(self.rows(f"{_SELECT} WHERE {where} = ? ORDER BY pass DESC LIMIT 2", (value,)))
            if len(found) == 1 or (found and where == "position"):
                return self._entry(found[0])
        why = "several ids begin so" if found else "the ledger has no such item"
        raise PflowError(f"cannot find the item '{word}': {why}", hint="an id, its beginning, or #NUMBER", exit=MISSING)

    def entries(self, status: str = "") -> Iterator[LedgerEntry]:
        """Yield the items in their order, all or those of one status."""
        yield from map(self._entry, self.rows(f"{_SELECT} WHERE ? IN ('', status) ORDER BY position", (status,)))

    def get(self, id: str) -> LedgerEntry | None:
        row = self.one(f"{_SELECT} WHERE id = ?", (id,))
        return row and self._entry(row)

    def _entry(self, row: tuple[Any, ...]) -> LedgerEntry:
        entry = LedgerEntry(*row)
        entry.outputs, entry.usage = self._json(row[5], entry.id), self._json(row[9], entry.id)
        known = {"": None, **entry.outputs} if isinstance(entry.outputs, dict) else {}
        if (entry.outputs is not None or entry.status == DONE) and entry.carried not in known:
            raise self._damaged(entry.id)
        return entry

    def _json(self, text: str | None, row: str, table: str = "items") -> Any:
        try:
            return None if text is None else decode(text.encode())
        except ValueError:
            raise self._damaged(row, table) from None

    def _damaged(self, row: str, table: str = "items") -> PflowError:
        what = f"cannot read the ledger '{self.path}': its row '{row}' of '{table}' is damaged"
        hint = f"sqlite3 {self.path} can delete the row; then its item runs again" if table == "items" else _ANEW
        return PflowError(what, hint=hint, exit=BAD_DATA)

    def save(self, entry: LedgerEntry) -> None:
        outputs = None if entry.outputs is None else encode(entry.outputs).decode()
        self.one(_SAVE, (vars(entry) | {"outputs": outputs, "usage": encode(entry.usage).decode()}).values())


def item_digest(item: Any, without: Collection[str] = ()) -> str:
    """Return a digest of an item (or a BadItem) of 32 hex digits, the same on every machine.

    `without` are the names of its secret members, which are left out.
    """
    if isinstance(item, PflowError):
        item = {"$bad": getattr(item, "text", item.message)}
    elif without and isinstance(item, dict):
        item = {name: value for name, value in item.items() if name not in without}
    return digest_of(item)[:32]


def share_of(id: str, count: int) -> int:
    """Return the shard of an item, 0 to `count` - 1, by its id or digest."""
    return int(bytes_digest(id.encode())[:16], 16) % count


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
