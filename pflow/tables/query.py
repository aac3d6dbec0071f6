"""SQL over rows, in an in-memory SQLite that can only read them.

SQLite computes with the beginning of a text and rounds integers past 63 bits; here both are errors.
"""

from __future__ import annotations

import re
import resource
import sqlite3
import sys
from contextlib import suppress
from typing import Any

from pflow.errors import BAD_DATA, DENIED, NO_MEMORY, PflowError, shorten
from pflow.process.loop import run_all
from pflow.process.signals import stop_catching
from pflow.process.worker import Parent
from pflow.tables.rows import Row, columns_of, is_finite, read_number
from pflow.values.jsontext import HIGHEST, LOWEST, text_of

TABLE = "rows"
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_DENIED = {"load_extension"}
_PRAGMAS = ("table_info", "table_xinfo", "function_list", "collation_list", "compile_options", "pragma_list")
_TABLE_FUNCTIONS = ("json_each", "json_tree", "jsonb_each", "jsonb_tree", "generate_series")
"""The table functions that may stand in FROM: they read only their arguments, or what SQLite knows of itself."""
_MOST_ROWS = 1_000_000
_MOST_BYTES, _LONGEST = 1 << 30, 1 << 28
"""The most bytes of memory for a query, besides its rows, and for one value."""
_DENIALS = re.compile("not authorized|authorization|too many attached|access to .* is prohibited$", re.DOTALL)
_CERTAIN = re.compile(
    f"{_DENIALS.pattern}|incomplete input|unrecognized token|no such (table|function)|You can only|.*: syntax error$",
    re.DOTALL,
)
"""The failures that do not depend on the columns, so that they are certain before there are rows."""
_AS_NUMBERS = "replace(NAME, ',', '') removes commas; clean-data --types=NAME=float --misfits=null keeps only numbers"
_STEPS = 10_000
"""SQLite instructions between two looks at the memory: a millisecond or less."""


def query(rows: list[Row], sql: str, texts: Any = None) -> list[Row]:
    """Run a query and return its rows; `texts` are the columns that are text, whatever they hold.

    It runs in a child process, which a signal ends at once: during a call of SQLite, Python would not handle it.
    Raises PflowError: 65 for an invalid query, 77 if it does more than read.
    """

    def serve(number: int, parent: Parent) -> list[Row]:
        stop_catching()
        names = columns_of(rows)
        base = sqlite3.connect(":memory:", isolation_level=None)
        guard = NumberGuard(rows, texts)
        _fill(base, guard, names)
        _restrict(base)
        return _run(base, sql, names, guard)

    return run_all(1, serve, take=print)[0]  # type: ignore[no-any-return]


def check_query(sql: str) -> None:
    """Check a query before there are rows. Raises PflowError as `query` does, for faults that no column can mend."""
    base = sqlite3.connect(":memory:", isolation_level=None)
    base.execute(f"CREATE TABLE {TABLE} (x)")
    _restrict(base)
    base.set_progress_handler(lambda: True, 1)  # stops it before its first step
    try:
        base.execute(sql)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        if _CERTAIN.match(str(error)):
            raise _failure(str(error), []) from None
    finally:
        base.close()


def _fill(base: sqlite3.Connection, guard: NumberGuard, names: list[str]) -> None:
    """Fill the table. Empty values become NULL, and columns of numeric texts become numbers."""
    if not names:
        raise PflowError("cannot query: there are no rows", exit=BAD_DATA)
    values = [guard.column(name) for name in names]
    columns = ", ".join(map(str.__add__, map(_quoted, names), map(_type_of, values)))
    try:
        base.execute("PRAGMA temp_store = MEMORY")
        base.execute(f"CREATE TABLE {TABLE} ({columns})")
        base.executemany(f"INSERT INTO {TABLE} VALUES ({', '.join('?' * len(names))})", zip(*values, strict=True))
    except (sqlite3.Error, ValueError) as error:
        hint = "to SQL, 'a' and 'A' are one name: clean-data --rename=OLD=NEW" if "duplicate" in str(error) else ""
        raise PflowError(f"cannot query: {error}", hint=hint, exit=BAD_DATA) from None


