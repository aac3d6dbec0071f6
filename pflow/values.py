"""Fitting values to types: a flag's text to what the type says, and the store's values to what a read wants."""

from __future__ import annotations

import os

from pflow.jsontext import decode, text_of
from pflow.paths import kind_of
from pflow.scanner import HIGHEST, LOWEST
from pflow.types import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def from_text(type: Type, text: str) -> Any:
    """The value that a flag's or a variable's text stands for. Raises ValueError in words when it stands for none."""
    if type.choices:
        if text in type.choices:
            return text
        raise ValueError(f"it is none of {', '.join(type.choices)}")
    return _READERS[type.name](text)


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("its bytes are not UTF-8") from None
    return text


def _path(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


def _int(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isdecimal() and digits.isascii()):
        raise ValueError("it is not an int")
    if len(digits.lstrip("0")) > 20 or not LOWEST <= int(text) < HIGHEST:
        raise ValueError("it is past 64 bits")
    return int(text)


def _float(text: str) -> float:
    try:
        number = float(text) if text.isascii() and not set(text) & set("_ \t\n") else float("nan")
    except ValueError:
        number = float("nan")
    if not abs(number) < float("inf"):
        raise ValueError("it is not a number")
    return number


def _bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("it is neither true nor false")
    return text == "true"


def _json(kind: type, word: str) -> Any:
    def read(text: str) -> Any:
        try:
            value = decode(text.encode())
        except ValueError as error:
            raise ValueError(f"it is not JSON: {error}") from None
        if not isinstance(value, kind):
            raise ValueError(f"it is not {word}")
        return value

    return read


_READERS: dict[str, Any] = {
    "str": _text,
    "any": _text,
    "path": _path,
    "bytes": os.fsencode,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "list": _json(list, "a JSON list"),
    "dict": _json(dict, "a JSON object"),
}


def fit(type: Type, value: Any) -> Any:
    """A value of the store as a read of this type gets it. Raises ValueError naming both when it does not fit."""
    fitted = _FITTERS.get(type.name, _as_it_is)(type, value)
    if fitted is not _MISFIT:
        return fitted
    there = f"'{value}'" if type.choices and isinstance(value, str) else kind_of(value)
    raise ValueError(f"it is {there}, not {type}")


_MISFIT = object()


def _as_it_is(type: Type, value: Any) -> Any:
    return value if type.takes(value) else _MISFIT


def _fit_str(type: Type, value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return str(value, "utf-8")
        except UnicodeDecodeError:
            return _MISFIT
    return _MISFIT if value is None else text_of(value)


def _fit_int(type: Type, value: Any) -> Any:
    if not type.takes(value) or not LOWEST <= value < HIGHEST:
        return _MISFIT
    return int(value)


def _fit_path(type: Type, value: Any) -> Any:
    return os.fsdecode(value) if type.takes(value) else _MISFIT


def _fit_bytes(type: Type, value: Any) -> Any:
    return value.encode() if isinstance(value, str) else _as_it_is(type, value)


def _fit_list(type: Type, value: Any) -> Any:
    if not isinstance(value, list):
        return _MISFIT
    items = type.items
    return [fit(items, item) for item in value] if items else value


_FITTERS = {"str": _fit_str, "int": _fit_int, "path": _fit_path, "bytes": _fit_bytes, "list": _fit_list}
