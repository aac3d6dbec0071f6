"""CSV: recognizing its form by the first lines, reading rows, with line and column of errors, and writing them."""

import csv
import io
import re
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator
from itertools import chain, count, islice
from types import SimpleNamespace
from typing import Any

from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError, shorten
from pflow.tables.rows import Row, columns_of, infer, use_points
from pflow.tables.source import suffix_of
from pflow.terminal.messages import say
from pflow.text.printable import counted
from pflow.values.encoding import UNIT, remedy
from pflow.values.jsontext import text_of

_QUOTED = re.compile('"(?:[^"]+|"")*+"')
_STARTS = r"=+\-@\uff1d\uff0b\uff0d\uff20"
"""The characters that begin a formula: those in OWASP's list, and the same in full width."""
_LONGEST = 1 << 24
"""The most characters of a value in a stream: a longer one comes from a quote that is not closed."""
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
    """Return the names of the columns, the rows, and the names of the columns whose decimal commas `use_points` left.

    Values stay texts, unless `infers` asks for the types of columns. If `ragged`, short rows are filled with nulls.
    Values past the header become a list in the column `rest`. Raises PflowError: 65 with line and column, 66 for no
    header.
    """
    sep, text = split_sep(text.removesuffix("\x1a"))  # DOS ended files with it, and some programs still do
    delimiter, quotes, decimal = (sep, True, ".") if sep == UNIT else (delimiter or sep, quotes, decimal)
    limit = csv.field_size_limit(sys.maxsize)  # the text is in memory anyway; the limit is global, so restore it later
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
        _report_texts(texts, names, lambda: _reader(text, form), header)
        if infers:
            infer(rows, names, texts)
        return names, rows, [*texts]
    finally:
        csv.field_size_limit(limit)


def _names_in(header: list[str] | None, name: str, sample: str, form: dict[str, Any], *, has_rest: bool) -> list[str]:
    """Return the names of the columns in a header. Raises PflowError (66) without one."""
    if header is None:
        hint = "a header is enough; --no-header reads it as no rows"
        raise PflowError(f"cannot read '{name}': it is empty", hint=hint, exit=MISSING)
    return name_columns(header if has_rest else complete_header(header, sample, form), "load-csv")


def stream_csv(
    lines: Iterator[bytes], name: str, *, available: int, teller: str = ""
) -> Iterator[Row | tuple[PflowError, bytes]]:
    """Yield the rows of CSV as its lines come, as `read_csv` reads them; for a malformed row, the error and its bytes.

    The form shows in the lines that are `available` without waiting. Messages about renamed columns begin with
    `teller`. Raises PflowError: 65 for a malformed header or a value that is too long, 66 for no header.
    """
    own: list[bytes] = []  # the lines of the current row, which an error shows unchanged

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


def _report_texts(texts: dict[str, int], names: list[str], read: Callable[[], Any], header: bool) -> None:
    """Say which columns stay text, each with a value that is not a number.

    `texts` has the row of that value by column; `read` returns a reader of the records.
    """
    for column, at in texts.items():
        reader = read()
        value = next(islice(filter(None, reader), at + header, None))[names.index(column)]
        why = f"'{shorten(value)}' in line {reader.line_num} is not a number with a decimal comma"
        say("load-csv", f"column '{column}' stays text: {why}")


def _take_sep(lines: Iterator[bytes]) -> tuple[str, Iterator[bytes]]:
    """Return the delimiter in a first line `sep=;`, and the lines, of which that one is now blank."""
    first = next(lines, b"")
    sep, rest = split_sep(first.decode(errors="replace"))
    return sep, chain([rest.encode() if sep else first], lines)


def _uneven(names: list[str], record: list[str], widths: range, rest: str | None) -> Row:
    """Return the row of a record with too few or too many values. Raises ValueError unless `widths` has its length."""
    if len(record) not in widths:
        raise ValueError(record)
    row: Row = {**dict.fromkeys(names), **dict(zip(names, record, strict=False))}
    return {**row, rest: record[len(names) :]} if rest and len(record) > len(names) else row


def _reader(text: str, form: dict[str, Any]) -> Any:
    return csv.reader(io.StringIO(text, newline=""), **form)


def _fault_in(lines: list[bytes], before: int, error: Exception, form: dict[str, Any], name: str) -> str:
    """Return what is wrong in the lines of a record after `before` lines. Raises PflowError for a value too long."""
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
    """Return what is wrong with a record of too many or too few values, which begins at `line`, and a hint."""
    width = len(record)
    if width < len(names):
        return f"line {line}, column {width + 1} ('{names[width]}'): it is missing", "--ragged fills short rows"
    what = f"line {line}, column {len(names) + 1}: it has no name, since the header has {counted(len(names), 'column')}"
    return what, "--rest=NAME names a column for it"


