"""An HTML file of rows: a table and a bar plot. All data is escaped: it is text, never markup."""

from html import escape
from typing import Any

from pflow.errors import shorten
from pflow.tables.rows import CONVERT, FLOAT, INT, Row, check_rows, columns_of, is_missing, kind_of_texts
from pflow.values.jsontext import text_of

_MOST_ROWS, _MOST_BARS = 1000, 30
_LABEL, _WIDTH, _BAR = 180, 520, 22
"""Pixels: the width of the names, that of the bars, and the height of a bar with its gap."""

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em }}
table {{ border-collapse: collapse; margin: 1em 0 }}
td, th {{ border-bottom: 1px solid #ccc; padding: .2em .8em; text-align: left }}
.number {{ text-align: right; font-variant-numeric: tabular-nums }}
svg {{ max-width: 100% }} rect {{ fill: #4477aa }} text {{ font-size: 13px }} pre {{ overflow: auto }}
</style>
<h1>{title}</h1>
{parts}
</html>
"""


def dashboard(title: str, report: Any, result: list[Row] | None, texts: Any = None) -> str:
    """Make the page of a report, or of rows; `texts` are columns of text. Raises PflowError (65) for invalid rows."""
    is_rows = not isinstance(report, str | bytes)
    rows = check_rows(report if is_rows else result or [])
    names = [name for name in columns_of(rows) if name not in (texts or ())]
    numbers = {name: values for name in names if (values := _numbers([row.get(name) for row in rows]))}
    parts = [_plot(rows, numbers), _table(rows, numbers)]
    if not is_rows:
        parts.append(f"<pre>{escape(text_of(report))}</pre>")
    return _PAGE.format(title=escape(title), parts="\n".join(filter(None, parts)))


def _numbers(values: list[Any]) -> list[Any]:
    """Return a column's numbers, also from texts, with None for missing ones; [] for any other column."""
    present = [value for value in values if not is_missing(value)]
    types = {*map(type, present)}
    if types and types <= {int, float}:
        return [None if is_missing(value) else value for value in values]
    kind = kind_of_texts({*present}) if types == {str} else ""
    return [None if is_missing(value) else CONVERT[kind](value) for value in values] if kind in (INT, FLOAT) else []


def _plot(rows: list[Row], numbers: dict[str, list[Any]]) -> str:
    """Draw bars for the first column of numbers, named by the first other column."""
    name = next(iter(numbers), None)
    if name is None:
        return ""
    label = next((each for each in columns_of(rows) if each not in numbers), None)
    values = numbers[name][:_MOST_BARS]
    names = [text_of(row.get(label)) if label is not None else str(n) for n, row in enumerate(rows[:_MOST_BARS], 1)]
    bounds = [0, *(value for value in values if value is not None)]
    unit = _WIDTH / ((max(bounds) - min(bounds)) or 1)
    bars = [_bar(n, *bar, -min(bounds) * unit, unit) for n, bar in enumerate(zip(names, values, strict=True))]
    size = f'width="{_LABEL + _WIDTH + 100}" height="{len(bars) * _BAR}"'
    caption = f"<h2>{escape(name)}{f' by {escape(label)}' if label is not None else ''}</h2>"
    more = f"<p>The first {_MOST_BARS} of {len(rows):,}.</p>" if len(rows) > _MOST_BARS else ""
    return f'{caption}\n<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n{"".join(bars)}</svg>{more}'


def _bar(nth: int, name: str, value: float | None, zero: float, unit: float) -> str:
    top, length = nth * _BAR, abs(value or 0) * unit
    left = _LABEL + zero - (length if (value or 0) < 0 else 0)
    text = "" if value is None else f"{value:,}"
    return (
        f'<text x="{_LABEL - 6}" y="{top + 15}" text-anchor="end">{escape(shorten(name, 24))}</text>'
        f'<rect x="{left:.1f}" y="{top + 2}" width="{length:.1f}" height="{_BAR - 4}"/>'
        f'<text x="{left + length + 6:.1f}" y="{top + 15}">{text}</text>\n'
    )


def _table(rows: list[Row], numbers: dict[str, list[Any]]) -> str:
    names = columns_of(rows)
    if not names:
        return ""
    marks = [' class="number"' if name in numbers else "" for name in names]
    head = "".join(f"<th{mark}>{escape(name)}</th>" for name, mark in zip(names, marks, strict=True))
    lines = [f"<tr>{head}</tr>"]
    for row in rows[:_MOST_ROWS]:
        cells = zip(map(row.get, names), marks, strict=True)
        lines.append("<tr>" + "".join(f"<td{mark}>{escape(text_of(value))}</td>" for value, mark in cells) + "</tr>")
    more = f"<p>The first {_MOST_ROWS:,} of {len(rows):,} rows.</p>" if len(rows) > _MOST_ROWS else ""
    return "<table>\n" + "\n".join(lines) + f"\n</table>{more}"
