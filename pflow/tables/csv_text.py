"""CSV: reading rows, with line and column of errors, and writing them."""

import csv
import io
import re
import sys
from collections.abc import Callable, Iterator
from itertools import chain, islice
from types import SimpleNamespace
from typing import Any

from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError, shorten
from pflow.tables.csv_form import (
    DELIMITERS,
    LINE_END,
    MOST_LINES,
    SAMPLE,
    complete_header,
    find_form,
    name_columns,
    split_sep,
)
from pflow.tables.rows import Row, columns_of, infer, use_points
from pflow.terminal.messages import say
from pflow.text.printable import counted
from pflow.values.encoding import UNIT, remedy
from pflow.values.jsontext import text_of

_QUOTED = re.compile('"(?:[^"]+|"")*+"')
_STARTS = r"=+\-@\uff1d\uff0b\uff0d\uff20"
"""The characters that begin a formula, as OWASP lists them, with those of full width."""
_LONGEST = 1 << 24
"""The most characters of a value in a stream; more are a quote that is not closed."""
_QUOTES = "--no-quotes reads quotation marks as characters, --delimiter=' ' splits at spaces"


def delimiter_of(text: str) -> str:
    """Read the param --delimiter, one character; `tab` and `\\t` are a tab. Raises PflowError (2)."""
    character = "\t" if text in ("tab", "\\t") else text
    if len(character) != 1 or character in "\r\n\0":
        hint = "--delimiter takes one character, or tab"
        raise PflowError(f"cannot use '{text}' as the delimiter: it is not one character", hint=hint, exit=USAGE)
    return character


def read_csv(
    text: str, name: str, *, delimiter: str | None = None, quotes: bool = True, header: bool = True,
    ragged: bool = False, rest: str | None = None, decimal: str = ".", infers: bool = False,
) -> tuple[list[str], list[Row], list[str]]:  # fmt: skip
    """Read the names of the columns, the rows, and the names of those columns that a decimal comma does not fit.

    Each value is a text unless its type is inferred. If `ragged`, a short row is filled with nulls; what a long one has
    more becomes a list in the column `rest`. Raises PflowError: 65 with line and column, 66 for no header.
    """
    sep, text = split_sep(text.removesuffix("\x1a"))  # the end of a file to DOS
    delimiter, quotes, decimal = (sep, True, ".") if sep == UNIT else (delimiter or sep, quotes, decimal)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        start = iter(text[:SAMPLE].encode(errors="replace").splitlines(keepends=True))
        _, sample, form = find_form(start, name, delimiter, quotes=quotes, available=MOST_LINES)
        reader = _reader(text, form)
        records = filter(None, reader)
        first = next(records, None)
        names = [f"c{number}" for number in range(1, len(first or ()) + 1)]
        if header:
            names = _names_in(first, name, sample, form, has_rest=bool(rest))
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
        raise _fault(name, _place(text, form, str(error)), _QUOTES) from None
    except ValueError as error:
        record = error.args[0]
        line = reader.line_num - sum(len(LINE_END.findall(value)) for value in record)
        raise _fault(name, *_ragged(record, names, line)) from None
    else:
        texts = use_points(rows, names) if decimal == "," else {}
        _tell_texts(texts, names, lambda: _reader(text, form), header)
        if infers:
            infer(rows, names, texts)
        return names, rows, [*texts]
    finally:
        csv.field_size_limit(limit)


def _names_in(header: list[str] | None, name: str, sample: str, form: dict[str, Any], *, has_rest: bool) -> list[str]:
    """Return the names of the columns. Raises PflowError: 66 if there is no header."""
    if header is None:
        hint = "a header is enough; --no-header reads it as no rows"
        raise PflowError(f"cannot read '{name}': it is empty", hint=hint, exit=MISSING)
    return name_columns(header if has_rest else complete_header(header, sample, form), "load-csv")


def stream_csv(
    lines: Iterator[bytes], name: str, *, available: int, teller: str = ""
) -> Iterator[Row | tuple[PflowError, bytes]]:
    """Yield the rows of CSV as its lines come, as `read_csv` reads them; for a wrong one, the error and its bytes.

    The form shows in the number of lines that are `available` without waiting. `teller` tells on stderr of columns that
    get another name. Raises PflowError: 65 for a wrong header or a value that is too long, 66 for no header.
    """
    own: list[bytes] = []  # the lines of one row

    def noted(line: bytes) -> str:
        own.append(line)
        return line.decode().removesuffix("\x1a\n")

    names: list[str] = []
    before = 0
    limit = csv.field_size_limit(_LONGEST)
    try:
        sep, lines = _take_sep(lines)
        taken, sample, form = find_form(lines, name, sep, available=available)
        reader = csv.reader(map(noted, chain(taken, lines)), **form)
        while True:
            before, fault = before + len(own), ""
            own.clear()
            try:
                record = next(reader, None)
                row = dict(zip(names or record or (), record or names, strict=True))
            except (csv.Error, UnicodeDecodeError) as error:
                fault = _fault_in(own, before, error, form, name)
            except ValueError:
                fault = _ragged(record or [], names, before + 1)[0]
            if fault and not names:
                raise _fault(name, fault)
            if fault:
                yield _fault(name, fault), b"".join(own)
            elif record is None and not names:
                raise PflowError(f"cannot read '{name}': it is empty", exit=MISSING)
            elif record is None:
                return
            elif record and not names:
                names = name_columns(complete_header(record, sample, form), teller)
            elif record:
                yield row
    finally:
        csv.field_size_limit(limit)


