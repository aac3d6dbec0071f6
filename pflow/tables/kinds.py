"""What the texts of a column stand for: whole numbers, numbers, true and false; a column is one only if all are."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from pflow.tables.rows import Row, columns_of
from pflow.values.jsontext import HIGHEST, LOWEST

INT, FLOAT, BOOL, TEXT = "int", "float", "bool", "str"

_INT = re.compile(r"0|-?[1-9][0-9]{0,19}")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)?(?:(?<=[0-9])|(?=\.[0-9]))(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")
_BOOLS = {"true": True, "false": False, "True": True, "False": False, "TRUE": True, "FALSE": False}
_EXACT = 1 << 53
"""Below this a float holds every whole number."""


def is_int(text: str) -> bool:
    """Whether it is a whole number within 64 bits; 007 is not, nor is +1."""
    return _INT.fullmatch(text) is not None and LOWEST <= int(text) < HIGHEST


def is_number(text: str) -> bool:
    """Whether it is a number that a float holds, and if it is whole, holds exactly."""
    if _NUMBER.fullmatch(text) is None:
        return False
    size = abs(float(text))
    return size < (_EXACT if text.lstrip("-").isdecimal() else float("inf"))


CONVERT: dict[str, Callable[[str], Any]] = {INT: int, FLOAT: float, BOOL: _BOOLS.__getitem__, TEXT: str}
FITS: dict[str, Callable[[str], bool]] = {INT: is_int, FLOAT: is_number, BOOL: _BOOLS.__contains__}


def kind_of_texts(texts: Collection[str]) -> str:
    """The kind that all of some texts are; `str` where there are none."""
    return next((kind for kind, fits in FITS.items() if texts and all(map(fits, texts))), TEXT)


def infer(rows: list[Row]) -> None:
    """Give the texts of each column the type that all of them have; an empty one is null."""
    for name in columns_of(rows):
        texts = [row[name] for row in rows]
        distinct = {*texts} - {""}
        convert = CONVERT[kind_of_texts(distinct)]
        values: dict[str, Any] = {"": None, **{text: convert(text) for text in distinct}}
        for row, text in zip(rows, texts, strict=True):
            row[name] = values[text]
