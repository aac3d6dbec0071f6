"""JSON and JSON lines: a text to values, with line and column of what is wrong."""

from __future__ import annotations

from typing import Any

from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.values.json_input import place_of
from pflow.values.jsontext import WHITESPACE, decode


def read_json(text: str, name: str) -> Any:
    """The value of a text. Raises PflowError (65) with line and column; 66 where there is nothing."""
    if not text.strip(WHITESPACE):
        raise PflowError(f"cannot read '{name}': it is empty", exit=MISSING)
    return _decode(text, name, 1)


def read_lines(text: str, name: str) -> list[Any]:
    """The value of each line that is not blank. Raises PflowError (65) with line and column."""
    lines = enumerate(text.split("\n"), 1)
    return [_decode(line, name, number) for number, line in lines if line.strip(WHITESPACE)]


def _decode(text: str, name: str, first_line: int) -> Any:
    try:
        return decode(text.encode())
    except ValueError as error:
        where = place_of(text, error, first_line=first_line)
        raise PflowError(f"cannot read '{name}': {where}", exit=BAD_DATA) from None
