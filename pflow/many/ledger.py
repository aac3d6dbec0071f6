"""The ledger of a map: an SQLite file with a row for each item, which survives kill -9; a later map goes on with it."""

import os
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from pflow.errors import BAD_CONFIG, BAD_DATA, CANNOT_WRITE, MISSING, TRY_AGAIN, PflowError, not_written
from pflow.files.atomic import take_lock
from pflow.files.directories import make_private
from pflow.many.executor import BEGUN, DONE, TODO, Result
from pflow.process.children import holder
from pflow.values.digest import bytes_digest, digest_of
from pflow.values.jsontext import decode, encode
from pflow.words.naming import joined

_MARK = 0x70666C77
"""The application_id by which a file is known as a ledger."""

_COLUMNS = (
    "id, digest, position, status, exit, outputs, carried, error, tries, usage, ms, has_begun, pass, equals, time"
)
"""The columns of an item, in the order of an Entry."""

_TABLES = f"""
PRAGMA application_id = {_MARK};
CREATE TABLE IF NOT EXISTS map (about TEXT, pass INTEGER, began REAL, calls INTEGER, tokens INTEGER, cost REAL);
CREATE TABLE IF NOT EXISTS items (
  id TEXT PRIMARY KEY, digest TEXT, position INTEGER, status TEXT, exit INTEGER, outputs TEXT, carried TEXT, error TEXT,
  tries INTEGER, usage TEXT, ms REAL, has_begun INTEGER, pass INTEGER, equals INTEGER, time REAL,
  cost REAL AS (json_extract(usage, '$.cost')));
INSERT OR IGNORE INTO map (rowid, about, pass, calls, tokens, cost) VALUES (1, '{{}}', 0, 0, 0, 0);
"""

_SETTINGS = """
PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -16000;
CREATE TEMP TABLE files (digest TEXT PRIMARY KEY, id TEXT) WITHOUT ROWID;
"""

_SELECT = f"SELECT {_COLUMNS} FROM items"
_SAVE = (
    f"INSERT INTO items ({_COLUMNS}) VALUES ({', '.join('?' * len(_COLUMNS.split()))}) ON CONFLICT DO UPDATE SET"
    f" {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS.split(', ')[1:])}"
)


@dataclass
class Entry:
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
    def cost(self) -> float | None:
        return self.usage.get("cost")


