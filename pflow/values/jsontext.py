"""JSON text to Python values and back, strictly: nothing is rounded, dropped or made up.

Bytes become {"$bytes": "<base64>"} in JSON; a user's object whose only key is `$bytes`, `$$bytes`, … gains one `$`.
"""

from __future__ import annotations

import os
import sys

# json itself imports `re` and `enum`, which would take half of a stage's start; its C parts need neither.
from _json import encode_basestring, make_encoder, make_scanner
from _json import scanstring as _scanstring

from pflow import Any, Callable
from pflow.errors import BAD_DATA, PflowError

quote = encode_basestring

LOWEST, HIGHEST = -(1 << 63), 1 << 64
"""The range of integers in JSON (HIGHEST itself is outside). Others are refused: a float would round them."""

LONG = 1 << 24
"""The size of a text, in bytes or characters, from which it is read and written in parts (fast_json)."""

WHITESPACE = " \t\n\r"
BLANK = WHITESPACE + "\ufeff"
"""The characters that may stand around a JSON text: some programs write a byte order mark."""


class ScanError(ValueError):
    """An error in JSON; `pos` is its place in characters."""

    def __init__(self, message: str, pos: int) -> None:
        super().__init__(message)
        self.pos = pos


class TooLarge(ValueError):
    """A number in JSON that cannot be kept."""


def _parse_int(text: str) -> int:
    number = int(text) if len(text) <= 20 else HIGHEST
    if not LOWEST <= number < HIGHEST:
        raise TooLarge(f"the integer {text[:24]} does not fit in 64 bits")
    return number


def _parse_float(text: str) -> float:
    number = float(text)
    if number - number != 0:  # 1e999 is infinite as a float
        raise TooLarge(f"the number {text[:24]} does not fit in a float")
    return number


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key '{next(key for key in keys if keys.count(key) > 1)}' appears twice")
    return members


class _Strict:
    """The attributes that the C scanner reads from its decoder."""

    strict = True
    object_hook = None
    object_pairs_hook: Callable[..., Any] | None = None
    parse_int = staticmethod(_parse_int)
    parse_float = staticmethod(_parse_float)
    parse_constant = staticmethod(_refuse_constant)


class _WithoutDuplicates(_Strict):
    object_pairs_hook = staticmethod(_refuse_duplicates)


TRAILING = "nothing follows the comma"

_WORDS = {
    "Unterminated string starting at": "the string that begins here has no end",
    "Invalid control character at": "a control character in a string must be escaped",
    "Expecting ',' delimiter": "a comma or bracket is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting property name enclosed in double quotes": "a key in double quotes is missing",
    **dict.fromkeys([f"Illegal trailing comma before end of {each}" for each in ("object", "array")], TRAILING),
}
"""Plainer words for the messages of json."""


def plain_words(message: str) -> str:
    """Return a message of json in plainer words."""
    return _WORDS.get(message, message.lower())


def _call(scan: Callable[..., tuple[Any, int]], *arguments: Any) -> tuple[Any, int]:
    try:
        try:
            return scan(*arguments)
        except SystemError:  # the C parts look up json's error class, whose module is not loaded yet
            import json.decoder  # noqa: F401

            return scan(*arguments)
    except ValueError as error:
        said = getattr(error, "msg", None)
        if said is None:
            raise
        raise ScanError(plain_words(said), error.pos) from None  # type: ignore[attr-defined]


def _scanner(context: type[_Strict]) -> Callable[..., tuple[Any, int]]:
    scan_once = make_scanner(context)  # type: ignore[arg-type]

    def scan(text: str, at: int = 0) -> tuple[Any, int]:
        """Return the JSON value that begins at `text[at]`, and its end. Raises ValueError in words."""
        try:
            value, end = _call(scan_once, text, at)
        except StopIteration as stop:
            raise ScanError("no JSON value", stop.value) from None
        except RecursionError:
            raise ScanError("nested too deeply", at) from None
        if sys.version_info >= (3, 12):  # since then the C parts read deeper nesting than our functions can follow
            limit = sys.getrecursionlimit()
            if text.count("[", at, end) + text.count("{", at, end) > limit and is_deeper(value, limit):
                raise ScanError("nested too deeply", at)
        return value, end

    return scan


scan = _scanner(_Strict)
scan_without_duplicates = _scanner(_WithoutDuplicates)


def scanstring(text: str, at: int) -> tuple[str, int]:
    """Return the string whose opening quote is before `text[at]`, and its end. Raises ValueError in words."""
    return _call(_scanstring, text, at, True)


def decode(data: bytes | memoryview) -> Any:
    """Decode one JSON text in UTF-8, also behind a byte order mark. Raises ValueError in words."""
    text = str(data, "utf-8")
    value, end = scan(text, len(text) - len(text.lstrip(BLANK)))
    if text[end:].strip(BLANK):
        raise ScanError("something follows the value", end)
    if '$bytes"' not in text and "\\u" not in text:
        return value
    try:
        return revive(value)
    except RecursionError:
        raise ScanError("nested too deeply", 0) from None


def revive(value: Any) -> Any:
    """Undo the escapes of bytes and of users' own objects; refuse lone surrogates."""
    if isinstance(value, str):
        return check_text(value)
    if isinstance(value, list):
        return [revive(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, item),) = value.items()
        if key == "$bytes":
            return _bytes(item)
        if is_bytes_key(key):
            return {key[1:]: revive(item)}
    return {check_text(key): revive(item) for key, item in value.items()}


def _bytes(base64: Any) -> bytes:
    import binascii

    try:
        return binascii.a2b_base64(base64, strict_mode=True)
    except (TypeError, ValueError):
        raise ValueError('"$bytes" does not hold base64') from None


BYTES = "bytes"
"""The --encoding of data that stays bytes."""


def text_or_bytes(data: bytes | bytearray) -> str | bytes:
    """Decode data as UTF-8 text; data that is not UTF-8 stays bytes."""
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        return bytes(data)


def path_value(path: str) -> str | bytes:
    """Return a path as the store holds it: bytes if it is not UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def encode(value: Any, *, escape: bool = True) -> bytes:
    """Encode a value as compact JSON in UTF-8. Raises PflowError (65) if JSON cannot hold it.

    Without `escape` an object that looks like escaped bytes stays unchanged.
    """
    return compact(plain(value, escape=escape)).encode()


def compact(value: Any) -> str:
    """Encode a value that pflow itself made as JSON, without checks."""
    return "".join(_write(value, 0))


def write_bytes(value: bytes) -> dict[str, str]:
    import binascii

    return {"$bytes": str(binascii.b2a_base64(value, newline=False), "ascii")}


_write = make_encoder(None, write_bytes, quote, None, ":", ",", False, False, True)


def text_of(value: Any) -> str:
    """Convert a value to text: text unchanged, null to nothing, anything else to JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else str(encode(value), "utf-8")


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
        }  # written out for plain text, without a call: rows have millions of such members
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
    """Convert an instance of a class like a JSON type, such as a tuple, an enum member or a subclass of str, to it."""
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