def _tell_texts(texts: dict[str, int], names: list[str], read: Callable[[], Any], header: bool) -> None:
    """Say which columns stay text, and why: each has a row whose value is not a number. `read` begins the records."""
    for column, at in texts.items():
        reader = read()
        value = next(islice(filter(None, reader), at + header, None))[names.index(column)]
        why = f"'{shorten(value)}' in line {reader.line_num} is not a number with a decimal comma"
        say("load-csv", f"column '{column}' stays text: {why}")


def _take_sep(lines: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """Return the delimiter in a first line `sep=;`, and the lines with that one blank."""
    first = next(lines, b"")
    sep, rest = split_sep(first.decode(errors="replace"))
    return sep, chain([rest.encode() if sep else first], lines)


def _uneven(names: list[str], record: list[str], widths: range, rest: str | None) -> Row:
    """Return the row of a record with too few or too many values. Raises ValueError if that is not allowed."""
    if len(record) not in widths:
        raise ValueError(record)
    row: Row = {**dict.fromkeys(names), **dict(zip(names, record, strict=False))}
    return {**row, rest: record[len(names) :]} if rest and len(record) > len(names) else row


def _reader(text: str, form: dict[str, Any]) -> Any:
    return csv.reader(io.StringIO(text, newline=""), **form)


def _fault_in(lines: list[bytes], before: int, error: Exception, form: dict[str, Any], name: str) -> str:
    """Describe what is wrong in the lines of one record; `before` lines precede. Raises PflowError for a long value."""
    if "field limit" in str(error):
        what = f"line {before + 1}: a value has more than {_LONGEST:,} characters"
        raise _fault(name, what, "a quote may not be closed") from None
    data = b"".join(lines)
    if isinstance(error, UnicodeDecodeError):
        return f"line {before + len(lines)}, byte {error.start + 1}: it is not UTF-8 ({remedy(data)})"
    return _place(data.decode(errors="replace"), form, str(error), before)


def _fault(name: str, what: str, hint: str = "") -> PflowError:
    return PflowError(f"cannot read '{name}': {what}", hint=hint, exit=BAD_DATA)


def _ragged(record: list[str], names: list[str], line: int) -> tuple[str, str]:
    """Describe a record with too many or too few values, which begins at this line, and say what allows it."""
    width = len(record)
    if width < len(names):
        return f"line {line}, column {width + 1} ('{names[width]}'): it is missing", "--ragged fills short rows"
    what = f"line {line}, column {len(names) + 1}: it has no name, since the header has {counted(len(names), 'column')}"
    return what, "--rest=NAME names a column for it"


def _place(text: str, form: dict[str, Any], error: str, before: int = 0) -> str:
    """Find the place of a wrong quote; the reader only knows the line at which it noticed. `before` lines precede."""
    stop = re.compile(rf"{re.escape(form['delimiter'])}|\r\n?|\n|\Z")
    at = 0
    while at < len(text):
        while form["skipinitialspace"] and text.startswith(" ", at):
            at += 1
        found = _QUOTED.match(text, at)
        if found is None and text.startswith('"', at):
            return f"{_line_and_column(text, at, before)}: this quote is not closed"
        end = stop.search(text, found.end() if found else at)
        assert end is not None
        if found and end.start() > found.end():
            return f"{_line_and_column(text, found.end(), before)}: something follows a closing quote"
        at = max(end.end(), at + 1)
    return error


def _line_and_column(text: str, at: int, before: int) -> str:
    ends = [match.end() for match in LINE_END.finditer(text, 0, at)]
    return f"line {before + len(ends) + 1}, column {at - (ends[-1] if ends else 0) + 1}"


def _escaper(delimiter: str) -> Callable[[list[str]], list[str]]:
    """Return what puts ' before all that a spreadsheet may take for a formula, in whatever way it splits the line."""
    ends = re.escape(f'{DELIMITERS}{delimiter}"')
    negative = rf"-[0-9.,]+(?:[eE][+-]?[0-9]+)?(?:[{ends}\]]|\Z)"
    start = re.compile(rf"(?:^\ufeff*(?=[\0\t\r\n{_STARTS}])|(?<=[{ends}])(?=[{_STARTS}]))(?!{negative})")
    return lambda texts: [start.sub(r"\g<0>'", text) for text in texts]


def write_csv(
    rows: list[Row], delimiter: str = ",", *, header: bool = True, columns: Any = None, escapes: bool = False
) -> str:
    """Write rows: a column for each name; null is empty, a list is JSON. Without rows, `columns` are the header.

    If `escapes`, a spreadsheet takes no text for a formula.
    """
    names = columns_of(rows, columns)
    lines: list[str] = []
    # "\r\n" makes the writer quote both characters; each line is written by itself, and ends with "\n" in the result.
    form: dict[str, Any] = {"delimiter": delimiter, "lineterminator": "\r\n"}
    sink: Any = SimpleNamespace(write=lines.append)
    escape = _escaper(delimiter) if escapes else list
    if header and names:
        has_marks = any(mark in name for name in names for mark in DELIMITERS)  # a reader would split at them
        csv.writer(sink, **form, quoting=csv.QUOTE_ALL if has_marks else csv.QUOTE_MINIMAL).writerow(escape(names))
    elif header and not rows:
        say("warning", "the CSV has no header, because there are no rows")
    records = ([text_of(each) for each in map(row.get, names)] for row in rows)
    csv.writer(sink, **form).writerows(map(escape, records))
    text = "".join(f"{line[:-2]}\n" for line in lines)
    return "\ufeff" + text if text.startswith("\ufeff") else text  # or a reader would take it for a byte order mark
