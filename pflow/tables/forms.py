"""The formats of a results file: JSON, JSON lines, CSV and Markdown."""

import os
from collections.abc import Callable
from typing import Any

from pflow.errors import BAD_DATA, USAGE, PflowError
from pflow.tables.csv_text import write_csv
from pflow.tables.rows import markdown_table, table_rows, unfold
from pflow.values.fast_json import encode_each, write_json
from pflow.values.jsontext import text_of
from pflow.values.paths import look_inside

_SUFFIXES = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".md": "md", ".markdown": "md"}


def format_of(path: str, wanted: str | None) -> tuple[str, str]:
    """Return a file's format and path, whose `$format` it replaces. Raises PflowError (2) if neither names a format."""
    if path.endswith(".$format"):  # the default, which explain/origins.py reads in the same way
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
    """Format results; `result` and `stats` are the rows and numbers behind a text, or None.

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
    """Write a list with an item on each line; indent anything else."""
    is_rows = isinstance(value, list) and value
    return encode_each(value, (b"[\n", b",\n", b"\n]\n")) if is_rows else write_json(value)


def _markdown(value: Any) -> str:
    """Write rows as a table, or a single object as a table of its members."""
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
