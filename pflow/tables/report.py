"""Statistics of rows: for each column the number, the type and the range of its values, and the most frequent ones."""

from bisect import bisect_right
from collections import Counter
from itertools import accumulate
from math import fsum
from typing import Any

from pflow.tables.rows import (
    BOOL,
    CONVERT,
    FLOAT,
    INT,
    TEXT,
    Row,
    columns_of,
    is_missing,
    kind_of_texts,
    markdown_table,
)
from pflow.text.printable import counted
from pflow.values.jsontext import compact, text_of

_MOST = 5
"""The number of most frequent values in a report."""

_LONGEST, _WIDEST = 200, 60
"""The most rows in a report, and the most characters in a cell."""

_QUARTILES = {"q1": 0.25, "median": 0.5, "q3": 0.75}
_BRIEF = ("type", "count", "missing", "distinct", "min", "max", "mean")


def describe(rows: list[Row], columns: Any = None, texts: Any = None) -> dict[str, Any]:
    """Count the rows and describe each column. Without rows, `columns` has the names. `texts` are the text columns."""
    names = columns_of(rows, columns)
    described = {name: _column([row.get(name) for row in rows], is_text=name in (texts or ())) for name in names}
    return {"rows": len(rows), "columns": described}


def _column(values: list[Any], *, is_text: bool) -> dict[str, Any]:
    counts, kind = _counted([value for value in values if not is_missing(value)], is_text=is_text)
    present = counts.total()
    about: dict[str, Any] = {"type": kind, "count": present, "missing": len(values) - present, "distinct": len(counts)}
    if kind in (INT, FLOAT):
        about |= _numbers(counts, CONVERT[kind])
    elif kind == TEXT:
        about |= {"min": min(counts), "max": max(counts)}
    often = [(value, count) for value, count in counts.most_common(_MOST) if count > 1]
    return {**about, "top": [{"value": value, "count": count} for value, count in often]}


def _counted(present: list[Any], *, is_text: bool) -> tuple[Counter[Any], str]:
    """Count each value and find their common type; numeric texts count as numbers, unless the column is text."""
    types = {*map(type, present)}
    if types == {str}:
        counts: Counter[Any] = Counter(present)
        return counts, TEXT if is_text else kind_of_texts(counts.keys())
    if types <= {int, float} or types == {bool}:
        return Counter(present), BOOL if bool in types else FLOAT if float in types else INT if types else "empty"
    kind = type(present[0]).__name__ if len(types) == 1 else "mixed"
    return Counter(map(compact, present)), kind


def _numbers(counts: Counter[Any], convert: Any) -> dict[str, Any]:
    numbers: Counter[Any] = Counter()
    for value, count in counts.items():
        numbers[convert(value)] += count
    ordered = sorted(numbers)
    ends = list(accumulate(numbers[number] for number in ordered))
    total = sum if convert is int else fsum
    unit = 1 << 99 if max(-ordered[0], ordered[-1]) > 1e250 else 1  # else their sum could be too large for a float
    quartiles = {name: _quantile(ordered, ends, at) for name, at in _QUARTILES.items()}
    mean = total(number / unit * count if unit > 1 else number * count for number, count in numbers.items())
    return {"min": ordered[0], "max": ordered[-1], "mean": mean / ends[-1] * unit, **quartiles}


def _quantile(ordered: list[Any], ends: list[int], at: float) -> Any:
    """Return a quantile, interpolated as in spreadsheets. `ends` counts the values up to and with each ordered one."""
    place = (ends[-1] - 1) * at
    low, part = int(place), place % 1
    below = ordered[bisect_right(ends, low)]
    above = ordered[bisect_right(ends, low + 1)] if part else below
    return below if above == below else below * (1 - part) + above * part


def _table_row(column: str, about: dict[str, Any], is_detailed: bool) -> Row:
    """Return the row for a column in the table of a report, brief or detailed."""
    told = {"column": column, **{name: about.get(name) for name in _BRIEF}}
    if is_detailed:
        told |= {name: about.get(name) for name in _QUARTILES}
        told["top"] = ", ".join(f"{text_of(top['value'])} ({top['count']})" for top in about["top"])
    return told


def analyze(
    rows: list[Row], sql: str | None, columns: Any, texts: Any, *, is_detailed: bool = False
) -> tuple[str, Row, list[Row]]:
    """Return a report in Markdown, the statistics, and the rows of its table: one for each column, or those of a query.

    `texts` are the columns that are text, whatever they hold.
    """
    if sql is not None:
        from pflow.tables.query import query

        rows = query(rows, sql, texts)
    stats = describe(rows, columns, texts)
    size = f"{counted(len(rows), 'row')}, {counted(len(stats['columns']), 'column')}"
    columns = stats["columns"].items()
    table = rows if sql is not None else [_table_row(name, about, is_detailed) for name, about in columns]
    shown = markdown_table(table[:_LONGEST], _WIDEST)
    more = f"\n{len(table) - _LONGEST:,} more rows are not shown.\n" if len(table) > _LONGEST else ""
    return "\n".join(filter(None, (f"{size}\n", shown))) + more, stats, table
