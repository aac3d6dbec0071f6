"""Bounding what is returned: long texts and lists are cut, by as little as brings the whole below the limit."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CAPS = (100_000, 20_000, 5_000, 1_000, 200, 50)


def size_of(value: Any) -> int:
    """Bytes of the JSON text."""
    return len(text_of(value).encode("utf-8", "surrogatepass"))


def text_of(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def trim(value: Any, limit: int) -> tuple[Any, bool]:
    """The value with at most `limit` bytes of JSON, of the same types throughout; and whether it was cut."""
    if size_of(value) <= limit:
        return value, False
    for cap in _CAPS:
        cut = _cut(value, cap)
        if size_of(cut) <= limit:
            return cut, True
    return ({} if isinstance(value, dict) else None), True


def ends_of(text: str, longest: int) -> str:
    """A message of so many signs at most: it may begin with what was given, and end with the reason."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def _cut(value: Any, cap: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= cap else f"{value[:cap]}… ({len(value) - cap:,} more characters)"
    if isinstance(value, list):
        return [_cut(item, cap) for item in value[:cap]]
    if isinstance(value, dict) and value.keys() == {"$bytes"} and isinstance(value["$bytes"], str):
        length = len(value["$bytes"])
        return value if length <= cap else f"({length * 3 // 4:,} bytes, too many to hand on)"
    if isinstance(value, dict):
        return {name: _cut(item, cap) for name, item in list(value.items())[:cap]}
    return value
