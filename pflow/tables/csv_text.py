"""CSV: reading rows, with line and column of errors, and writing them."""

import csv
import io
import re
import sys
from collections.abc import Iterator
from itertools import chain, count, islice
from types import SimpleNamespace
from typing import Any

from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError, shorten
from pflow.tables.rows import Row, cell, columns_of, infer, use_points
from pflow.terminal.messages import say
from pflow.values.encoding import ELSE

DELIMITERS = ",;\t|"
"""The delimiters that are recognized in a header; of two that are equally frequent, the first counts."""

_HEADER_HINT = "--no-header names the columns c1, c2, … and reads the first line as a row"
_QUOTED = re.compile('"(?:[^"]+|"")*+"')
_LINE_END = re.compile(r"\r\n?|\n")
_SAMPLE = 1 << 16
"""Characters in which to look for the header."""
_LONGEST = 1 << 24
"""The most characters of a value in a stream; more are a quote that is not closed."""


def delimiter_of(text: str) -> str:
    """Read the param --delimiter, one character; `tab` and `\\t` are a tab. Raises PflowError (2)."""
    character = "\t" if text in ("tab", "\\t") else text
    if len(character) != 1 or character in "\r\n\0 ":
        hint = "--delimiter takes one character, or tab"
        raise PflowError(f"cannot use '{text}' as the delimiter: it is not one character", hint=hint, exit=USAGE)
    return character


