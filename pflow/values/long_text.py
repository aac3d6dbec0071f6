"""JSON of a long text, read and written in parts, so that no step holds a second copy of it."""

from __future__ import annotations

from pflow import Any, Iterator
from pflow.values.jsontext import LONG, check_text, encode, scanstring

_PART = 1 << 20
_ESCAPE = 12
"""Bytes of the longest escape: \\ud83d\\ude00 is one character."""


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
            yield encode(value[at : at + _PART])[1:-1]
        yield b'"'
    elif isinstance(value, list) and holds_long(value):
        for number, item in enumerate(value):
            yield b"," if number else b"["
            yield from json_parts(item)
        yield b"]"
    else:
        yield encode(value)


def holds_long(value: Any) -> bool:
    """Return True if a value is a long text or a list, also nested, with one."""
    return is_long(value) or (isinstance(value, list) and any(map(holds_long, value)))


def decode_long(data: bytes | memoryview) -> str | None:
    """Decode a long JSON string; None for any other text, or for a string that a store cannot hold."""
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
    """Yield consecutive texts, cut so that no escape is split."""
    start = 0
    while start < len(data):
        end = _safe_end(data, start, start + _PART)
        yield str(data[start:end], "utf-8")
        start = end


def _safe_end(data: bytes | memoryview, start: int, end: int) -> int:
    """Return the last place up to `end` that splits no escape and no character; the end of the data without one."""
    while start < end < len(data):
        escape = bytes(data[max(end - _ESCAPE, start) : end]).rfind(b"\\")
        if escape < 0 and not 0x80 <= data[end] < 0xC0:
            return end
        end = max(end - _ESCAPE, start) + escape if escape >= 0 else end - 1
    return len(data)
