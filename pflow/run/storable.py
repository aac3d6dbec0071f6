"""What may stand in a store: what JSON can hold, and bytes."""

from __future__ import annotations

from pflow.errors import BAD_DATA, PflowError
from pflow.jsontext import encode
from pflow.scanner import HIGHEST, LOWEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_AS_THEY_ARE = (bool, type(None), bytes)


def storable(key: str, value: Any) -> Any:
    """A node's write as the store holds it: a copy, its tuples as lists. Raises PflowError (65)."""
    kind = value.__class__
    if (kind is str and value.isascii()) or kind in _AS_THEY_ARE:
        return value
    try:
        return _plain(value)
    except (ValueError, RecursionError):
        pass
    try:
        encode(value)
    except PflowError as error:
        raise error.within(f"cannot store '{key}'") from None
    raise PflowError(f"cannot store '{key}': it is nested too deeply", exit=BAD_DATA)


def _plain(value: Any) -> Any:
    """A copy, of what can stay the same the value itself. Raises ValueError for what JSON cannot hold."""
    kind = value.__class__
    if kind is str:
        if not value.isascii():
            value.encode()
    elif kind is int:
        if not LOWEST <= value < HIGHEST:
            raise ValueError
    elif kind is float:
        if value - value != 0:
            raise ValueError
    elif kind is list:
        return [_plain(item) for item in value]
    elif kind is dict:
        return {_key(name): _plain(item) for name, item in value.items()}
    elif kind not in _AS_THEY_ARE:
        return _of_kin(value)
    return value


def _of_kin(value: Any) -> Any:
    """What only resembles a JSON value: a tuple, a str of an own class, an enum's member."""
    kinds: tuple[Any, ...] = (str, bool, int, float, dict, list, bytes)
    for kind in kinds:
        if isinstance(value, kind):
            return _plain(kind(value))
    if isinstance(value, tuple):
        return _plain(list(value))
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise ValueError


def _key(name: Any) -> str:
    if name.__class__ is not str:
        raise ValueError
    if not name.isascii():
        name.encode()
    return str(name)