class Ledger:
    """A ledger, open for one map, or for reading while a map goes on.

    `changed` counts the items of this pass that had ended with another input.
    """

    def __init__(self, path: str, *, is_read: bool = False) -> None:
        """Open a ledger; make it unless it `is_read`.

        Raises PflowError: 65 for any other file, 66 for a missing one, 73 or 77 if it cannot be written, 75 if another
        map has it.
        """
        self.path = path
        self.changed = 0
        self._is_read = is_read
        if os.path.exists(path) and not os.path.isfile(path):
            raise self._no_ledger()
        self._fd = -1 if is_read else self._lock()
        try:
            self._connect()
        except BaseException:
            self._release()
            raise

    def _connect(self) -> None:
        """Open the file with SQLite, if it is a ledger or empty, and make the tables."""
        where = f"file:{quote(os.fsencode(os.path.abspath(self.path)))}?mode={'ro' if self._is_read else 'rw'}"
        try:
            self._base = sqlite3.connect(where, uri=True, timeout=30)
            (mark,), (tables,) = map(self._one, ("PRAGMA application_id", "SELECT count(*) FROM sqlite_master"))
            if mark != _MARK and (tables or mark or self._is_read):
                raise self._no_ledger()
            if not self._is_read:
                self._base.executescript(f"BEGIN; {_TABLES} COMMIT; {_SETTINGS}")
        except sqlite3.Error as error:
            raise self._failure(error) from None
        self._pass = self._one("SELECT pass FROM map WHERE rowid = 1")[0]

    def _lock(self) -> int:
        """Make the file if it is missing, and lock it."""
        try:
            make_private(os.path.dirname(os.path.abspath(self.path)))
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
            take_lock(fd)
            if not os.fstat(fd).st_size:
                os.fchmod(fd, 0o600)  # SQLite gives -wal and -shm the same mode
            return fd
        except BlockingIOError:
            raise self._in_use() from None
        except OSError as error:
            raise not_written(f"cannot write the ledger '{self.path}'", error) from None

    def _failure(self, error: sqlite3.Error) -> PflowError:
        code, act = getattr(error, "sqlite_errorcode", 0) & 0xFF, "read" if self._is_read else "write"
        is_bad = code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
        exit = BAD_DATA if is_bad else MISSING if self._is_read else CANNOT_WRITE
        return PflowError(f"cannot {act} the ledger '{self.path}': {error}", exit=exit)

    def _no_ledger(self) -> PflowError:
        hint = "--ledger=FILE names a new file, or the ledger of an earlier map"
        return PflowError(f"cannot use '{self.path}': it is no ledger of pflow", hint=hint, exit=BAD_DATA)

    def _in_use(self) -> PflowError:
        who = holder(self.path) or "in this process"
        what = f"cannot use the ledger '{self.path}': another map has it: {who}"
        return PflowError(what, hint="try again when it has ended, or name another --ledger", exit=TRY_AGAIN)

    def rows(self, sql: str, values: Iterable[Any] = ()) -> Iterator[Any]:
        """Yield what a query finds. Raises PflowError."""
        try:
            yield from self._base.execute(sql, tuple(values))
        except sqlite3.Error as error:
            raise self._failure(error) from None

    def _one(self, sql: str, values: Iterable[Any] = ()) -> Any:
        return next(self.rows(sql, values), None)

    def begin(self, about: dict[str, Any], *, accepts_changes: bool = False) -> None:
        """Begin a pass over the items of a map. Raises PflowError (78) if an earlier one was `about` something else."""
        before = self._json(self._one("SELECT about FROM map WHERE rowid = 1")[0])
        others = [name for name in before if before[name] != about.get(name)]
        if others and not accepts_changes:
            what = f"cannot go on with the ledger '{self.path}': its map had other {joined(others)}"
            hint = "--accept-changes goes on anyway, another --ledger begins anew"
            raise PflowError(what, hint=hint, exit=BAD_CONFIG)
        self._pass += 1
        values = (encode(about).decode(), self._pass, round(time.time(), 3))
        self._one("UPDATE map SET about = ?, pass = ?, began = ? WHERE rowid = 1", values)
        self.commit()

    def claim(self, index: int, digest: str, id: str = "") -> Entry:
        """Return the entry of an item of this pass, which is to be done again if its input has changed.

        Without an id it is called DIGEST.N, the N-th of its equals. Raises PflowError (65) for an id that came before.
        """
        entry = self._get(id or f"{digest}.0") or Entry(id or f"{digest}.0", digest, index)
        if entry.pass_number == self._pass:
            if id:
                what = f"cannot map item {index}: item {entry.index} has the id '{id}' too"
                raise PflowError(what, hint="give each item an id of its own", exit=BAD_DATA)
            entry.equals += 1
            self._save(entry)
            name = f"{digest}.{entry.equals - 1}"
            entry = self._get(name) or Entry(name, digest, index)
        if entry.digest != digest:
            self.changed += entry.status != TODO
            entry = Entry(entry.id, digest, index)
        entry.index, entry.pass_number, entry.equals = index, self._pass, 1
        self._save(entry)
        return entry

    def start(self, id: str) -> None:
        """Note that an item begins a step that does not repeat; it survives kill -9 from here on."""
        entry = self._get(id)
        if entry is not None and entry.status != DONE:
            entry.status, entry.has_begun = BEGUN, True
            self._save(entry)
            self.commit()

    def end(self, id: str, result: Result) -> bool:
        """Keep the end of a try; return False if the item was done before, which changes nothing."""
        entry = self._get(id)
        if entry is None or entry.status == DONE:
            return False
        known = ("status", "exit", "outputs", "carried", "error", "usage", "ms")
        vars(entry).update({name: result[name] for name in known}, tries=entry.tries + 1, time=round(time.time(), 3))
        self._save(entry)
        return True

    def claim_file(self, id: str, digest: str) -> str:
        """Return the item of this pass that was the first to write a file, which its path's digest names."""
        self._one("INSERT OR IGNORE INTO files VALUES (?, ?)", (digest, id))
        return str(self._one("SELECT id FROM files WHERE digest = ?", (digest,))[0])

    def commit(self) -> None:
        """Make all that was noted survive kill -9."""
        try:
            self._base.commit()
        except sqlite3.Error as error:
            raise self._failure(error) from None

    def used(self) -> dict[str, float]:
        """Return the calls of models, their tokens and their cost over all maps."""
        found = self._one("SELECT calls, tokens, cost FROM map WHERE rowid = 1")
        return dict(zip(("calls", "tokens", "cost"), found, strict=True))

    def note_used(self, used: dict[str, float]) -> None:
        """Keep what `used` returns from now on."""
        values = (used["calls"], used["tokens"], used["cost"])
        self._one("UPDATE map SET calls = ?, tokens = ?, cost = ? WHERE rowid = 1", values)

    def counts(self) -> dict[str, int]:
        """Count the items of each status."""
        return dict(self.rows("SELECT status, count(*) FROM items GROUP BY status"))

    def find(self, word: str) -> Entry:
        """Return the item with this id, index (`17` or `#17`), or beginning of its id. Raises PflowError (66)."""
        number = word.removeprefix("#")
        index = int(number) if number.isdecimal() and len(number) < 19 else -1
        for where, value in (("id", word), ("position", index), (f"substr(id, 1, {len(word)})", word)):
            found = list(self.rows(f"{_SELECT} WHERE {where} = ? ORDER BY pass DESC LIMIT 2", (value,)))
            if len(found) == 1 or (found and where == "position"):
                return self._entry(found[0])
        why = "several ids begin so" if found else "the ledger has no such item"
        raise PflowError(f"cannot find the item '{word}': {why}", hint="an id, its beginning, or #INDEX", exit=MISSING)

    def entries(self, status: str = "") -> Iterator[Entry]:
        """Yield the items in their order, all or those of one status."""
        yield from map(self._entry, self.rows(f"{_SELECT} WHERE ? IN ('', status) ORDER BY position", (status,)))

    def close(self) -> None:
        """Commit, and leave one file without -wal and -shm."""
        if not self._is_read:
            self.commit()
            with suppress(sqlite3.Error):  # somebody reads it
                self._base.execute("PRAGMA journal_mode = DELETE")
        self._base.close()
        self._release()

    def _release(self) -> None:
        """Let others have the file, when SQLite has closed it: this ends its locks too."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _get(self, id: str) -> Entry | None:
        row = self._one(f"{_SELECT} WHERE id = ?", (id,))
        return row and self._entry(row)

    def _entry(self, row: tuple[Any, ...]) -> Entry:
        entry = Entry(*row)
        entry.outputs, entry.usage = self._json(row[5]), self._json(row[9])
        return entry

    def _json(self, text: str | None) -> Any:
        return None if text is None else decode(text.encode())

    def _save(self, entry: Entry) -> None:
        outputs = None if entry.outputs is None else encode(entry.outputs).decode()
        self._one(_SAVE, (vars(entry) | {"outputs": outputs, "usage": encode(entry.usage).decode()}).values())


def item_digest(item: Any, without: Collection[str] = ()) -> str:
    """Return 32 hex digits that name an item, without its secret members, on every machine. A bad item is an error."""
    if isinstance(item, PflowError):
        item = {"$bad": getattr(item, "text", item.message)}
    elif without and isinstance(item, dict):
        item = {name: value for name, value in item.items() if name not in without}
    return digest_of(item)[:32]


def share_of(id: str, count: int) -> int:
    """Return the shard of an item, 0 to `count` - 1, by its id or digest."""
    return int(bytes_digest(id.encode())[:16], 16) % count
