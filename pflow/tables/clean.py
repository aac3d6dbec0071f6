"""Cleaning rows: white space, types, empty rows and duplicates."""

from collections.abc import Iterable, Sequence
from typing import Any

from pflow.errors import BAD_DATA, USAGE, PflowError, shorten
from pflow.tables.rows import BOOL, CONVERT, FITS, FLOAT, INT, TEXT, Row, columns_of, is_missing
from pflow.terminal.messages import say
from pflow.text.naming import read_pairs
from pflow.values.jsontext import compact, text_of

EMPTY, DUPLICATES, VALUES = "empty", "duplicates", "values"
"""The names in `dropped`: empty rows, duplicate rows, values that do not have their column's type."""


class Cleaner:
    """One cleaning of rows, in this order: rename, strip, types, empty rows, duplicates.

    `texts` are the columns that stay or become text. `dropped` counts what was removed. A strict cleaning raises
    PflowError (65) instead, with the row (from 1) and the column.
    """

    def __init__(self, rows: list[Row], columns: Any, texts: Any, *, is_strict: bool) -> None:
        self.rows = [*map(dict, rows)]
        self.names = columns_of(rows, columns)
        self.texts = [name for name in self.names if name in (texts or ())]
        self.numbers: Sequence[int] = range(1, len(rows) + 1)
        self.is_strict = is_strict
        self.dropped = {EMPTY: 0, DUPLICATES: 0, VALUES: 0}

    def rename(self, pairs: dict[str, str]) -> None:
        """Rename columns."""
        self._check_names(pairs, "rename")
        names = [pairs.get(name, name) for name in self.names]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise PflowError(f"cannot clean the rows: two columns would be called '{twice}'", exit=BAD_DATA)
        if names != self.names:
            new = dict(zip(self.names, names, strict=True))
            self.rows = [{new[name]: value for name, value in row.items()} for row in self.rows]
            self.names, self.texts = names, [new[name] for name in self.texts]

    def strip(self) -> None:
        """Strip white space around every text, column names included."""
        self.rename({name: name.strip() for name in self.names if name != name.strip()})
        for name in self.names:
            texts = {value for row in self.rows if (value := row.get(name)).__class__ is str}
            stripped = {text: bare for text in texts if (bare := text.strip()) != text}
            for row in self.rows if stripped else ():
                if row.get(name).__class__ is str and row[name] in stripped:
                    row[name] = stripped[row[name]]

    def convert(self, types: dict[str, str], misfits: str) -> None:
        """Convert columns to types, and empty texts to null. `misfits` is error (65), null, or drop (the row).

        In a column that was read as text, a point may separate thousands, so 1.234 does not count as a number.
        """
        self._check_names(types, "types")
        kinds = {**dict.fromkeys(self.texts, TEXT), **types}
        unclear = {name for name in self.texts if types.get(name) in (INT, FLOAT)}
        self.texts = [name for name in self.names if kinds.get(name) == TEXT]
        fits = [True] * len(self.rows)
        for name, kind in types.items():
            known: dict[str, Any] = {}
            for at, row in enumerate(self.rows):
                if row.get(name) is None:
                    continue
                text = _text(row[name], kind)
                if text not in known:
                    known[text] = None if name in unclear and "." in text else _converted(text, kind)
                row[name] = known[text]
                if row[name] is None and text:
                    why = f"column '{name}': '{shorten(text)}' is not {kind}" + " in a column of text" * (
                        name in unclear
                    )
                    if misfits == "error":
                        raise _refused(self.numbers[at], why, "--misfits=null or drop allows it")
                    self._drop(VALUES, self.numbers[at], why)
                    if self.dropped[VALUES] == 1:
                        say("clean-data", f"row {self.numbers[at]}: {why}")
                    fits[at] = misfits != "drop"
        self._keep(fits)

    def drop_empty(self) -> None:
        """Drop rows without a value."""
        kept = [any(not is_missing(value) for value in row.values()) for row in self.rows]
        self._drop_rows(kept, EMPTY, "it is empty")

    def drop_duplicates(self, names: list[str]) -> None:
        """Drop rows that equal an earlier one in these columns, or in all. A missing value equals no other one."""
        self._check_names(names, "unique-by")
        first: dict[Any, int] = {}
        numbers = zip(self.numbers, self.rows, strict=True)
        kept = [
            any(is_missing(row.get(name)) for name in names)
            or first.setdefault(_identity(row, names or self.names), number) == number
            for number, row in numbers
        ]
        self._drop_rows(kept, DUPLICATES, "it is a duplicate")

    def _drop_rows(self, kept: list[bool], what: str, why: str) -> None:
        if not all(kept):
            self._drop(what, self.numbers[kept.index(False)], why, kept.count(False))
            self._keep(kept)

    def _keep(self, kept: list[bool]) -> None:
        self.rows = [row for row, is_kept in zip(self.rows, kept, strict=True) if is_kept]
        self.numbers = [number for number, is_kept in zip(self.numbers, kept, strict=True) if is_kept]

    def _drop(self, what: str, number: int, why: str, count: int = 1) -> None:
        if self.is_strict:
            raise _refused(number, why, "without --strict it is dropped")
        self.dropped[what] += count

    def _check_names(self, names: Iterable[str], flag: str) -> None:
        unknown = next((name for name in names if name not in self.names), None)
        if unknown is not None and self.names:
            hint = f"--{flag} takes one of {', '.join(self.names)}"
            raise PflowError(f"cannot clean the rows: no column is called '{unknown}'", hint=hint, exit=BAD_DATA)


def _refused(number: int, why: str, hint: str) -> PflowError:
    return PflowError(f"cannot clean the rows: row {number}: {why}", hint=hint, exit=BAD_DATA)


def pairs_of(texts: list[str], flag: str, values: tuple[str, ...] = ()) -> dict[str, str]:
    """Read NAME=VALUE texts by name. Raises PflowError (2) for other texts, and for values not in `values`."""
    wanted = f"NAME={'|'.join(values)}" if values else "OLD=NEW"
    pairs = read_pairs(f"--{flag}", texts, wanted, at_last=True)
    for name, value in pairs:
        if not value or (values and value not in values):
            raise PflowError(f"cannot read --{flag}='{name}={value}'", hint=f"it is --{flag}={wanted}", exit=USAGE)
    return dict(pairs)


KINDS = (INT, FLOAT, BOOL, TEXT)


def _text(value: Any, kind: str) -> str:
    """Return a value's text. A float such as 3.0 becomes 3 for a column of int."""
    return text_of(int(value) if kind == INT and isinstance(value, float) and value.is_integer() else value)


def _converted(text: str, kind: str) -> Any:
    if kind == TEXT:
        return text
    return CONVERT[kind](text) if FITS[kind](text) else None


def _identity(row: Row, names: list[str]) -> Any:
    """Return a value that equal rows share. It is JSON, since 1 == True in Python."""
    values = tuple(map(row.get, names))
    return values if {*map(type, values)} <= {str} else compact(values)
