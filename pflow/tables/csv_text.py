"""CSV: reading rows, with line and column of errors, and writing them."""

import csv
import io
import re
import sys
from itertools import chain
from types import SimpleNamespace
from typing import Any

from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError
from pflow.tables.rows import Row, cell, columns_of

DELIMITERS = ",;\t|"
"""The delimiters that are recognized in a header; of two that are equally frequent, the first counts."""

_HEADER_HINT = "--no-header names the columns c1, c2, … and reads the first line as a row"
_QUOTED = re.compile('"(?:[^"]+|"")*+"')
_LINE_END = re.compile(r"\r\n?|\n")
_SAMPLE = 1 << 16
"""Characters in which to look for the header."""


def delimiter_of(text: str) -> str:
    """Read the param --delimiter, one character; `tab` and `\\t` are a tab. Raises PflowError (2)."""
    character = "\t" if text in ("tab", "\\t") else text
    if len(character) != 1 or character in "\r\n\0 ":
        hint = "--delimiter takes one character, or tab"
        raise PflowError(f"cannot use '{text}' as the delimiter: it is not one character", hint=hint, exit=USAGE)
    return character


def read_csv(
    text: str, name: str, *, delimiter: str | None = None, quotes: bool = True, header: bool = True
) -> list[Row]:  # fmt: skip
    """Read rows, each value a text. Raises PflowError: 65 with line and column, 66 for a text without its header."""
    form: dict[str, Any] = {"quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE}
    form |= {"delimiter": delimiter or _delimiter_in(text, form), "strict": True}
    limit = csv.field_size_limit(sys.maxsize)
    try:
        records = filter(None, _reader(text, form))
        first = next(records, None)
        names = _names(first, name, header=header)
        rest = records if header or first is None else chain([first], records)
        return [dict(zip(names, record, strict=True)) for record in rest]
    except csv.Error as error:
        raise _fault(name, _place(text, form, str(error))) from None
    except ValueError:
        raise _fault(name, _ragged(text, form, names)) from None
    finally:
        csv.field_size_limit(limit)


def _reader(text: str, form: dict[str, Any]) -> Any:
    return csv.reader(io.StringIO(text, newline=""), **form)


def _delimiter_in(text: str, form: dict[str, Any]) -> str:
    """Return the delimiter that gives the first line the most columns."""

    def width(delimiter: str) -> int:
        return len(next(filter(None, _reader(text[:_SAMPLE], {**form, "delimiter": delimiter})), []))

    return max(DELIMITERS, key=width)


def _names(first: list[str] | None, file: str, *, header: bool) -> list[str]:
    if not header:
        return [f"c{number}" for number in range(1, len(first or ()) + 1)]
    if first is None:
        hint = "a header is enough; --no-header reads it as no rows"
        raise PflowError(f"cannot read '{file}': it is empty", hint=hint, exit=MISSING)
    numbers: dict[str, int] = {}
    for number, name in enumerate(first, 1):
        if not name:
            raise _fault(file, f"line 1: column {number} has no name", _HEADER_HINT)
        if name in numbers:
            raise _fault(file, f"line 1: columns {numbers[name]} and {number} are both called '{name}'", _HEADER_HINT)
        numbers[name] = number
    return first


def _fault(name: str, what: str, hint: str = "") -> PflowError:
    return PflowError(f"cannot read '{name}': {what}", hint=hint, exit=BAD_DATA)


def _ragged(text: str, form: dict[str, Any], names: list[str]) -> str:
    """Describe the first line with too many or too few columns."""
    reader, line = _reader(text, form), 1
    for record in reader:
        if record and len(record) != len(names):
            break
        line = reader.line_num + 1
    width = len(record)
    if width < len(names):
        return f"line {line}, column {width + 1} ('{names[width]}'): it is missing"
    return f"line {line}, column {len(names) + 1}: it has no name, since the header has {len(names)} columns"


def _place(text: str, form: dict[str, Any], error: str) -> str:
    """Find the place of a wrong quote; the reader only knows the line at which it noticed."""
    stop = re.compile(rf"{re.escape(form['delimiter'])}|\r\n?|\n|\Z")
    at = 0
    while at < len(text):
        found = _QUOTED.match(text, at)
        if found is None and text[at] == '"':
            return f"{_line_and_column(text, at)}: this quote is not closed"
        end = stop.search(text, found.end() if found else at)
        assert end is not None
        if found and end.start() > found.end():
            return f"{_line_and_column(text, found.end())}: something follows a closing quote"
        at = max(end.end(), at + 1)
    return error


def _line_and_column(text: str, at: int) -> str:
    ends = [match.end() for match in _LINE_END.finditer(text, 0, at)]
    return f"line {len(ends) + 1}, column {at - (ends[-1] if ends else 0) + 1}"


def write_csv(rows: list[Row], delimiter: str = ",", *, header: bool = True) -> str:
    """Write rows: a column for each name; null is empty, a list or object is JSON."""
    names = columns_of(rows)
    lines: list[str] = []
    # "\r\n" makes the writer quote both characters; each line is written by itself, and ends with "\n" in the result.
    form: dict[str, Any] = {"delimiter": delimiter, "lineterminator": "\r\n"}
    sink: Any = SimpleNamespace(write=lines.append)
    if header and names:
        has_marks = any(mark in name for name in names for mark in DELIMITERS)  # a reader would split at them
        csv.writer(sink, **form, quoting=csv.QUOTE_ALL if has_marks else csv.QUOTE_MINIMAL).writerow(names)
    records = ([each if isinstance(each, str) else cell(each) for each in map(row.get, names)] for row in rows)
    csv.writer(sink, **form).writerows(records)
    text = "".join(f"{line[:-2]}\n" for line in lines)
    return "\ufeff" + text if text.startswith("\ufeff") else text  # or a reader would take it for a byte order mark