def _place(text: str, form: dict[str, Any], error: str, before: int = 0) -> str:
    """Return the place of a wrong quote in a text after `before` lines. csv.reader tells only where it gave up."""
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
    """Return a function that puts ' before what a spreadsheet may take for a formula, however it splits the line."""
    ends = re.escape(f'{DELIMITERS}{delimiter}"')
    negative = rf"-[0-9.,]+(?:[eE][+-]?[0-9]+)?(?:[{ends}\]]|\Z)"
    start = re.compile(rf"(?:^\ufeff*(?=[\0\t\r\n{_STARTS}])|(?<=[{ends}])(?=[{_STARTS}]))(?!{negative})")
    return lambda texts: [start.sub(r"\g<0>'", text) for text in texts]


def write_csv(
    rows: list[Row], delimiter: str = ",", *, header: bool = True, columns: Any = None, escapes: bool = False
) -> str:
    """Return rows as CSV: null is empty, a list is JSON. Without rows, `columns` are the header.

    If `escapes`, no spreadsheet takes a text for a formula.
    """
    names = columns_of(rows, columns)
    lines: list[str] = []
    # With "\r\n" the writer quotes values that have either character; in the result each line ends with "\n" alone.
    form: dict[str, Any] = {"delimiter": delimiter, "lineterminator": "\r\n"}
    sink: Any = SimpleNamespace(write=lines.append)
    escape = _escaper(delimiter) if escapes else list
    if header and names:
        has_marks = any(mark in name for name in names for mark in DELIMITERS)  # a reader would split there
        csv.writer(sink, **form, quoting=csv.QUOTE_ALL if has_marks else csv.QUOTE_MINIMAL).writerow(escape(names))
    elif header and not rows:
        say("warning", "the CSV has no header, because there are no rows")
    records = ([text_of(each) for each in map(row.get, names)] for row in rows)
    csv.writer(sink, **form).writerows(map(escape, records))
    text = "".join(f"{line[:-2]}\n" for line in lines)
    return "\ufeff" + text if text.startswith("\ufeff") else text  # readers drop the first, as a byte order mark


DELIMITERS = ",;\t|"
"""The delimiters that are recognized. If two fit equally well, the first counts."""
LINE_END = re.compile(r"\r\n?|\n")
SAMPLE = 1 << 17
"""The number of characters that are read to recognize the form."""

_SEP = re.compile(r'("?)sep=(\\t|[^\r\n"])\2*\1\2*(?=[\r\n]|\Z)', re.IGNORECASE)
_QUOTED_VALUE = re.compile(r'(\A *|[,;\t|\r\n] *)"(?:[^"]+|"")*+"(?= *(?:[,;\t|\r\n]|\Z))')
_PROSE = re.compile(r"[,;\t|] |(?<=[0-9]),(?=[0-9])")
_OTHER = re.compile(
    r"\s*(?:(?P<HTML><(?:!doctype\s+html|html|head|body|table)\b)|(?P<XML><\?xml\s)"
    r'|(?P<JSON>[\[{]\s*?$|\[\s*(?:\{\s*"|\]\s*\Z)|\{\s*".*\}\s*?$))',
    re.IGNORECASE | re.MULTILINE,
)
"""The beginnings of texts that are certainly no CSV."""
MOST_LINES = 1_000
"""The number of lines that are read to recognize the form, and the most lines of a header and a row together.

More lines come from a quote that is not closed.
"""
_MOST_NOTES = 5


def split_sep(text: str) -> tuple[str, str]:
    """Return the delimiter in a first line `sep=;`, which Excel reads, and the text with that line made blank."""
    found = _SEP.match(text)
    return (found[2].replace("\\t", "\t"), text[found.end() :]) if found else ("", text)


