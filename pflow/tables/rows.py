"""Rows: what counts as some, which columns they have, and their values as text."""

from __future__ import annotations

from typing import Any

from pflow.errors import BAD_DATA, PflowError
from pflow.values.jsontext import text_of
from pflow.values.paths import kind_of

Row = dict[str, Any]


def check_rows(rows: Any) -> list[Row]:
    """The rows themselves. Raises PflowError (65) for what is no list of objects, with the first that is none."""
    if not isinstance(rows, list):
        raise PflowError(f"cannot take {kind_of(rows)} as rows", hint="rows are a list of objects", exit=BAD_DATA)
    if not set(map(type, rows)) <= {dict}:
        number, other = next((n, row) for n, row in enumerate(rows, 1) if not isinstance(row, dict))
        what = f"cannot take row {number}: it is {kind_of(other)}, not an object"
        raise PflowError(what, hint="rows are a list of objects", exit=BAD_DATA)
    return rows


def columns_of(rows: list[Row]) -> list[str]:
    """The names of all columns, in the order in which they first appear."""
    shapes = dict.fromkeys(map(tuple, rows))
    return list(dict.fromkeys(name for shape in shapes for name in shape))


def cell(value: Any) -> str:
    """A value as the text of a cell: null is nothing, a list or an object its JSON text."""
    return value if isinstance(value, str) else text_of(value)


def is_missing(value: Any) -> bool:
    """Whether a cell is empty."""
    return value is None or value == ""
