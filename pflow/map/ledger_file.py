"""The file of a ledger: locked for one map, and written in transactions of SQLite, so that kill -9 loses none."""

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pflow.errors import BAD_DATA, CANNOT_WRITE, MISSING, TRY_AGAIN, Attempt, PflowError, not_written
from pflow.files.atomic import take_lock
from pflow.files.directories import is_on_network, make_private
from pflow.process.children import holder

_MARK = 0x70666C77
"""The application_id by which a file is known as a ledger."""

_TABLES = f"""
PRAGMA application_id = {_MARK};
CREATE TABLE IF NOT EXISTS map (
  id TEXT PRIMARY KEY, about TEXT, pass INTEGER, began REAL);
CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, calls INTEGER, tokens INTEGER, cost REAL, usage TEXT,
  seen TEXT);
CREATE TABLE IF NOT EXISTS items (
  id TEXT PRIMARY KEY, digest TEXT, position INTEGER, status TEXT, exit INTEGER, outputs TEXT, carried TEXT, error TEXT,
  tries INTEGER, usage TEXT, ms REAL, has_begun INTEGER, pass INTEGER, equals INTEGER, time REAL,
  cost REAL AS (json_extract(usage, '$.cost')));
INSERT OR IGNORE INTO map (rowid, id, about, pass) VALUES (1, lower(hex(randomblob(8))), '{{}}', 0);
"""
"""`map` has one row. `runs` has a row for each run of a map: `calls`, `tokens` and `cost` as the budget counts them,
`usage` as the items add up, and in `seen` the most that an answer of each model used."""

_PAUSE = 1.0
"""Seconds between two commits on a network file system, where each takes long."""

# A write-ahead log needs memory that all processes share; a network file system gives none (sqlite.org/wal.html).
_REMOTE_JOURNAL = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE;"
_SETTINGS = """
PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -16000;
CREATE TEMP TABLE files (digest TEXT PRIMARY KEY, id TEXT) WITHOUT ROWID;
"""


_BAD = (
    *(sqlite3.SQLITE_OK, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT),
    *(sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_NOTADB),
)
"""The codes of SQLite for data that is not ours. A text that it cannot decode has the code OK."""


class LedgerFile:
    """The tables of a ledger, open for one map, or for reading while a map goes on."""

    def __init__(self, path: str, *, is_read: bool = False) -> None:
        """Open a ledger; make it unless it `is_read`.

        Raises PflowError: 65 for any other file, 66 for a missing one, 73 or 77 if it cannot be written, 75 if another
        map has it.
        """
        self.path = path
        self._is_read = is_read
        self._is_remote = is_on_network(path)
        self._next_commit = 0.0
        act = f"cannot {'read' if is_read else 'write'} the ledger '{path}'"
        self._using = Attempt(act, self._failure, of=(sqlite3.Error, UnicodeDecodeError))
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
        where = f"{Path(self.path).absolute().as_uri()}?mode={'ro' if self._is_read and not self._is_torn() else 'rw'}"
        with self._using:
            self._base = sqlite3.connect(where, uri=True, timeout=1 if self._is_remote else 30)
            (mark,), (tables,) = map(self.one, ("PRAGMA application_id", "SELECT count(*) FROM sqlite_master"))
            if mark != _MARK and (tables or mark or self._is_read):
                raise self._no_ledger()
            if not self._is_read:
                journal = _REMOTE_JOURNAL if self._is_remote else "PRAGMA journal_mode = WAL;"
                self._base.executescript(
                    f"{journal} PRAGMA wal_checkpoint; BEGIN EXCLUSIVE; {_TABLES} COMMIT; {_SETTINGS}"
                )

    def _is_torn(self) -> bool:
        """Return True if a map was killed, so that SQLite must write to recover the file. Raises PflowError (65)."""
        beside = {end: self.path + end for end in ("-journal", "-wal", "-shm") if os.path.lexists(self.path + end)}
        for file in beside.values():
            if not os.path.isfile(file):
                raise PflowError(f"cannot use the ledger '{self.path}': '{file}' is not a regular file", exit=BAD_DATA)
        return "-journal" in beside or ("-wal" in beside and "-shm" not in beside)

    def _lock(self) -> int:
        """Make the file if it is missing, and lock it."""
        try:
            make_private(os.path.dirname(os.path.abspath(self.path)))
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
            if not self._is_remote:  # NFS makes flock(2) the same lock as fcntl's, which SQLite itself needs there
                take_lock(fd)
            if not os.fstat(fd).st_size:
                os.fchmod(fd, 0o600)  # SQLite gives -wal and -shm the same mode
            return fd
        except BlockingIOError:
            raise self._in_use() from None
        except OSError as error:
            raise not_written(f"cannot write the ledger '{self.path}'", error) from None

    def _failure(self, act: str, error: sqlite3.Error | ValueError) -> PflowError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_BUSY:
            return self._in_use()
        exit = BAD_DATA if code in _BAD else MISSING if self._is_read else CANNOT_WRITE
        return PflowError(f"{act}: {error}", exit=exit)

    def _no_ledger(self) -> PflowError:
        hint = "--ledger=FILE names a new file, or the ledger of an earlier map"
        return PflowError(f"cannot use '{self.path}': it is no ledger of pflow", hint=hint, exit=BAD_DATA)

    def _in_use(self) -> PflowError:
        what = f"cannot use the ledger '{self.path}': another map has it: {holder(self.path) or 'in this process'}"
        return PflowError(what, hint="try again when it has ended, or name another --ledger", exit=TRY_AGAIN)

    def rows(self, sql: str, values: Iterable[Any] = ()) -> Iterator[Any]:
        """Execute a statement, in a transaction if it writes; yield its rows. Raises PflowError (65, 66, 73, 75)."""
        with self._using:
            yield from self._base.execute(sql, tuple(values))

    def one(self, sql: str, values: Iterable[Any] = ()) -> Any:
        """Execute a statement; return its first row, or None."""
        return next(self.rows(sql, values), None)

    def commit(self, *, at_once: bool = False) -> None:
        """Make all that was noted survive kill -9; on a network file system once a second, unless `at_once`."""
        if self._is_remote and not at_once and time.monotonic() < self._next_commit:
            return
        self._next_commit = time.monotonic() + _PAUSE
        with self._using:
            self._base.commit()

    def undo(self) -> None:
        """Undo what is not committed."""
        self._base.rollback()

    def close(self) -> None:
        """Commit, move all into the file itself, and remove -wal and -shm unless another process reads the ledger."""
        try:
            if not self._is_read:
                self.commit(at_once=True)
                for act in ("busy_timeout = 1000", "wal_checkpoint(TRUNCATE)", "journal_mode = DELETE"):
                    with suppress(sqlite3.Error):
                        self._base.execute(f"PRAGMA {act}").fetchall()
        finally:
            self._base.close()
            self._release()

    def _release(self) -> None:
        """Close our descriptor and so our lock, after SQLite has closed its own.

        POSIX drops all locks of a process on a file when it closes any descriptor of that file (fcntl(2)).
        """
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
