"""One SQL query over rows, in a SQLite in memory that can do nothing but read them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from typing import Any

from pflow.errors import BAD_DATA, DENIED, NO_MEMORY, PflowError
from pflow.tables.kinds import CONVERT, FLOAT, INT, kind_of_texts
from pflow.tables.rows import Row, cell, columns_of

TABLE = "rows"
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_DENIED = {"load_extension"}
_MOST_ROWS = 1_000_000
_MOST_BYTES = 1 << 30
"""What a query may take beside the rows."""
_STEPS = 10_000
"""Instructions of SQLite between two looks at signals and time limits: a millisecond or less."""
_SOON = 0.05


def query(rows: list[Row], sql: str) -> list[Row]:
    """What a query gives. Raises PflowError: 65 for what is no query, 77 for one that does more than read."""
    names = columns_of(rows)
    base = sqlite3.connect(":memory:", isolation_level=None)
    try:
        _fill(base, rows, names)
        _restrict(base)
        return _run(base, sql, names)
    finally:
        base.close()
        sqlite3.enable_callback_tracebacks(False)


def _fill(base: sqlite3.Connection, rows: list[Row], names: list[str]) -> None:
    """One table, a column for each name; what is empty is NULL, and columns of texts that are numbers are numbers."""
    if not names:
        raise PflowError("cannot query: there are no rows", exit=BAD_DATA)
    columns = ", ".join(_quoted(name) for name in names)
    try:
        base.execute("PRAGMA temp_store = MEMORY")
        base.execute(f"CREATE TABLE {TABLE} ({columns})")
    except sqlite3.Error as error:
        hint = "SQL takes 'a' and 'A' for one name: clean-data --rename=OLD=NEW"
        raise PflowError(f"cannot query: {error}", hint=hint, exit=BAD_DATA) from None
    values = zip(*(_values([row.get(name) for row in rows]) for name in names), strict=True)
    base.executemany(f"INSERT INTO {TABLE} VALUES ({', '.join('?' * len(names))})", values)


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


def _restrict(base: sqlite3.Connection) -> None:
    """Nothing but reading from here on, and so that a signal or a time limit ends a query that does not."""
    base.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    used = base.execute("PRAGMA page_count").fetchone()[0] * base.execute("PRAGMA page_size").fetchone()[0]
    base.execute(f"PRAGMA hard_heap_limit = {2 * used + _MOST_BYTES}")
    base.set_authorizer(_authorize)
    sqlite3.enable_callback_tracebacks(True)  # so that what is raised in a callback is told, and sent again
    base.set_progress_handler(lambda: 0, _STEPS)


def _authorize(action: int, one: str | None, two: str | None, base: str | None, within: str | None) -> int:
    if action in _READING or (action == sqlite3.SQLITE_FUNCTION and str(two).lower() not in _DENIED):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _run(base: sqlite3.Connection, sql: str, names: list[str]) -> list[Row]:
    try:
        found = base.execute(sql)
        columns = [column[0] for column in found.description or ()]
        values = found.fetchmany(_MOST_ROWS + 1)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        raise _failure(str(error), names) from None
    except MemoryError:
        raise PflowError("cannot query: it takes more than 1 GB of memory", exit=NO_MEMORY) from None
    if not columns:
        raise _failure("it is no query", names)
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        hint = "AS gives one of them another name"
        raise PflowError(f"cannot query: two columns are called '{twice}'", hint=hint, exit=BAD_DATA)
    if len(values) > _MOST_ROWS:
        hint = "LIMIT bounds them"
        raise PflowError(f"cannot query: it gives more than {_MOST_ROWS:,} rows", hint=hint, exit=BAD_DATA)
    return [dict(zip(columns, value, strict=True)) for value in values]


def _failure(why: str, names: list[str]) -> PflowError:
    if why == "interrupted":
        time.sleep(_SOON)  # the signal comes again
        raise KeyboardInterrupt
    if "not authorized" in why or "prohibited" in why:
        return PflowError("cannot query: it may only read the rows", hint="SELECT … FROM rows", exit=DENIED)
    shown = ", ".join(names[:20]) + ", …" * (len(names) > 20)
    return PflowError(f"cannot query: {why}", hint=f"the table is rows; its columns: {shown}", exit=BAD_DATA)
