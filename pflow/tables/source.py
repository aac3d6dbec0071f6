"""The input of a table or a map: the text, or JSON, of a file or the pipe; it may be packed, or an Excel workbook."""

import csv
import io
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from datetime import datetime
from importlib import import_module
from itertools import chain
from typing import Any

from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.files.file_paths import checked_path, read_whole
from pflow.files.installation import needs
from pflow.files.members import HEAD, unpack_members
from pflow.files.reading import check_size, check_unpacked
from pflow.values.encoding import PACKED, UNIT, WORKBOOK, ZIP, decode_as, not_utf8, recognize, remedy, wide_codec
from pflow.values.fast_json import LARGE, decode
from pflow.values.json_input import place_of
from pflow.values.jsontext import WHITESPACE
from pflow.values.paths import type_name

STDIN = "stdin"


def read_text(path: Any, text: Any, encoding: str | None = None, *, is_table: bool = False) -> tuple[str, str]:
    """Return a name for errors, and the text of a file or else the given text, without a byte order mark.

    Packed data is unpacked; for a table, an Excel workbook becomes the CSV of its first sheet. Raises PflowError: 66
    if there is neither a path nor a text, or no such file, 65 if the encoding does not fit.
    """
    if path is None and text is None:
        hint = "--file=PATH names a file; a text comes through the pipe"
        raise PflowError("cannot read: there is no file and no text", hint=hint, exit=MISSING)
    if path is None and isinstance(text, str) and "\n" not in text and os.path.isfile(text):
        what = f"cannot read '{text}' as a text: it is the name of a file"
        hint = "--each --as=path takes it as the path, in a map the word '$item' does"
        raise PflowError(what, hint=hint, exit=BAD_DATA)
    name = STDIN if path is None else checked_path(path, "read")
    content = text
    is_wide = isinstance(text, str) and text.isascii() and ("\0" in text or (encoding and "\x1b" in text))
    if is_wide or (isinstance(text, str) and recognize(text[:300].encode("utf-8", "replace"))[0]):
        content = text.encode()  # UTF-16, ISO 2022 or a file such as a PDF, whose bytes are valid UTF-8 by chance
    if path is not None:
        content = read_whole(name, lambda data: _decode(data, name, encoding, is_table))
    elif isinstance(content, bytes):
        content = _decode(content, name, encoding, is_table)
    if not isinstance(content, str):
        is_names = isinstance(content, list) and bool(content) and all(isinstance(each, str) for each in content)
        hint = "--each --as=path in a flow loads each of its files" if is_names else "it is loaded already"
        raise PflowError(f"cannot read {type_name(content)}: it is not text", hint=hint, exit=BAD_DATA)
    return name, content.removeprefix("\ufeff")


def _decode(data: bytes, name: str, encoding: str | None, is_table: bool) -> str:
    act = f"cannot read '{name}'"
    is_workbook, parts = unpack([data], act, is_table=is_table)
    data = join(parts, act)
    if encoding and not is_workbook:
        return decode_as(encoding, data, name)
    if wide_codec(data):
        raise PflowError(f"{act}: {not_utf8(data)}", hint=remedy(data), exit=BAD_DATA)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        start = error.start
        line, column = data.count(b"\n", 0, start) + 1, start - data.rfind(b"\n", 0, start)
        what = f"{act}: line {line}, byte {column}: it is not UTF-8"
        raise PflowError(what, hint=remedy(data), exit=BAD_DATA) from None


def read_json(text: str, name: str) -> Any:
    """Decode the JSON of a text. Raises PflowError (65) with line and column; 66 if it is empty."""
    if not text.strip(WHITESPACE):
        raise PflowError(f"cannot read '{name}': it is empty", exit=MISSING)
    return _value(text, name, 1)


def read_lines(text: str, name: str) -> list[Any]:
    """Decode each line that is not blank. Raises PflowError (65) with line and column."""
    if len(text) >= LARGE:
        import orjson  # noqa: F401 - so each line is decoded with it
    lines = enumerate(text.split("\n"), 1)
    return [_value(line, name, number) for number, line in lines if line.strip(WHITESPACE)]


def _value(text: str, name: str, first_line: int) -> Any:
    try:
        return decode(text.encode())
    except ValueError as error:
        where = place_of(text, error, first_line=first_line)
        raise PflowError(f"cannot read '{name}': {where}", exit=BAD_DATA) from None


SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
_UNPACKERS: dict[str, tuple[str, str, dict[str, int]]] = {
    "gzip data": ("zlib", "decompressobj", {"wbits": 31}),
    "bzip2 data": ("bz2", "BZ2Decompressor", {}),
    "xz data": ("lzma", "LZMADecompressor", {"memlimit": 1 << 28}),  # a file says how much memory its unpacking takes
    "Zstandard data": (_ZSTD, "ZstdDecompressor", {}),
}
"""The module and the class that unpack each kind of data, and the arguments of the class."""


def suffix_of(path: str) -> str:
    """Return the suffix that tells a file's form, in small letters: the one before .gz if the file is packed."""
    stem, suffix = os.path.splitext(path.lower())
    return os.path.splitext(stem)[1] if suffix in SUFFIXES else suffix


def unpack(parts: Iterable[bytes], act: str, *, is_table: bool) -> tuple[bool, Iterator[bytes]]:
    """Return False and the unpacked parts of a text, or for a table True and the CSV of a workbook's first sheet.

    Raises PflowError, which begins with `act`: 65 for what is not text, for data that is damaged or cut short, and for
    a bomb; 78 if a library is missing.
    """
    parts = _unpacked(iter(parts), act)
    head = next(parts, b"")
    if head.startswith(b"PK\3\4"):
        head = join(chain([head], parts), act)  # a zip has its table of contents at its end
    kind, hint = recognize(head)
    is_damaged = kind == ZIP[0] and act.lower().endswith((".xlsx'", ".xlsm'"))
    if is_table and (kind == WORKBOOK or is_damaged):
        from pflow.tables.source import first_sheet

        return True, iter([first_sheet(head, act).encode()])
    if kind:
        raise PflowError(f"{act}: it is {kind}", hint=hint, exit=BAD_DATA)
    return False, chain([head], parts)