def read_csv(
    text: str, name: str, *, delimiter: str | None = None, quotes: bool = True, header: bool = True,
    ragged: bool = False, rest: str | None = None, decimal: str = ".", infers: bool = False,
) -> tuple[list[str], list[Row]]:  # fmt: skip
    """Read the names of the columns and the rows, each value a text unless its type is inferred.

    If `ragged`, a short row is filled with nulls; what a long one has more becomes a list in the column `rest`. Raises
    PflowError: 65 with line and column, 66 for a text without its header.
    """
    form: dict[str, Any] = {"quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE}
    form |= {"delimiter": delimiter or _delimiter_in(text, form), "strict": True}
    limit = csv.field_size_limit(sys.maxsize)
    try:
        records = filter(None, _reader(text, form))
        first = next(records, None)
        names = _names(first, name, header=header, teller="load-csv")
        if rest in names:
            raise PflowError(f"cannot read '{name}': it has a column '{rest}'", hint="--rest=NAME, another", exit=USAGE)
        width = len(names)
        widths = range(0 if ragged else width, sys.maxsize if rest else width + 1)
        others = records if header or first is None else chain([first], records)
        rows = [
            dict(zip(names, record)) if len(record) == width else _uneven(names, record, widths, rest)  # noqa: B905
            for record in others
        ]
    except csv.Error as error:
        raise _fault(name, _place(text, form, str(error))) from None
    except ValueError:
        raise _fault(name, *_ragged(text, form, names, widths)) from None
    else:
        texts = use_points(rows, names) if decimal == "," else {}
        for column, at in texts.items():
            reader = _reader(text, form)
            value = next(islice(filter(None, reader), at + header, None))[names.index(column)]
            why = f"'{shorten(value)}' in line {reader.line_num} is not a number with a decimal comma"
            say("load-csv", f"column '{column}' stays text: {why}")
        if infers:
            infer(rows, names, texts)
        return names, rows
    finally:
        csv.field_size_limit(limit)


def stream_csv(
    lines: Iterator[bytes], name: str, *, delimiter: str = "", teller: str = ""
) -> Iterator[Row | tuple[PflowError, bytes]]:
    """Yield the rows of CSV as its lines come, as `read_csv` reads them; for a wrong one, the error and its bytes.

    `teller` tells of doubled columns on stderr. Raises PflowError: 65 for a wrong header or a value that is too long,
    66 for no header.
    """
    head = _take_header(lines, delimiter or DELIMITERS)
    form: dict[str, Any] = {"delimiter": delimiter or _delimiter_in(head.decode(errors="replace"), {}), "strict": True}
    own: list[bytes] = []  # the lines of one row

    def noted(line: bytes) -> str:
        own.append(line)
        return line.decode()

    reader = csv.reader(map(noted, chain(head.splitlines(keepends=True), lines)), **form)
    names: list[str] = []
    before = 0
    limit = csv.field_size_limit(_LONGEST)
    try:
        while True:
            before += len(own)
            fault = ""
            own.clear()
            try:
                record = next(reader, None)
                row = dict(zip(names or record or (), record or names, strict=True))
            except (csv.Error, ValueError) as error:
                fault = _fault_in(own, before, error, form, names)
                if "field limit" in str(error):
                    raise _fault(name, fault, "a quote may not be closed") from None
            if fault and not names:
                raise _fault(name, fault)
            if fault:
                yield _fault(name, fault), b"".join(own)
            elif not names and record != []:
                names = _names(record, name, header=True, teller=teller)
            elif record is None:
                return
            elif record:
                yield row
    finally:
        csv.field_size_limit(limit)


def _uneven(names: list[str], record: list[str], widths: range, rest: str | None) -> Row:
    """Return the row of a record with too few or too many values. Raises ValueError if that is not allowed."""
    if len(record) not in widths:
        raise ValueError
    row: Row = {**dict.fromkeys(names), **dict(zip(names, record, strict=False))}
    return {**row, rest: record[len(names) :]} if rest and len(record) > len(names) else row


def _reader(text: str, form: dict[str, Any]) -> Any:
    return csv.reader(io.StringIO(text, newline=""), **form)


def _delimiter_in(text: str, form: dict[str, Any]) -> str:
    """Return the delimiter that gives the first line the most columns."""

    def width(delimiter: str) -> int:
        return len(next(filter(None, _reader(text[:_SAMPLE], {**form, "delimiter": delimiter})), []))

    return max(DELIMITERS, key=width)


def _take_header(lines: Iterator[bytes], delimiters: str) -> bytes:
    """Take lines until a header has ended with each of the delimiters, or is longer than anybody's."""
    taken = b""
    for line in lines:
        taken += line
        record = taken.lstrip(b"\r\n")
        if len(record) > _SAMPLE or (record and all(_has_ended(record, each) for each in delimiters)):
            break
    return taken


def _has_ended(record: bytes, delimiter: str) -> bool:
    """Return True if a record does not go on after these lines, as in a quote that is open."""
    lines = iter([*record.decode(errors="replace").splitlines(keepends=True), ""])
    next(csv.reader(lines, delimiter=delimiter), None)
    return "" in lines


def _fault_in(lines: list[bytes], before: int, error: Exception, form: dict[str, Any], names: list[str]) -> str:
    """Describe what is wrong in the lines of one record; `before` lines precede."""
    if "field limit" in str(error):
        return f"line {before + 1}: a value has more than {_LONGEST:,} characters"
    if isinstance(error, UnicodeDecodeError):
        return f"line {before + len(lines)}, byte {error.start + 1}: it is not UTF-8 ({ELSE})"
    text = b"".join(lines).decode(errors="replace")
    if isinstance(error, csv.Error):
        return _place(text, form, str(error), before)
    return _ragged(text, form, names, range(len(names), len(names) + 1), before)[0]


def _names(first: list[str] | None, file: str, *, header: bool, teller: str) -> list[str]:
    if not header:
        return [f"c{number}" for number in range(1, len(first or ()) + 1)]
    if first is None:
        hint = "a header is enough; --no-header reads it as no rows"
        raise PflowError(f"cannot read '{file}': it is empty", hint=hint, exit=MISSING)
    names: list[str] = []
    for number, name in enumerate(first, 1):
        if not name:
            raise _fault(file, f"line 1: column {number} has no name", _HEADER_HINT)
        if name in names:
            free = next(each for n in count(2) if (each := f"{name}_{n}") not in {*names, *first})
            if teller:
                say(teller, f"column {number} is called '{free}', because column {first.index(name) + 1} is '{name}'")
            name = free
        names.append(name)
    return names


def _fault(name: str, what: str, hint: str = "") -> PflowError:
    return PflowError(f"cannot read '{name}': {what}", hint=hint, exit=BAD_DATA)


def _ragged(text: str, form: dict[str, Any], names: list[str], widths: range, before: int = 0) -> tuple[str, str]:
    """Describe the first line with too many or too few values, and say what allows it; `before` lines precede."""
    reader, line = _reader(text, form), before + 1
    for record in reader:
        if record and len(record) not in widths:
            break
        line = before + reader.line_num + 1
    width = len(record)
    if width < len(names):
        return f"line {line}, column {width + 1} ('{names[width]}'): it is missing", "--ragged fills short rows"
    what = f"line {line}, column {len(names) + 1}: it has no name, since the header has {len(names)} columns"
    return what, "--rest=NAME names a column for it"


def _place(text: str, form: dict[str, Any], error: str, before: int = 0) -> str:
    """Find the place of a wrong quote; the reader only knows the line at which it noticed. `before` lines precede."""
    stop = re.compile(rf"{re.escape(form['delimiter'])}|\r\n?|\n|\Z")
    at = 0
    while at < len(text):
        found = _QUOTED.match(text, at)
        if found is None and text[at] == '"':
            return f"{_line_and_column(text, at, before)}: this quote is not closed"
        end = stop.search(text, found.end() if found else at)
        assert end is not None
        if found and end.start() > found.end():
            return f"{_line_and_column(text, found.end(), before)}: something follows a closing quote"
        at = max(end.end(), at + 1)
    return error


def _line_and_column(text: str, at: int, before: int) -> str:
    ends = [match.end() for match in _LINE_END.finditer(text, 0, at)]
    return f"line {before + len(ends) + 1}, column {at - (ends[-1] if ends else 0) + 1}"


def write_csv(rows: list[Row], delimiter: str = ",", *, header: bool = True, columns: Any = None) -> str:
    """Write rows: a column for each name; null is empty, a list is JSON. Without rows, `columns` are the header."""
    names = columns_of(rows, columns)
    lines: list[str] = []
    # "\r\n" makes the writer quote both characters; each line is written by itself, and ends with "\n" in the result.
    form: dict[str, Any] = {"delimiter": delimiter, "lineterminator": "\r\n"}
    sink: Any = SimpleNamespace(write=lines.append)
    if header and names:
        has_marks = any(mark in name for name in names for mark in DELIMITERS)  # a reader would split at them
        csv.writer(sink, **form, quoting=csv.QUOTE_ALL if has_marks else csv.QUOTE_MINIMAL).writerow(names)
    elif header and not rows:
        say("warning", "the CSV has no header, because there are no rows")
    records = ([each if isinstance(each, str) else cell(each) for each in map(row.get, names)] for row in rows)
    csv.writer(sink, **form).writerows(records)
    text = "".join(f"{line[:-2]}\n" for line in lines)
    return "\ufeff" + text if text.startswith("\ufeff") else text  # or a reader would take it for a byte order mark
