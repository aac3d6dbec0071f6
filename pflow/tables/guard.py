"""Guards for SQL: SQLite computes with the prefix of a text, and rounds integers past 63 bits; here both are errors."""

import re
from typing import Any

from pflow.errors import BAD_DATA, PflowError, shorten
from pflow.tables.rows import Row, is_finite, read_number
from pflow.values.jsontext import HIGHEST, LOWEST, text_of

_PAST, _INF = 1 << 63, float("inf")
_ROUNDED = "is past the 63 bits with which SQLite computes"
_NUMBER_OF, _EXACT, _END = " pflow_number(", " pflow_exact(", "/**/)"
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")


class NumberGuard:
    """The values of a table as SQLite gets them, and the functions that refuse those with which it cannot compute.

    `kept` are columns that stay text even if their values look like numbers.
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
        """Return the values of a column: numbers for numeric texts, a float for an integer past 63 bits."""
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
        """Return a value of a result: an integer past 63 bits as it was, one past 64 as a text."""
        value = self.large.get(value, value) if value.__class__ is float else value
        return value if value.__class__ is not int or LOWEST <= value < HIGHEST else str(value)

    def number(self, value: Any) -> Any:
        """Return the number in a text, as a function of SQL. Raises ValueError; `fault` is the reason."""
        if not isinstance(value, str | bytes):
            return value
        number: float = _INF
        if isinstance(value, str) and value not in self.kept_texts and _NUMBER.fullmatch(value):
            number = int(value) if value.strip(" \t+-").isdecimal() else float(value)
        if abs(number) < (_PAST if isinstance(number, int) else _INF):
            return number
        raise self._refusal(value, _ROUNDED if isinstance(number, int) else "is not a number")

    def exact(self, value: Any) -> Any:
        """Return a value that SQLite does not round, as a function of SQL. Raises ValueError as `number` does."""
        if value.__class__ is float and isinstance(self.large.get(value), int):
            raise self._refusal(self.large[value], _ROUNDED)
        return value

    def _refusal(self, value: Any, why: str) -> ValueError:
        rows = enumerate(self.rows, 1)
        places = (f" in row {n} of column '{name}'" for n, row in rows for name in row if str(row[name]) == str(value))
        self.fault = f"'{shorten(str(value))}'{next(places, '')} {why}"
        return ValueError(self.fault)

    def watch(self, sql: str) -> str:
        """Return a query with calls of `number` and `exact` where it computes. Raises SqlglotError, LookupError."""
        from pflow.tables.operands import Operands  # a tenth of a second

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
    """Return the name of a column of the result as the query has it."""
    return f" {name}".replace(_NUMBER_OF, "").replace(_EXACT, "").replace(_END, "").removeprefix(" ")