def _type_of(values: list[Any]) -> str:
    """Return the type of a column of numbers, which makes 5 = '5' true. A REAL would lose the sign of -0.0."""
    kinds = {*map(type, values)} - {type(None)}
    has_sign = 0 in values and "-0.0" in map(str, values)
    return " INTEGER" * (kinds == {int}) + " REAL" * (kinds == {float} and not has_sign)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _authorize(action: int, one: str | None, two: str | None, base: str | None, within: str | None) -> int:
    """Return SQLite's code for an action that the query may do, or may not do."""
    is_allowed = action in _READING or (action == sqlite3.SQLITE_PRAGMA and one in _PRAGMAS)
    is_function = action == sqlite3.SQLITE_FUNCTION and str(two).lower() not in _DENIED
    return sqlite3.SQLITE_OK if is_allowed or is_function else sqlite3.SQLITE_DENY


def _peak_memory() -> int:
    """Return the most bytes of memory that this process has used. macOS counts bytes, Linux kibibytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _restrict(base: sqlite3.Connection) -> None:
    """Allow only reading from here on, and stop at the memory limit."""
    for name in (*_TABLE_FUNCTIONS, *(f"pragma_{name}" for name in _PRAGMAS)):
        with suppress(sqlite3.Error):  # this SQLite has no such function
            base.execute(f"SELECT 1 FROM {name}")  # the first use declares a table, which is denied later
    limit = _peak_memory() + _MOST_BYTES
    base.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    base.set_authorizer(_authorize)
    base.set_progress_handler(lambda: _peak_memory() > limit, _STEPS)


def _guarded(base: sqlite3.Connection, sql: str, guard: NumberGuard) -> str:
    """Return the query with calls of the guard's functions, if the table has texts or large integers."""
    if not guard.is_needed:
        return sql
    from sqlglot.errors import SqlglotError  # not at the top: it takes a tenth of a second

    base.create_function("pflow_number", 1, guard.number, deterministic=True)
    base.create_function("pflow_exact", 1, guard.exact, deterministic=True)
    try:
        watched = guard.watch(sql)
        if watched != sql:  # check our own rewriting; a user's EXPLAIN stays as it is, and cannot be explained again
            base.execute(f"EXPLAIN {watched}")
        return watched
    except (SqlglotError, LookupError, RecursionError, sqlite3.Error) as error:
        base.execute(f"EXPLAIN {sql}")  # raises if the user's query is wrong itself
        why = "cannot query: it is not clear with which values it computes"
        raise PflowError(why, hint=_AS_NUMBERS, exit=BAD_DATA) from error


def _run(base: sqlite3.Connection, sql: str, names: list[str], guard: NumberGuard) -> list[Row]:
    try:
        found = base.execute(_guarded(base, sql, guard))
        columns = [unwrap(column[0]) for column in found.description or ()]
        values = found.fetchmany(_MOST_ROWS + 1)
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        if guard.fault:
            raise PflowError(
                f"cannot query: {guard.fault}", hint=_AS_NUMBERS * guard.fault.endswith("number"), exit=BAD_DATA
            ) from None
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
    records = (map(guard.restored, record) for record in values) if guard.large else values
    return [dict(zip(columns, record, strict=True)) for record in records]


def _failure(why: str, names: list[str]) -> PflowError:
    if why == "interrupted":
        hint = f"it may take {_MOST_BYTES >> 20:,} MB beside the rows"
        return PflowError("cannot query: it takes too much memory", hint=hint, exit=NO_MEMORY)
    if _DENIALS.match(why):
        return PflowError("cannot query: it may only read the rows", hint="SELECT … FROM rows", exit=DENIED)
    shown = ", ".join(names[:20]) + ", …" * (len(names) > 20)
    hint = f"the table is rows, its columns are {shown}" if names else "SELECT … FROM rows"
    return PflowError(f"cannot query: {why}", hint=hint, exit=BAD_DATA)


_PAST, _INF = 1 << 63, float("inf")
_ROUNDED = "is past the 63 bits with which SQLite computes"
_NUMBER_OF, _EXACT, _END = " pflow_number(", " pflow_exact(", "/**/)"
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")


