"""A sheet of an Excel workbook as CSV, by openpyxl, which reads row by row, so that no far cell fills the memory."""

import csv
import io
import warnings
from datetime import datetime
from typing import Any
from zipfile import ZipFile

from pflow.errors import BAD_DATA, PflowError
from pflow.files.installation import no_extra
from pflow.files.reading import check_unpacked
from pflow.terminal.messages import say_once


def first_sheet(data: bytes, act: str) -> str:
    """Return the cells of the first sheet that has some as CSV, each in quotes.

    `act` begins the messages. Raises PflowError: 65 for a damaged workbook and for a bomb, 78 without openpyxl.
    """
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise no_extra(f"{act}: it is an Excel workbook", "openpyxl", "xlsx") from error
    try:
        with ZipFile(io.BytesIO(data)) as archive, warnings.catch_warnings(action="ignore"):
            check_unpacked(len(data), sum(each.file_size for each in archive.infolist()), act)
            sheets = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False).worksheets
            title, rows = next(((each.title, rows) for each in sheets if (rows := _texts(each, data, act))), ("", []))
    except (PflowError, MemoryError):
        raise
    except Exception as error:  # openpyxl raises many
        raise PflowError(f"{act}: it is a damaged Excel workbook: {error}", exit=BAD_DATA) from error
    if title and (others := ", ".join(f"'{each.title}'" for each in sheets if each.title != title)):
        say_once(f"{act.replace('cannot read', 'read')}: its sheet '{title}', not {others}")
    width = max(map(len, rows), default=0)
    check_unpacked(len(data), width * len(rows) * 3, act)
    made = io.StringIO()
    padded = (row + [""] * (width - len(row)) for row in rows)
    csv.writer(made, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(padded)
    return made.getvalue()


def _texts(sheet: Any, data: bytes, act: str) -> list[list[str]]:
    """Return the texts of the rows, without the empty rows around them, and the empty cells at their ends."""
    rows: list[list[str]] = []
    size = 0
    sheet.reset_dimensions()  # some programs write wrong ones
    for cells in sheet.iter_rows():
        row = [_text(cell) for cell in cells]
        while row and not row[-1]:
            row.pop()
        size += sum(map(len, row)) + len(row)
        check_unpacked(len(data), size, act)
        rows += [row] if row or rows else []
    while rows and not rows[-1]:
        rows.pop()
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
