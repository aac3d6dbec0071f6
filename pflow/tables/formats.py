"""The formats of a results file: JSON, JSON lines, CSV, Markdown, and an HTML page with a table and a bar plot."""

import os
from collections.abc import Callable
from html import escape
from typing import Any

from pflow.errors import BAD_DATA, USAGE, PflowError, shorten
from pflow.tables.csv_text import write_csv
from pflow.tables.rows import (
    CONVERT,
    FLOAT,
    INT,
    Row,
    check_rows,
    columns_of,
    is_missing,
    kind_of_texts,
    markdown_table,
    table_rows,
    unfold,
)
from pflow.values.fast_json import encode_each, write_json
from pflow.values.jsontext import text_of
from pflow.values.paths import look_inside

_SUFFIXES = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".md": "md", ".markdown": "md"}


def format_of(path: str, wanted: str | None) -> tuple[str, str]:
    """Return a file's format, and its path with `$format` replaced. Raises PflowError (2) if nothing names a format."""
    if path.endswith(".$format"):  # the default path
        form = wanted or "json"
        return form, path.removesuffix("$format") + form
    form = wanted or _SUFFIXES.get(os.path.splitext(path)[1].lower(), "")
    if not form:
        what = f"cannot tell the format of '{path}': its name does not end in {', '.join(_SUFFIXES)}"
        raise PflowError(what, hint="--format=json, jsonl, csv or md names it", exit=USAGE)
    return form, path


def file_text(
    form: str, results: Any, result: Any, stats: Any, columns: Any = None, *, escapes: bool = False
) -> str | bytes:
    """Format results. If they are a text, `result` and `stats` may be the rows and numbers behind it, else None.

    `columns` are the header of CSV if `results` is a table without rows; `escapes` is that of `write_csv`.
    """
    if isinstance(results, bytes):
        raise PflowError("cannot save bytes as results", hint="write-file writes them unchanged", exit=BAD_DATA)
    if isinstance(results, str) and form != "md" and result is None and stats is None:
        results = look_inside(results)
    if form == "csv" and not (isinstance(results, str) and result is None):
        rows = result if isinstance(results, str) else results
        return write_csv(table_rows(rows), columns=columns if results == [] else None, escapes=escapes)
    if not isinstance(results, str):
        return _FORMS[form](results)
    if form == "md":
        return results if results.endswith("\n") else f"{results}\n"
    if form == "json":
        behind = {name: each for name, each in (("result", result), ("stats", stats)) if each is not None}
        return _json({"results": results, **behind} if behind else results)
    if result is None:
        hint = "--format=md or json takes a text; load-csv and load-jsonl make rows of it"
        raise PflowError(f"cannot save a text as {form}: it has no rows", hint=hint, exit=BAD_DATA)
    return _FORMS[form](result)


def _json(value: Any) -> str | bytes:
    """Return JSON: a list has each item on a line of its own, anything else is indented."""
    is_rows = isinstance(value, list) and value
    return encode_each(value, (b"[\n", b",\n", b"\n]\n")) if is_rows else write_json(value)


def _markdown(value: Any) -> str:
    """Return rows as a table in Markdown, and a single object as a table of its members."""
    if not isinstance(value, dict | list):
        return f"{text_of(value)}\n"
    rows = unfold(value)
    if isinstance(value, dict) and rows == [value]:
        return markdown_table([{"name": name, "value": each} for name, each in value.items()])
    is_table = all(isinstance(each, dict | None) for each in rows)
    return markdown_table(table_rows(value) if is_table else [{"value": each} for each in value])


_FORMS: dict[str, Callable[[Any], str | bytes]] = {
    "json": _json,
    "jsonl": lambda value: encode_each(value if isinstance(value, list) else [value]),
    "md": _markdown,
}


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
    """Return an HTML page of a report, or of rows; `texts` are columns of text. Raises PflowError (65) for bad rows.

    All data is escaped, so that none of it is markup.
    """
    is_rows = not isinstance(report, str | bytes)
    rows = check_rows(report if is_rows else result or [])
    names = [name for name in columns_of(rows) if name not in (texts or ())]
    numbers = {name: values for name in names if (values := _numbers([row.get(name) for row in rows]))}
    parts = [_plot(rows, numbers), _table(rows, numbers)]
    if not is_rows:
        parts.append(f"<pre>{escape(text_of(report))}</pre>")
    return _PAGE.format(title=escape(title), parts="\n".join(filter(None, parts)))


def _numbers(values: list[Any]) -> list[Any]:
    """Return the numbers of a column, also those in texts, with None for missing ones; [] for any other column."""
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