class NumberGuard:
    """A guard of the numbers in a query: the values for SQLite, and functions that refuse values it would distort.

    `kept` are the columns that stay text even if their values look like numbers.
    """

    def __init__(self, rows: list[Row], kept: Any) -> None:
        self.rows = rows
        self.kept = kept or ()
        self.kept_texts = {text for name in self.kept for row in rows if "." in (text := str(row.get(name)))}
        self.large: dict[float, Any] = {}
        self.numbers: set[str] = set()
        self.mixed: set[str] = set()
        self.is_needed = False
        self.fault = ""

    def column(self, name: str) -> list[Any]:
        """Return the values of a column for SQLite: numbers for numeric texts, floats for integers past 63 bits."""
        values = [row.get(name) for row in self.rows]
        texts = {value for value in values if value.__class__ is str} - {""}
        finite = set() if name in self.kept else {*filter(is_finite, texts)}
        if texts and finite == texts and {*map(type, values)} <= {str, type(None)}:
            convert = int if all(text.lstrip("-").isdecimal() for text in texts) else read_number
            known = {text: convert(text) for text in texts}
            values = [value and known[value] for value in values]
        stored = [*map(self._stored, values)]
        kinds = {*map(type, stored)} - {type(None)}
        is_text = bool(kinds & {str, bytes})
        if finite or kinds - {str, bytes}:
            (self.mixed if is_text else self.numbers).add(name.lower())
        self.is_needed |= is_text or bool(self.large)
        return stored

    def _stored(self, value: Any) -> Any:
        if value is None or value == "":
            return None
        if isinstance(value, int | float) and abs(value) >= _PAST:
            other = self.large.setdefault(float(value), value)
            if other != value:
                raise PflowError(f"cannot query: to SQLite {other} and {value} are one number", exit=BAD_DATA)
            return float(value)
        return value if isinstance(value, int | float | bytes) else text_of(value)

    def restored(self, value: Any) -> Any:
        """Return a value of the result: integers past 63 bits get their digits back, and those past 64 become texts."""
        value = self.large.get(value, value) if value.__class__ is float else value
        return value if value.__class__ is not int or LOWEST <= value < HIGHEST else str(value)

    def number(self, value: Any) -> Any:
        """Return the number in a text; SQL calls this. Raises ValueError, and keeps the reason as `fault`."""
        if not isinstance(value, str | bytes):
            return value
        number: float = _INF
        if isinstance(value, str) and value not in self.kept_texts and _NUMBER.fullmatch(value):
            number = int(value) if value.strip(" \t+-").isdecimal() else float(value)
        if abs(number) < (_PAST if isinstance(number, int) else _INF):
            return number
        raise self._refusal(value, _ROUNDED if isinstance(number, int) else "is not a number")

    def exact(self, value: Any) -> Any:
        """Return a value that SQLite has not rounded; SQL calls this. Raises ValueError as `number` does."""
        if value.__class__ is float and isinstance(self.large.get(value), int):
            raise self._refusal(self.large[value], _ROUNDED)
        return value

    def _refusal(self, value: Any, why: str) -> ValueError:
        rows = enumerate(self.rows, 1)
        places = (f" in row {n} of column '{name}'" for n, row in rows for name in row if str(row[name]) == str(value))
        self.fault = f"'{shorten(str(value))}'{next(places, '')} {why}"
        return ValueError(self.fault)

    def watch(self, sql: str) -> str:
        """Return a query that calls `number` and `exact` where it computes. Raises SqlglotError, LookupError."""
        from pflow.tables.operands import Operands  # not at the top: sqlglot takes a tenth of a second

        operands, marks = Operands(sql, self.numbers, self.mixed), []
        for literal in filter(str.isdecimal, operands.literals if self.large else ()):
            if int(float(literal)) != int(literal) and int(literal) not in map(abs, self.large.values()):
                raise PflowError(f"cannot query: SQLite would round {literal}", exit=BAD_DATA)
        for (start, end), is_number, is_exact in operands.find():
            for call in [_NUMBER_OF] * is_number + [_EXACT] * (is_exact and bool(self.large)):
                marks += [(start, -end, call), (end + 1, 0, _END)]
        for at, _, mark in sorted(marks, reverse=True):
            sql = sql[:at] + mark + sql[at:]
        return sql


def unwrap(name: str) -> str:
    """Return the name of a column of the result without the calls that `watch` has put into it."""
    return f" {name}".replace(_NUMBER_OF, "").replace(_EXACT, "").replace(_END, "").removeprefix(" ")
