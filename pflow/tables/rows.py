"""Rows: their columns, cells as text, the types of texts, and a table in Markdown."""

import re
from collections.abc import Callable, Collection
from typing import Any

from pflow.errors import BAD_DATA, PflowError, shorten
from pflow.values.jsontext import text_of
from pflow.values.paths import kind_of
from pflow.values.plain import HIGHEST, LOWEST

Row = dict[str, Any]

INT, FLOAT, BOOL, TEXT = "int", "float", "bool", "str"

_INT = re.compile(r"0|-?[1-9][0-9]{0,19}")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)?(?:(?<=[0-9])|(?=\.[0-9]))(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")
_BOOLS = {"true": True, "false": False, "True": True, "False": False, "TRUE": True, "FALSE": False}
_EXACT = 1 << 53
"""Below this a float holds every whole number."""


def check_rows(rows: Any) -> list[Row]:
    """Check that rows are a list of objects. Raises PflowError (65), which names the first row that is not one."""
    if not isinstance(rows, list):
        raise PflowError(f"cannot use {kind_of(rows)} as rows", hint="rows are a list of objects", exit=BAD_DATA)
    if not set(map(type, rows)) <= {dict}:
        number, other = next((n, row) for n, row in enumerate(rows, 1) if not isinstance(row, dict))
        what = f"cannot use row {number}: it is {kind_of(other)}, not an object"
        raise PflowError(what, hint="rows are a list of objects", exit=BAD_DATA)
    return rows


def columns_of(rows: list[Row]) -> list[str]:
    """Return the names of all columns, in order of appearance."""
    shapes = dict.fromkeys(map(tuple, rows))
    return list(dict.fromkeys(name for shape in shapes for name in shape))


def cell(value: Any) -> str:
    """Convert a value to a cell's text: null to nothing, a list or object to JSON."""
    return value if isinstance(value, str) else text_of(value)


def is_missing(value: Any) -> bool:
    return value is None or value == ""


def is_int(text: str) -> bool:
    """Return True for a whole number of at most 64 bits, but not for 007 or +1."""
    return _INT.fullmatch(text) is not None and LOWEST <= int(text) < HIGHEST


def is_number(text: str) -> bool:
    """Return True for a number that fits in a float, a whole one exactly."""
    if _NUMBER.fullmatch(text) is None:
        return False
    size = abs(float(text))
    return size < (_EXACT if text.lstrip("-").isdecimal() else float("inf"))


CONVERT: dict[str, Callable[[str], Any]] = {INT: int, FLOAT: float, BOOL: _BOOLS.__getitem__, TEXT: str}
FITS: dict[str, Callable[[str], bool]] = {INT: is_int, FLOAT: is_number, BOOL: _BOOLS.__contains__}


def kind_of_texts(texts: Collection[str]) -> str:
    """Return the common type of some texts; `str` for an empty collection."""
    return next((kind for kind, fits in FITS.items() if texts and all(map(fits, texts))), TEXT)


def infer(rows: list[Row]) -> None:
    """Convert the texts of each column to their common type; an empty one becomes null."""
    for name in columns_of(rows):
        texts = [row[name] for row in rows]
        distinct = {*texts} - {""}
        convert = CONVERT[kind_of_texts(distinct)]
        values: dict[str, Any] = {"": None, **{text: convert(text) for text in distinct}}
        for row, text in zip(rows, texts, strict=True):
            row[name] = values[text]


def markdown_table(rows: list[Row], widest: int | None = None) -> str:
    """Format rows as a Markdown table, numbers to the right; cells are cut at `widest` characters."""
    names = columns_of(rows)
    if not names:
        return ""
    marks = ["--:" if _is_numeric([row.get(name) for row in rows]) else "---" for name in names]
    cells = ([_escaped(row.get(name), widest) for name in names] for row in rows)
    lines = [[_escaped(name, widest) for name in names], marks, *cells]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _is_numeric(values: list[Any]) -> bool:
    kinds = {*map(type, values)} - {type(None)}
    return bool(kinds) and kinds <= {int, float}


def _escaped(value: Any, widest: int | None) -> str:
    text = f"{value:.10g}" if isinstance(value, float) else cell(value)
    text = shorten(text, widest) if widest else text
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").replace("\r", "").split("\n"))
