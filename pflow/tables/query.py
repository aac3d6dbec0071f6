"""An SQL query over rows, in an in-memory SQLite that can only read them."""

from __future__ import annotations

import resource
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pflow.errors import BAD_DATA, DENIED, NO_MEMORY, PflowError
from pflow.tables.rows import CONVERT, FLOAT, INT, Row, cell, columns_of, kind_of_texts

TABLE = "rows"
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_DENIED = {"load_extension"}
_PRAGMAS = ("table_info", "table_xinfo", "function_list", "collation_list", "compile_options", "pragma_list")
_TABLE_FUNCTIONS = ("json_each", "json_tree", "jsonb_each", "jsonb_tree", "generate_series")
"""What may stand in FROM besides: it reads its arguments, or what SQLite knows of itself."""
_MOST_ROWS = 1_000_000
_MOST_BYTES, _LONGEST = 1 << 30, 1 << 28
"""The most memory of a query, beside its rows, and of one value."""
_STEPS = 10_000
"""SQLite instructions between two checks for signals and time limits: a millisecond or less."""
_SOON = 0.05


class _Interrupted(Exception):
    """A callback ended the query."""


def query(rows: list[Row], sql: str) -> list[Row]:
    """Run a query and return its rows. Raises PflowError: 65 for an invalid query, 77 if it does more than read."""
    names = columns_of(rows)
    base = sqlite3.connect(":memory:", isolation_level=None)
    try:
        _fill(base, rows, names)
        watch = _Watch()
        _restrict(base, watch)
        return _run(base, sql, names, watch)
    except _Interrupted:
        if watch.is_over:
            hint = f"it may take {_MOST_BYTES >> 20:,} MB beside the rows"
            raise PflowError("cannot query: it takes too much memory", hint=hint, exit=NO_MEMORY) from None
        time.sleep(_SOON)  # meanwhile the signal comes again
        raise KeyboardInterrupt from None
    finally:
        base.close()
        sqlite3.enable_callback_tracebacks(False)


def _fill(base: sqlite3.Connection, rows: list[Row], names: list[str]) -> None:
    """Fill one table; empty values become NULL, and columns of numeric texts become numbers."""
    if not names:
        raise PflowError("cannot query: there are no rows", exit=BAD_DATA)
    columns = ", ".join(_quoted(name) for name in names)
    values = zip(*(_values([row.get(name) for row in rows]) for name in names), strict=True)
    try:
        base.execute("PRAGMA temp_store = MEMORY")
        base.execute(f"CREATE TABLE {TABLE} ({columns})")
        base.executemany(f"INSERT INTO {TABLE} VALUES ({', '.join('?' * len(names))})", values)
    except (sqlite3.Error, ValueError) as error:
        hint = "to SQL, 'a' and 'A' are one name: clean-data --rename=OLD=NEW" if "duplicate" in str(error) else ""
        raise PflowError(f"cannot query: {error}", hint=hint, exit=BAD_DATA) from None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _values(values: list[Any]) -> Iterator[Any]:
    distinct = {value for value in values if value.__class__ is str} - {""}
    kind = kind_of_texts(distinct) if {*map(type, values)} <= {str, type(None)} else ""
    if kind in (INT, FLOAT):
        numbers = {text: _value(CONVERT[kind](text)) for text in distinct}
        return map(numbers.get, values)
    return map(_value, values)


def _value(value: Any) -> Any:
    if value == "":
        return None
    if value is None or isinstance(value, str | float | bytes):
        return value
    if isinstance(value, int) and abs(value) < 1 << 63:
        return value
    return cell(value)


class _Watch:
    """Called repeatedly while a query runs: it lets signals and time limits in, and stops at the memory limit.

    SQLite asks `authorize` first what the query may do; if a signal comes in there, SQLite takes that for a no.
    """

    def __init__(self) -> None:
        self.limit = _peak_memory() + _MOST_BYTES
        self.is_over = False
        self.is_denied = False

    def __call__(self) -> bool:
        self.is_over = _peak_memory() > self.limit
        return self.is_over

    def authorize(self, action: int, one: str | None, two: str | None, base: str | None, within: str | None) -> int:
        if action in _READING or (action == sqlite3.SQLITE_PRAGMA and one in _PRAGMAS):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and str(two).lower() not in _DENIED:
            return sqlite3.SQLITE_OK
        self.is_denied = True
        return sqlite3.SQLITE_DENY


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _restrict(base: sqlite3.Connection, watch: _Watch) -> None:
    """Allow only reading from here on."""
    for name in (*_TABLE_FUNCTIONS, *(f"pragma_{name}" for name in _PRAGMAS)):
        with suppress(sqlite3.Error):  # this SQLite has no such function
            base.execute(f"SELECT 1 FROM {name}")  # its first use declares a table, which the authorizer would refuse
    base.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    base.set_authorizer(watch.authorize)
    sqlite3.enable_callback_tracebacks(True)  # reports a signal's exception in a callback, so it is sent again
    base.set_progress_handler(watch, _STEPS)


def _run(base: sqlite3.Connection, sql: str, names: list[str], watch: _Watch) -> list[Row]:
    try:
        found = base.execute(sql)
        columns = [column[0] for column in found.description or ()]
        values = found.fetchmany(_MOST_ROWS + 1)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        if "authoriz" in str(error) and not watch.is_denied:
            raise _Interrupted from None
        raise _failure(str(error), names) from None
    if not columns:
        raise _failure("it is not a query", names)
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        hint = "AS renames one of them"
        raise PflowError(f"cannot query: two columns are named '{twice}'", hint=hint, exit=BAD_DATA)
    if len(values) > _MOST_ROWS:
        hint = "LIMIT bounds them"
        raise PflowError(f"cannot query: it returns more than {_MOST_ROWS:,} rows", hint=hint, exit=BAD_DATA)
    return [dict(zip(columns, value, strict=True)) for value in values]


def _failure(why: str, names: list[str]) -> Exception:
    if why == "interrupted":
        return _Interrupted()
    if any(word in why for word in ("authoriz", "prohibited", "too many attached")):
        return PflowError("cannot query: it may only read the rows", hint="SELECT … FROM rows", exit=DENIED)
    shown = ", ".join(names[:20]) + ", …" * (len(names) > 20)
    return PflowError(f"cannot query: {why}", hint=f"the table is rows, its columns are {shown}", exit=BAD_DATA)