def find_form(
    lines: Iterator[bytes], name: str, delimiter: str, *, quotes: bool = True, available: int
) -> tuple[list[bytes], str, dict[str, Any]]:
    """Take the first lines; return them, a sample of their text, and the arguments with which csv.reader reads them.

    Take the lines that are `available` without waiting, but at least a header and a row. The delimiter is the given
    one, a tab if the file's name says so, or the one on which the lines agree. Raises PflowError (65) for HTML, XML and
    JSON.
    """
    taken = [*islice(lines, available)]

    def texts() -> Iterator[str]:
        for at in range(MOST_LINES):
            if at == len(taken):
                taken.extend(islice(lines, 1))
            if at == len(taken):
                return
            yield taken[at][:SAMPLE].decode(errors="replace")

    # A quoted value may span lines, so read on until each delimiter has had its chance to find a header and a row.
    for each in delimiter or DELIMITERS:
        deque(islice(filter(None, csv.reader(texts(), delimiter=each)), 2), 0)
    sample = b"".join(taken)[:SAMPLE].decode(errors="replace")
    if other := _OTHER.match(sample):
        hint = "load-json or load-jsonl reads it, in a map --from=json or jsonl" * (other.lastgroup == "JSON")
        raise PflowError(f"cannot read '{name}': it is {other.lastgroup}, not CSV", hint=hint, exit=BAD_DATA)
    bare = _QUOTED_VALUE.sub(r'\1""', sample) if quotes else sample
    delimiter = delimiter or ("\t" if suffix_of(name) in (".tsv", ".tab") else _delimiter_in(bare))
    # csv.reader takes a quote after a space for a part of the value, unless it skips those spaces.
    has_spaces = quotes and delimiter != " " and re.search(f'{re.escape(delimiter)} +""', bare)
    quoting = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    form = {"delimiter": delimiter, "quoting": quoting, "skipinitialspace": bool(has_spaces), "strict": True}
    return taken, sample, form


def _delimiter_in(bare: str) -> str:
    """Return the delimiter of a text without its quoted values: the one in the header on which most lines agree.

    Of several, prefer one that also stands outside prose and decimals, then the one that makes more columns.
    """
    lines = [*filter(None, LINE_END.split(bare))] or [""]
    rows = _PROSE.sub("", "\n".join(lines[1:] or lines))

    def fit(delimiter: str) -> tuple[int, bool, int]:
        width, agree = Counter(line.count(delimiter) for line in lines if delimiter in line).most_common(1)[0]
        return agree, delimiter in rows, width

    return max((each for each in DELIMITERS if each in lines[0]), key=fit, default=",")


def complete_header(header: list[str], sample: str, form: dict[str, Any]) -> list[str]:
    """Return a header as wide as all rows: cut its trailing delimiters, or add empty names for those of the rows.

    Also add an empty first name if the rows have one more value, as R and pandas write tables with names of rows. With
    commas, which may also be part of a text or a number, those names must be numbers as pandas writes them, from 0, or
    as R does, from 1 and in quotes.
    """
    rows = [*filter(None, csv.reader(io.StringIO(sample, newline=""), **{**form, "strict": False}))][1:]
    whole = rows[:-1] or rows  # the end of the sample may cut the last one
    more = len(whole[0]) - len(header) if len({*map(len, whole)}) == 1 else 0
    if more < 0 and not any(header[more:]):
        return header[:more]
    if more > 0 and not any(any(row[-more:]) for row in whole):
        return header + [""] * more
    first, numbers = [row[0] for row in rows], [*map(str, range(len(rows) + 1))]
    is_numbered = first == numbers[:-1] or (first == numbers[1:] and '\n"1",' in sample)
    is_index = len(rows) > 1 and (form["delimiter"] != "," or is_numbered)
    return ["", *header] if more == 1 < len(header) and is_index else header


def name_columns(header: list[str], teller: str) -> list[str]:
    """Return different names for all columns: a second `a` becomes `a_2`, a third column without a name `column_3`.

    Messages about these begin with `teller`; if it is empty, there are none.
    """
    taken = {*header}
    places: dict[str, int] = {}
    numbers: dict[str, Iterator[int]] = {}  # to go on there: a search from 2 for each takes quadratic time
    names, notes = [], []
    for number, name in enumerate(header, 1):
        own = name or f"column_{number}"
        if name in places or (not name and own in taken):
            own = next(each for n in numbers.setdefault(own, count(2)) if (each := f"{own}_{n}") not in taken)
        if not name:
            notes.append(f"column {number} has no name and is called '{own}'")
        elif places.setdefault(name, number) != number:
            notes.append(f"column {number} is called '{own}', because column {places[name]} is '{name}'")
        taken.add(own)
        names.append(own)
    if len(notes) > _MOST_NOTES:
        notes[_MOST_NOTES:] = [f"{len(notes) - _MOST_NOTES:,} more columns have no name of their own"]
    for note in notes if teller else ():
        say(teller, note)
    return names