def join(parts: Iterable[bytes], act: str) -> bytes:
    """Join the parts of an input. Raises PflowError (65) for more than --max-input."""
    got, size = [], 0
    for part in parts:
        got.append(part)
        size += len(part)
        check_size(size, act)
    return b"".join(got)


def _unpacked(parts: Iterator[bytes], act: str) -> Iterator[bytes]:
    """Yield the data, unpacked if its first bytes say that it is packed."""
    head, part = b"", b"-"
    while part and len(head) < HEAD and any(head[: len(mark)] == mark[: len(head)] for mark in PACKED):
        part = next(parts, b"")
        head += part
    kind = recognize(head)[0]
    yield from _members(chain([head], parts), kind, act) if kind in _UNPACKERS else chain([head], parts)


def _members(parts: Iterator[bytes], kind: str, act: str) -> Iterator[bytes]:
    library, name, options = _UNPACKERS[kind]
    with needs(f"{act}: it is {kind}", library, "zstd"):
        module = import_module(library)
    from pflow.process.worker import say_once  # not at the top: it brings pickle, and few files are packed

    say_once(f"unpacking {kind}")
    made = 0

    def begin(data: bytes, is_first: bool) -> Any:
        if is_first or recognize(data)[0] == kind:
            return getattr(module, name)(**options)
        return say_once(f"{act.replace('cannot read', 'ignored what follows the end of')}: it is not {kind}")

    try:
        for size, part in unpack_members(parts, begin):
            made += len(part)
            check_unpacked(size, made, act)
            yield part
    except EOFError as error:
        raise PflowError(f"{act}: its {kind} is cut short", exit=BAD_DATA) from error
    except ValueError as error:
        raise PflowError(f"{act}: its {kind} is damaged: {error}", exit=BAD_DATA) from error


_NO_RESULT = re.compile(
    rb"""<(?:\w+:)?c\s(?![^>]*\bt="str")[^>]*?\br="(\w+)"[^>]*>\s*<((?:\w+:)?)f\b[^>]*(?:/>|>[^<]*</\2f>)"""
    rb"""\s*(?:<\2v\s*/>|<\2v></\2v>)?\s*</\2c>"""
)
"""A cell with a formula and no result: programs that do not calculate write such cells. An empty text is a result."""


def first_sheet(data: bytes, act: str) -> str:
    """Return the first sheet that is not empty as CSV, without its empty rows and columns.

    The delimiter is UNIT, and each cell is in quotes. openpyxl reads row by row, so that a cell far from the others
    does not fill the memory. Raises PflowError, which begins with `act`: 65 for a damaged workbook and for a bomb, 78
    without openpyxl.
    """
    with needs(f"{act}: it is an Excel workbook", "openpyxl", "xlsx"):
        from openpyxl import load_workbook
    from zipfile import ZipFile

    from pflow.process.worker import say_once

    told = act.replace("cannot read", "read")
    try:
        with ZipFile(io.BytesIO(data)) as archive, warnings.catch_warnings(action="ignore"):
            check_unpacked(len(data), sum(each.file_size for each in archive.infolist()), act)
            sheets = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False).worksheets
            sheet, rows = next(((each, rows) for each in sheets if (rows := _texts(each, data, act))), (None, []))
            if sheet and (found := _NO_RESULT.search(archive.read(sheet._worksheet_path))):
                say_once(f"{told}: the formula in {found[1].decode()} has no result, and so the cell is empty")
    except (PflowError, MemoryError):
        raise
    except Exception as error:  # openpyxl raises whatever a damaged file leads it to
        raise PflowError(f"{act}: it is a damaged Excel workbook: {error}", exit=BAD_DATA) from error
    if sheet and (others := ", ".join(f"'{each.title}'" for each in sheets if each is not sheet)):
        say_once(f"{told}: its sheet '{sheet.title}', not {others}")
    used = sorted({at for row in rows for at, text in enumerate(row) if text})
    check_unpacked(len(data), len(used) * len(rows) * 3, act)
    made = io.StringIO()
    made.write(f"sep={UNIT}\n" * bool(rows))
    filled = ([row[at] if at < len(row) else "" for at in used] for row in rows)
    csv.writer(made, delimiter=UNIT, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(filled)
    return made.getvalue()


def _texts(sheet: Any, data: bytes, act: str) -> list[list[str]]:
    """Return the texts of all rows that are not empty, without the empty cells at their ends."""
    rows: list[list[str]] = []
    size = 0
    sheet.reset_dimensions()  # some programs write wrong ones, by which openpyxl would leave out cells
    for cells in sheet.iter_rows():
        row = [_text(cell) for cell in cells]
        while row and not row[-1]:
            row.pop()
        size += sum(map(len, row)) + len(row)
        check_unpacked(len(data), size, act)
        rows += [row] if row else []
    return rows


def _text(cell: Any) -> str:
    """Return the text of a cell as a CSV export has it: 2026-11-28, 3, TRUE, nothing."""
    value = cell.value
    if isinstance(value, datetime):
        is_day = value == datetime.combine(value, datetime.min.time()) and "h" not in cell.number_format.lower()
        return str(value.date() if is_day else value)
    if isinstance(value, bool):
        return str(value).upper()
    return "" if value is None else str(value)
