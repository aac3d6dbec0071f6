"""JSON and JSON lines: a text to values, with line and column of what is wrong."""

from __future__ import annotations

import re
from typing import Any

from pflow.errors import BAD_DATA, MISSING, PflowError
from pflow.jsontext import WHITESPACE, ScanError, decode

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[^\s\[\]{},:"]+', re.DOTALL)


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
        at, why = _fault(text, error)
        line, column = first_line + text.count("\n", 0, at), at - text.rfind("\n", 0, at)
        raise PflowError(f"cannot read '{name}': line {line}, column {column}: {why}", exit=BAD_DATA) from None


def _fault(text: str, error: ValueError) -> tuple[int, str]:
    """Where a text is wrong, in characters, and why: the scanner says no place of a number that it refuses."""
    at: int | None = getattr(error, "pos", None)
    if at is None:
        return _refused(text), str(error)
    why = str(getattr(error, "msg", error))
    return at, why[:1].lower() + why[1:]


def _refused(text: str) -> int:
    for token in _TOKEN.finditer(text):
        try:
            decode(token[0].encode())
        except ScanError:
            continue
        except ValueError:
            return token.start()
    return 0
