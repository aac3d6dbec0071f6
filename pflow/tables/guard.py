"""Guards for SQL: SQLite computes with the prefix of a text, and rounds integers past 63 bits; here both are errors."""

import re
import sqlite3
from typing import Any

from pflow.errors import BAD_DATA, PflowError, shorten
from pflow.tables.rows import Row, cell, is_finite, read_number
from pflow.values.plain import HIGHEST, LOWEST

_PAST, _INF = 1 << 63, float("inf")
_BEGIN, _END = "pflow_number(", "/**/)"
_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^]]*\]"""
_TEXT, _MIXED, _LARGE, _ALIAS, _SAFE = "text", "mixed", "large", "alias", "safe"
_OPERATOR, _SIZE = r"(?:[+*/%&~]|-(?!>)|<<|>>|(?<!\|)\|(?!\|))", r"(?:[<>=!]=?|<>)"
_WORDS = (
    "all|and|as|by|case|distinct|else|end|exists|from|having|in|join|not|on|or|over|select|then"
    "|union|using|values|when|where"
)
_SAME = r"\b(?:coalesce|ifnull|nullif|max|min)\s*\("
_PASSING = rf"count|max|min|coalesce|ifnull|nullif|lag|lead|first_value|last_value|{_WORDS}"
"""The words before a parenthesis in which an integer past 63 bits stays the same."""
_COMPUTING = [
    (_OPERATOR, ""),
    ("", _OPERATOR),
    (rf"{_OPERATOR}\s*\(+", r"\)"),
    (rf"(?:[(,=<>+*/%-]|\b(?:{_WORDS}))\s*\(", rf"\)+\s*{_OPERATOR}"),
    (rf"{_OPERATOR}\s*{_SAME}", ""),
    (_SAME, rf"[^()]*\)\s*{_OPERATOR}"),
    (r"\b(?:abs|ceil\w*|exp|floor|ln|log\w*|mod|pow\w*|round|sign|sqrt|trunc)\s*\(", ""),
    (r"\b(?:printf|format)\s*\(\s*'(?:[^'%]|%[-+ 0,.\d]*[defgi%])*'\s*,[^()]*", ""),
    (r"\bcast\s*\(", r"as\s+(?!text|n?(?:var)?char|[bc]lob)"),
]
_COMPARING = [
    ("", rf"(?:{_SIZE}|between\b|(?:not\s+)?in\s*\()\s*[-+]?\.?[0-9]"),
    (rf"(?<![\w.'])[-+]?[0-9]*\.?[0-9]+\s*{_SIZE}", ""),
]
_ALIASES = r"""(?i)\bas\s+([^\W\d]\w*)|[\w"`\])]\s+([^\W\d]\w*)\s*(?=,|\bfrom\b)|\(([\w\s,]+)\)\s*as\b"""
_CONTEXTS = {
    _ALIAS: _COMPUTING,
    _TEXT: _COMPUTING + _COMPARING,
    _MIXED: [*_COMPUTING, *_COMPARING, (r"\b(?:max|min)\s*\(", "[,)]")],
    _LARGE: [*_COMPUTING, ("", r"\|\|"), (rf"\|\||\b(?!(?:{_PASSING})\b)\w+\((?:[^()]*,)?", "")],
}
"""What stands before and behind a name where a query computes with it, or where its value would be another one."""


class Guard:
    """The values of a table as SQLite gets them, and the function that refuses those with which it cannot compute.

    `kept` are columns that stay text even if their values look like numbers.
    """

    def __init__(self, rows: list[Row], kept: Any) -> None:
        self.rows = rows
        self.kept = kept or ()
        self.kept_texts = {text for name in self.kept for row in rows if isinstance(text := row.get(name), str)}
        self.large: dict[float, Any] = {}
        self.kinds: dict[str, str] = {}
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
        kinds = {*map(type, stored)}
        if str in kinds or bytes in kinds:
            self.kinds[name] = _MIXED if finite or kinds & {int, float} else _TEXT
        else:
            self.kinds[name] = _LARGE if not self.large.keys().isdisjoint(stored) else _SAFE
        return stored

    def _stored(self, value: Any) -> Any:
        if value is None or value == "":
            return None
        if isinstance(value, int | float) and abs(value) >= _PAST:
            other = self.large.setdefault(float(value), value)
            if other != value:
                raise PflowError(f"cannot query: to SQLite {other} and {value} are one number", exit=BAD_DATA)
            return float(value)
        return value if isinstance(value, str | int | float | bytes) else cell(value)

    def restored(self, value: Any) -> Any:
        """Return a value of a result: an integer past 63 bits as it was, one past 64 as a text."""
        value = self.large.get(value, value) if value.__class__ is float else value
        return value if value.__class__ is not int or LOWEST <= value < HIGHEST else str(value)

    def number(self, value: Any) -> Any:
        """Return a number to compute with, as a function of SQL. Raises ValueError; `fault` is the reason."""
        found = self.large.get(value, value) if value.__class__ is float else value
        if isinstance(value, str) and value not in self.kept_texts and _NUMBER.fullmatch(value):
            found = int(value) if value.strip(" \t+-").isdecimal() else float(value)
        if found is None or (
            isinstance(found, int | float) and abs(found) < (_PAST if isinstance(found, int) else _INF)
        ):
            return found
        rows = enumerate(self.rows, 1)
        places = (f" in row {n} of column '{name}'" for n, row in rows for name in row if row[name] in (value, found))
        shown = shorten(str(found if isinstance(value, float) else value))
        why = "is past the 63 bits with which SQLite computes" if isinstance(found, int) else "is not a number"
        self.fault = f"'{shown}'{next(places, '')} {why}"
        raise ValueError(self.fault)

    def watch(self, base: sqlite3.Connection, sql: str) -> str:
        """Return a query with `number` around the names with which it computes, and let its sums use it too."""
        sql = re.sub(rf"({_QUOTED})|--[^\n]*|/\*.*?(?:\*/|\Z)", lambda found: found[1] or " ", sql, flags=re.DOTALL)
        self._check_literals(sql)
        aliases = {name for found in re.findall(_ALIASES, sql) for name in re.findall(r"\w+", " ".join(found))}
        kinds = {name: _ALIAS for name in aliases if name.lower() not in _WORDS.split("|")} | self.kinds
        if not any(kind not in (_SAFE, _ALIAS) and name.lower() in sql.lower() for name, kind in kinds.items()):
            return sql
        base.create_function(_BEGIN[:-1], 1, self.number, deterministic=True)
        for name, kind in kinds.items():
            sql = sql if kind == _SAFE else _wrap(sql, name, _CONTEXTS[kind])
        return _wrap_sums(sql, {name.lower() for name, kind in self.kinds.items() if kind == _SAFE})

    def _check_literals(self, sql: str) -> None:
        for text in re.findall(r"(?<![\w.'])[0-9]{19,}(?![\w.'])", sql) if self.large else ():
            if int(float(text)) != int(text) != self.large.get(float(text)):
                raise PflowError(f"cannot query: SQLite would round {text}", exit=BAD_DATA)


def _wrap(sql: str, name: str, contexts: list[tuple[str, str]]) -> str:
    """Put the call around a name, wherever it is a column that stands in one of the contexts."""
    quoted = [re.escape(f'"{name}"'), re.escape(f"[{name}]"), re.escape(f"`{name}`")]
    names = "|".join([*quoted, *([rf"\b{name}\b"] if name.isidentifier() else [])])

    def wrapped(found: re.Match[str]) -> str:
        left, right = sql[: found.start()].rstrip(), sql[found.end() :].lstrip()
        is_here = any(re.search(rf"(?i:{a})\Z", left) and re.match(f"(?i:{b})", right) for a, b in contexts)
        return f"{_BEGIN}{found[0]}{_END}" if found[1] and is_here else found[0]

    return re.sub(rf"(?i)((?:[\w\"`\]]+\s*\.\s*)?(?:{names})(?!\s*[(.]))|{_QUOTED}", wrapped, sql)


def _wrap_sums(sql: str, safe: set[str]) -> str:
    """Put the call around what is summed, unless it is the name of a column of numbers."""
    for found in reversed([*re.finditer(rf"(?i){_QUOTED}|\b(sum|total|avg)\s*\((?:\s*distinct\b\s*)?", sql)]):
        depth, end = 1, found.end()
        while depth and (mark := re.compile(rf"{_QUOTED}|[()]").search(sql, end)):
            depth, end = depth + {"(": 1, ")": -1}.get(mark[0], 0), mark.end()
        summed = sql[found.end() : end - 1]
        if found[1] and not depth and summed.strip().lower() not in safe:
            space = "" if found[0][-1] in "( \n" else " "
            sql = f"{sql[: found.end()]}{space}{_BEGIN}{summed}{_END}{sql[end - 1 :]}"
    return sql


def unwrap(name: str) -> str:
    """Return the name of a column of the result as the query has it."""
    return name.replace(_BEGIN, "").replace(_END, "")
