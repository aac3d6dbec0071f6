"""Rows: their columns, cells as text, the types of texts, and a table in Markdown."""

import re
from collections.abc import Callable, Collection
from itertools import chain
from typing import Any

from pflow.errors import BAD_DATA, PflowError, shorten
from pflow.terminal.messages import say
from pflow.text.printable import counted
from pflow.values.jsontext import HIGHEST, LOWEST, text_of
from pflow.values.paths import look_inside, type_name

Row = dict[str, Any]

INT, FLOAT, BOOL, TEXT = "int", "float", "bool", "str"

_INT = re.compile(r"0|-?[1-9][0-9]{0,19}")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)?(?:(?<=[0-9])|(?=\.[0-9]))(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")
_BOOLS = {"true": True, "false": False, "True": True, "False": False, "TRUE": True, "FALSE": False}
_GROUPED = re.compile(r"[^\w.,]*(?:[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+(?=,))(?:,[0-9]+)?[^\w.,]*[a-zA-Z]{0,3}")
"""A number with points between its thousands or with a comma; a sign, a currency or a unit may stand beside it."""
_EXACT = 1 << 53
"""Below this a float holds every whole number."""


def check_rows(rows: Any) -> list[Row]:
    """Check that rows are a list of objects; leave out the nulls of items that failed.

    Raises PflowError (65), which names the first row that is not an object.
    """
    if not isinstance(rows, list):
        hint = "rows are a list of objects: --map-in=rows=KEY takes those at another key"
        raise PflowError(f"cannot use {type_name(rows)} as rows", hint=hint, exit=BAD_DATA)
    if not set(map(type, rows)) <= {dict, type(None)}:
        number, other = next((n, row) for n, row in enumerate(rows, 1) if not isinstance(row, dict | None))
        what = f"cannot use row {number}: it is {type_name(other)}, not an object"
        raise PflowError(what, hint="rows are a list of objects", exit=BAD_DATA)
    return without_failed(rows)


def without_failed(rows: list[Any]) -> list[Any]:
    """Return rows without the nulls of items that failed, which are counted on stderr."""
    if not (gone := sum(row is None for row in rows)):
        return rows
    say("warning", f"left out {gone:,} of {counted(len(rows), 'row')}: null, as for an item that failed")
    return [row for row in rows if row is not None]


def table_rows(value: Any) -> list[Row]:
    """Return the rows in a value: a list of objects, one object, or the lists in a batch or in answers of a model.

    An object in a row becomes a column for each of its members, such as `response.name`. Raises PflowError (65).
    """
    value = look_inside(value)
    is_plain = isinstance(value, list) and {*map(type, value)} == {dict}
    if is_plain and {dict, list}.isdisjoint(map(type, chain.from_iterable(map(dict.values, value)))):
        return check_rows(value)  # true for most tables, and faster than a look at each row
    return [*map(flatten, check_rows(unfold(value) if isinstance(value, dict | list) else value))]


def unfold(value: Any) -> list[Any]:
    """Return the objects of a list inside an object, as --schema-multi makes it; in a batch, each beside its `item`."""
    if isinstance(value, list):
        return [row for each in value for row in unfold(each)]
    name, last = next(reversed(value.items()), ("", None)) if isinstance(value, dict) else ("", None)
    if isinstance(last, list) and len(value) == 1 and {*map(type, last)} <= {dict} and (last or name == "items"):
        return last
    if isinstance(last, dict) and len(value) == 2 and "item" in value:
        return [{**value, name: each} for each in unfold(last)]
    return [value]


def flatten(row: Row, before: str = "") -> Row:
    flat: Row = {}
    for name, value in row.items():
        parts = flatten(value, f"{before}{name}.") if isinstance(value, dict) and value else {before + name: value}
        if twice := flat.keys() & parts.keys():
            raise PflowError(f"cannot make a table: two columns would be called '{min(twice)}'", exit=BAD_DATA)
        flat |= parts
    return flat


def columns_of(rows: list[Row], otherwise: Any = None) -> list[str]:
    """Return the names of all columns in order of appearance; without rows, `otherwise` if it is a list of names."""
    if not rows and isinstance(otherwise, list) and all(isinstance(name, str) for name in otherwise):
        return otherwise
    shapes = dict.fromkeys(map(tuple, rows))
    return list(dict.fromkeys(name for shape in shapes for name in shape))


def is_missing(value: Any) -> bool:
    return value is None or value == ""


def is_int(text: str) -> bool:
    """Return True for a whole number of at most 64 bits, but not for 007 or +1."""
    return _INT.fullmatch(text) is not None and LOWEST <= int(text) < HIGHEST


def is_finite(text: str) -> bool:
    """Return True for a number of any length in the range of a float, which may round it."""
    return _NUMBER.fullmatch(text) is not None and abs(float(text)) < float("inf")


def is_number(text: str) -> bool:
    """Return True for a number that `read_number` does not distort: a float, or a whole number of at most 64 bits."""
    return is_int(text) or (is_finite(text) and (abs(float(text)) < _EXACT or not text.lstrip("-").isdecimal()))


def read_number(text: str | float) -> int | float:
    """Return a float, or an integer if a float would round it."""
    number = float(text)
    return int(text) if abs(number) >= _EXACT and str(text).lstrip("-").isdecimal() else number


CONVERT: dict[str, Callable[[str], Any]] = {INT: int, FLOAT: read_number, BOOL: _BOOLS.__getitem__, TEXT: str}
FITS: dict[str, Callable[[str], bool]] = {INT: is_int, FLOAT: is_number, BOOL: _BOOLS.__contains__}


def kind_of_texts(texts: Collection[str]) -> str:
    """Return the common type of some texts; `str` for an empty collection."""
    return next((kind for kind, fits in FITS.items() if texts and all(map(fits, texts))), TEXT)


def infer(rows: list[Row], names: list[str], texts: Collection[str] = ()) -> None:
    """Convert the texts of each column to their common type, except the columns `texts`. Empty texts become null."""
    for name in names:
        distinct = {row[name] for row in rows} - {"", None}
        convert = CONVERT[TEXT if name in texts else kind_of_texts(distinct)]
        values = {None: None, "": None, **{text: convert(text) for text in distinct}}
        for row in rows:
            row[name] = values[row[name]]


def use_points(rows: list[Row], names: list[str]) -> dict[str, int]:
    """Replace the decimal comma by a point in each column whose texts are all whole numbers or numbers with a comma.

    Return the other columns that have such a number, each with its first row that does not fit. In these a point may
    separate thousands, so nothing is converted.
    """
    others: dict[str, int] = {}
    for name in names:
        points = {text: text.replace(",", ".") for row in rows if (text := row[name])}
        misfits = {text for text, point in points.items() if "." in text or not is_number(point)}
        if not misfits:
            for row in rows:
                row[name] = points.get(row[name], row[name])
        elif any(_GROUPED.fullmatch(text) or ("." in point and is_number(point)) for text, point in points.items()):
            others[name] = next(at for at, row in enumerate(rows) if row[name] in misfits)
    return others


def markdown_table(rows: list[Row], widest: int | None = None) -> str:
    """Format rows as a table in Markdown, with numbers to the right. Cells are cut at `widest` characters."""
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
    text = shorten(text_of(value), widest) if widest else text_of(value)
    return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").replace("\r", "").split("\n"))
