"""Large JSON: orjson reads and writes rows, items and results where that repays its import; long texts go in parts.

It accepts and refuses the same values as jsontext. But orjson may write other bytes (1e-7 for 1e-07), so digests, cache
keys and documents use jsontext. A long text is read and written in parts, so that no second copy is in memory.
"""

from __future__ import annotations

import marshal
import sys
from itertools import islice

from pflow import Any, Iterator
from pflow.values import jsontext
from pflow.values.jsontext import LONG, check_text, plain, revive, scanstring, write_bytes

LARGE = 1_000_000
"""The size in bytes from which orjson is imported: the import takes longer than a whole plain stage."""

_DEPTH = 200
"""The most brackets of data that is surely not nested too deeply: orjson reads any depth, but writes 254 levels."""

_PART = 1 << 20
"""The characters or bytes of a long text that are written or read at once."""
_ESCAPE = 12
"""Bytes of the longest escape: \\ud83d\\ude00 is one character."""

_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_INTEGER = b"0" * 19
_LINES = (b"", b"\n", b"\n")


def decode(data: bytes) -> Any:
    """Decode one JSON text in UTF-8, as jsontext.decode does. Raises ValueError in words."""
    if len(data) < LARGE and "orjson" not in sys.modules:
        return jsontext.decode(data)
    import orjson

    try:
        # orjson rounds integers past 64 bits. Where 19 digits are in a row, three are in a row among every sixth byte:
        # most data has none, and is not searched as a whole.
        if b"000" in data[::6].translate(_DIGITS) and _LONG_INTEGER in data.translate(_DIGITS):
            return jsontext.decode(data)
        value = orjson.loads(data)
        if len(data) > 2 * _DEPTH and data.count(b"[") + data.count(b"{") > _DEPTH:
            orjson.dumps(value)
        has_escapes = b"\\" in data and b"\\u" in data
        if (b"$" in data and (has_escapes or b'$bytes"' in data)) or (has_escapes and b"\\u0024" in data):
            return revive(value)
        return value
    except (TypeError, ValueError, RecursionError):
        return jsontext.decode(data)  # raises the same refusal in our words


def encode(value: Any) -> bytes:
    """Encode a value as compact JSON in UTF-8, as jsontext.encode does. Raises PflowError (65)."""
    written = _dumps(value)
    return jsontext.encode(value) if written is None else written


def encode_each(values: list[Any], ends: tuple[bytes, bytes, bytes] = _LINES, *, escape: bool = True) -> bytes:
    """Encode each value, and put the `ends` before, between and behind them. Raises PflowError (65)."""
    before, between, behind = ends
    written = _dumps(values)
    rows: bytes | memoryview
    if written is not None and {*map(type, values)} == {dict} and written.count(b"},{") == len(values) - 1:
        rows = memoryview(written.replace(b"},{", b"}%b{" % between))[1:-1]  # the count shows that no text contains },{
    else:
        rows = between.join([encode(each) if written else jsontext.encode(each, escape=escape) for each in values])
    return b"".join((before, rows, behind)) if values else b""


def write_json(value: Any, *, indent: int = 2, sort: bool = False, escape: bool = True) -> str:
    """Write a value as JSON, indented or (0) on one line, with a final newline. Raises PflowError (65) as `encode`."""
    written = _dumps(value, indent, sort) if indent in (0, 2) else None
    if written is not None:
        return str(written, "utf-8") + "\n"
    import json

    separators = (",", ": ") if indent else (",", ":")
    form: Any = {"indent": indent or None, "separators": separators, "sort_keys": sort, "default": write_bytes}
    return json.dumps(plain(value, escape=escape), ensure_ascii=False, **form) + "\n"


def _dumps(value: Any, indent: int = 0, sort: bool = False) -> bytes | None:
    """Encode a value with orjson; None if jsontext or json has to write it."""
    if "orjson" not in sys.modules and _size(value) < LARGE:
        return None
    import orjson

    option = (orjson.OPT_INDENT_2 if indent else 0) | (orjson.OPT_SORT_KEYS if sort else 0)
    try:
        written = orjson.dumps(value, None, option)
        return written if _is_exact(value, written) else None
    except (TypeError, ValueError):  # orjson and marshal raise them for the values that they do not take
        return None


def _is_exact(value: Any, written: bytes) -> bool:
    """Return True if jsontext would write a value as orjson did. Raises ValueError for enums, UUIDs and their like.

    marshal checks a value in C: it refuses classes that are not JSON's, and its version 1 writes floats as text, where
    nan and inf can be found.
    """
    parts = marshal.dumps(value, 1)
    if b"null" in written and (b"f\x03nan" in parts or b"f\x03inf" in parts or b"f\x04-inf" in parts):
        return False
    return b"$" not in written or b'bytes":' not in written  # an object of our own form gains a `$` in jsontext


def _size(value: Any, levels: int = 4) -> int:
    """Estimate the size of a value's JSON from the first members of its lists and objects."""
    if isinstance(value, str):
        return len(value)
    if not value or not levels or not isinstance(value, list | dict):
        return 8
    parts = [*islice(value.values() if isinstance(value, dict) else value, 8)]
    return len(value) * (8 + sum([_size(part, levels - 1) for part in parts]) // len(parts))


def is_long(value: Any) -> bool:
    return isinstance(value, str) and len(value) >= LONG


def encode_long(text: str) -> bytes | memoryview:
    """Encode a string as JSON in UTF-8. Raises PflowError (65) for a lone surrogate."""
    written = bytearray()
    for part in json_parts(text):
        written += part
    return memoryview(written)


def json_parts(value: Any) -> Iterator[bytes]:
    """Yield the JSON of a value, long texts in parts. Raises PflowError (65) if JSON cannot hold it."""
    if is_long(value):
        yield b'"'
        for at in range(0, len(value), _PART):
            yield jsontext.encode(value[at : at + _PART])[1:-1]
        yield b'"'
    elif isinstance(value, list) and holds_long(value):
        for number, item in enumerate(value):
            yield b"," if number else b"["
            yield from json_parts(item)
        yield b"]"
    else:
        yield jsontext.encode(value)


def holds_long(value: Any) -> bool:
    """Return True if a value is a long text, or a list that holds one at any depth."""
    return is_long(value) or (isinstance(value, list) and any(map(holds_long, value)))


def decode_long(data: bytes | memoryview) -> str | None:
    """Decode a long JSON string; None for any other JSON, and for a string that no store can hold."""
    if len(data) < LONG or data[0] != ord('"') or data[-1] != ord('"'):
        return None
    text = ""
    try:
        for part in _parts(data[1:-1]):
            inside, end = scanstring(f'"{part}"', 1)
            if end < len(part) + 2:
                return None
            text += check_text(inside)
    except ValueError:
        return None
    return text


def _parts(data: bytes | memoryview) -> Iterator[str]:
    """Yield consecutive parts of the data as text, cut so that no escape is split."""
    start = 0
    while start < len(data):
        end = _safe_end(data, start, start + _PART)
        yield str(data[start:end], "utf-8")
        start = end


def _safe_end(data: bytes | memoryview, start: int, end: int) -> int:
    """Return the last place up to `end` that splits no escape and no character; if there is none, the data's end."""
    while start < end < len(data):
        escape = bytes(data[max(end - _ESCAPE, start) : end]).rfind(b"\\")
        if escape < 0 and not 0x80 <= data[end] < 0xC0:
            return end
        end = max(end - _ESCAPE, start) + escape if escape >= 0 else end - 1
    return len(data)
