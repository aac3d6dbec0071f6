"""JSON text and Python values, strictly: nothing is rounded, dropped or made up on the way.

Bytes that are not text are {"$bytes": "<base64>"} in JSON; an object of a user's whose only key is `$bytes`,
`$$bytes`, … gains one `$` there. Above a megabyte orjson does the work; below it, importing orjson takes longer than
the work.
"""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.errors import BAD_DATA, PflowError
from pflow.scanner import HIGHEST, INFINITY, LOWEST, WHITESPACE, ScanError, quote, scan

if TYPE_CHECKING:
    from typing import Any

LARGE = 1 << 20
"""Bytes from which on orjson does the work."""


def decode(data: bytes) -> Any:
    """The value of one JSON text in UTF-8. Raises ValueError in words."""
    value = _decode_large(data) if len(data) > LARGE else _decode_small(data)
    if b'$bytes"' not in data and b"\\u" not in data:
        return value
    try:
        return _revive(value)
    except RecursionError:
        raise ScanError("nested too deeply", 0, is_deep=True) from None


def _decode_small(data: bytes) -> Any:
    text = str(data, "utf-8")
    value, end = scan(text, len(text) - len(text.lstrip(WHITESPACE)))
    if text[end:].strip(WHITESPACE):
        raise ScanError("something follows the value", end)
    return value


def _decode_large(data: bytes) -> Any:
    import re

    import orjson

    if re.search(rb"[0-9]{19}", data):  # orjson reads what is past 64 bits as a float
        return _decode_small(data)
    return orjson.loads(data)


def _revive(value: Any) -> Any:
    """Bytes and a user's own objects out of their escapes; lone surrogates are refused."""
    if isinstance(value, str):
        if value.isascii():
            return value
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("a lone surrogate in its text is no character") from None
        return value
    if isinstance(value, list):
        return [_revive(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        (key,) = value
        if key == "$bytes":
            return _bytes(value[key])
        if _is_bytes_key(key):
            return {key[1:]: _revive(value[key])}
    return {_revive(key): _revive(item) for key, item in value.items()}


def _bytes(base64: Any) -> bytes:
    import binascii

    if not isinstance(base64, str):
        raise ValueError('"$bytes" holds no base64 text')
    try:
        return binascii.a2b_base64(base64, strict_mode=True)
    except ValueError:
        raise ValueError('"$bytes" holds no base64 text') from None


def _is_bytes_key(key: str) -> bool:
    return key.startswith("$") and key.lstrip("$") == "bytes"


def encode(value: Any, *, escape: bool = True) -> bytes:
    """The compact JSON text of a value, in UTF-8. Raises PflowError (65) for what JSON cannot hold.

    Without `escape` an object that looks like escaped bytes stays what it is.
    """
    if isinstance(value, str) and len(value) > LARGE:
        return _encode_large(value)
    try:
        return _write(value, escape).encode()
    except UnicodeEncodeError:
        why = "a lone surrogate in its text is no character"
    except RecursionError:
        why = "it is nested too deeply"
    except ValueError as error:
        why = str(error)
    raise PflowError(f"cannot write a {type(value).__name__} as JSON: {why}", exit=BAD_DATA)


def text_of(value: Any) -> str:
    """A value inside text: text as it is, null as nothing, anything else as its JSON text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else str(encode(value), "utf-8")


def _encode_large(value: str) -> bytes:
    import orjson

    try:
        return orjson.dumps(value)
    except TypeError:
        raise PflowError("cannot write a str as JSON: a lone surrogate in it is no character", exit=BAD_DATA) from None


def _write(value: Any, escape: bool) -> str:
    if isinstance(value, str):
        return quote(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not LOWEST <= value < HIGHEST:
            raise ValueError("an integer in it is past 64 bits")
        return int.__repr__(value)
    if isinstance(value, float):
        if value != value or value in (INFINITY, -INFINITY):
            raise ValueError(f"{value} is not JSON")
        return float.__repr__(value)
    if isinstance(value, dict):
        alone = escape and len(value) == 1
        members = [_write_key(key, alone) + ":" + _write(item, escape) for key, item in value.items()]
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join([_write(item, escape) for item in value]) + "]"
    if isinstance(value, bytes | bytearray | memoryview):
        return _write_bytes(value)
    raise ValueError(f"a {type(value).__name__} is no JSON value")


def _write_bytes(value: bytes | bytearray | memoryview) -> str:
    import binascii

    return '{"$bytes":"' + str(binascii.b2a_base64(value, newline=False), "ascii") + '"}'


def _write_key(key: Any, alone: bool) -> str:
    if not isinstance(key, str):
        raise ValueError(f"the key {key!r} is no text")
    return quote("$" + key if alone and _is_bytes_key(key) else key)


_AS_THEY_ARE = (bool, type(None), bytes)


def plain(value: Any) -> Any:
    """A copy of a value as JSON holds it, its tuples as lists. Raises ValueError for what JSON cannot hold."""
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
        return [plain(item) for item in value]
    elif kind is dict:
        return {_plain_key(name): plain(item) for name, item in value.items()}
    elif kind not in _AS_THEY_ARE:
        return _of_kin(value)
    return value


def _of_kin(value: Any) -> Any:
    """What only resembles a JSON value: a tuple, a str of an own class, an enum's member."""
    kinds: tuple[Any, ...] = (str, bool, int, float, dict, list, bytes)
    for kind in kinds:
        if isinstance(value, kind):
            return plain(kind(value))
    if isinstance(value, tuple):
        return plain(list(value))
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise ValueError


def _plain_key(name: Any) -> str:
    if name.__class__ is not str:
        raise ValueError
    if not name.isascii():
        name.encode()
    return str(name)
