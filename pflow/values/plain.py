"""Values as JSON can hold them: copied and checked, changed, measured."""

from __future__ import annotations

from pflow import Any, Callable
from pflow.errors import BAD_DATA, PflowError

LOWEST, HIGHEST = -(1 << 63), 1 << 64
"""The range of integers that are kept, without its end; others are refused."""


def is_bytes_key(key: str) -> bool:
    return key.startswith("$") and key.lstrip("$") == "bytes"


def check_text(text: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("its text has a lone surrogate") from None
    return text


def plain(value: Any, *, escape: bool = False) -> Any:
    """Copy a value as JSON has it, tuples as lists. Raises PflowError (65) if JSON cannot hold it."""
    try:
        return _copy(value, escape)
    except RecursionError:
        why = "it is nested too deeply"
    except ValueError as error:
        why = str(error)
    raise PflowError(f"cannot write a {type(value).__name__} as JSON: {why}", exit=BAD_DATA)


_AS_THEY_ARE = (bool, type(None), bytes)


def _copy(value: Any, escape: bool) -> Any:
    kind = value.__class__
    if kind is str:
        return check_text(value)
    if kind is int:
        if not LOWEST <= value < HIGHEST:
            raise ValueError("it has an integer that does not fit in 64 bits")
    elif kind is float:
        if value - value != 0:
            raise ValueError(f"{value} is not JSON")
    elif kind is list:
        return [_copy(item, escape) for item in value]
    elif kind is dict:
        members = {
            key if key.__class__ is str and key.isascii() else _copy_key(key): item
            if item.__class__ is str and item.isascii()
            else _copy(item, escape)
            for key, item in value.items()
        }  # inlined for plain text: rows hold millions of such members
        if escape and len(members) == 1 and is_bytes_key(key := next(iter(members))):
            return {"$" + key: members[key]}
        return members
    elif kind not in _AS_THEY_ARE:
        return _copy(_kin_of(value), escape)
    return value


_KINDS: tuple[tuple[Any, Any], ...] = (
    *((kind, kind) for kind in (str, int, float, dict)),
    ((list, tuple), list),
    ((bytes, bytearray, memoryview), bytes),
)


def _kin_of(value: Any) -> Any:
    """Convert a tuple, an enum member or an instance of a subclass of str to the JSON value it resembles."""
    for like, kind in _KINDS:
        if isinstance(value, like):
            return kind(value)
    raise ValueError(f"a {type(value).__name__} is not a JSON value")


def _copy_key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"the key {key!r} is not text")
    return check_text(str(key))


def change_texts(value: Any, change: Callable[[str], Any]) -> Any:
    """Return a copy of a value with each text in it changed, wherever it is but in keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [change_texts(item, change) for item in value]
    return {key: change_texts(item, change) for key, item in value.items()} if isinstance(value, dict) else value


def texts_in(value: Any) -> list[str]:
    """List the texts in a value, wherever they are but in keys."""
    texts: list[str] = []
    change_texts(value, texts.append)
    return texts


def is_deeper(value: Any, levels: int) -> bool:
    """Return True if lists and objects are nested in more than this many levels."""
    level = [value]
    for _ in range(levels + 1):
        inside = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, list | dict)]
        level = [part for each in inside for part in each]
    return bool(inside)
