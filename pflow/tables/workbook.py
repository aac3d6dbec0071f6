"""A sheet of an Excel workbook as CSV, by openpyxl, which reads row by row, so that no far cell fills the memory."""

import csv
import io
import re
import warnings
from datetime import datetime
from typing import Any
from zipfile import ZipFile

from pflow.errors import BAD_DATA, PflowError
from pflow.files.installation import needs
from pflow.files.reading import check_unpacked
from pflow.process.worker import say_once
from pflow.values.encoding import UNIT

_NO_RESULT = re.compile(
    rb"""<(?:\w+:)?c\s(?![^>]*\bt="str")[^>]*?\br="(\w+)"[^>]*>\s*<((?:\w+:)?)f\b[^>]*(?:/>|>[^<]*</\2f>)"""
    rb"""\s*(?:<\2v\s*/>|<\2v></\2v>)?\s*</\2c>"""
)
"""A cell with a formula and no result, as programs write it that do not calculate; an empty text is a result."""


def first_sheet(data: bytes, act: str) -> str:
    """Return the cells of the first sheet that has some as CSV, without its empty rows and columns.

    The delimiter is UNIT, each cell is in quotes. `act` begins the messages. Raises PflowError: 65 for a damaged
    workbook and for a bomb, 78 without openpyxl.
    """
    with needs(f"{act}: it is an Excel workbook", "openpyxl", "xlsx"):
        from openpyxl import load_workbook
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
    except Exception as error:  # openpyxl raises many
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
    """Return the texts of the rows that have some, without the empty cells at their ends."""
    rows: list[list[str]] = []
    size = 0
    sheet.reset_dimensions()  # some programs write wrong ones
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
