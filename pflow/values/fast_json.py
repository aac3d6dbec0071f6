"""JSON of rows, items and results by orjson, where it repays its import; values and refusals are those of jsontext.

The bytes may differ: 1e-07 is 1e-7 here. Digests, cache keys and documents are jsontext's.
"""

from __future__ import annotations

import marshal
import sys
from itertools import islice

from pflow import Any
from pflow.values import jsontext
from pflow.values.jsontext import WHITESPACE, revive

LARGE = 1_000_000
"""The size in bytes from which orjson is imported: to import it takes more than a whole stage."""

_DEPTH = 200
"""More brackets may be nested more deeply than jsontext reads; orjson does, but writes only 254 levels."""

_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_INTEGER = b"0" * 19
_BLANK = WHITESPACE.encode()


def decode(data: bytes) -> Any:
    """Decode one JSON text in UTF-8, as jsontext.decode does. Raises ValueError in words."""
    decoded = _loads(data, is_lines=False)
    return jsontext.decode(data) if decoded is None else decoded[0]


def decode_lines(data: bytes) -> list[Any] | None:
    """Decode each line that is not blank; None if jsontext has to read them, which also finds a faulty one."""
    return _loads(data, is_lines=True)


def _loads(data: bytes, *, is_lines: bool) -> list[Any] | None:
    """Return the value of each line, or that of the whole in a list; None if jsontext has to read it."""
    if len(data) < LARGE and "orjson" not in sys.modules:
        return None
    import orjson

    if b"000" in data[::6].translate(_DIGITS) and _LONG_INTEGER in data.translate(_DIGITS):  # a sixth has three of 19
        return None

    texts = [line for line in data.split(b"\n") if line.strip(_BLANK)] if is_lines else [data]
    try:
        values = [*map(orjson.loads, texts)]
        if len(data) > 2 * _DEPTH and data.count(b"[") + data.count(b"{") > _DEPTH:
            orjson.dumps(values)
        has_escapes = b"\\" in data and b"\\u" in data
        if (b"$" in data and (has_escapes or b'$bytes"' in data)) or (has_escapes and b"\\u0024" in data):
            return [*map(revive, values)]
        return values
    except (TypeError, ValueError, RecursionError):  # jsontext says why, in words
        return None


def encode(value: Any) -> bytes:
    """Encode a value as compact JSON in UTF-8, as jsontext.encode does. Raises PflowError (65)."""
    written = dumps(value)
    return jsontext.encode(value) if written is None else written


def encode_joined(values: list[Any], between: bytes) -> bytes:
    """Encode each of some values, and join them. Raises PflowError (65)."""
    written = dumps(values)
    if written is not None and {*map(type, values)} == {dict} and written.count(b"},{") == len(values) - 1:
        return written[1:-1].replace(b"},{", b"}" + between + b"{")  # no text holds it: a call for each takes longer
    return between.join(map(jsontext.encode if written is None else encode, values))


def dumps(value: Any, *, indent: bool = False, sort: bool = False) -> bytes | None:
    """Encode a value, if wanted indented by two spaces and with sorted members; None if jsontext has to write it."""
    if "orjson" not in sys.modules and _size(value) < LARGE:
        return None
    import orjson

    option = (orjson.OPT_INDENT_2 if indent else 0) | (orjson.OPT_SORT_KEYS if sort else 0)
    try:
        written = orjson.dumps(value, None, option)
        return written if _is_exact(value, written) else None
    except (TypeError, ValueError):  # also one of marshal
        return None


def _is_exact(value: Any, written: bytes) -> bool:
    """Return True if jsontext would write a value as orjson did. Raises ValueError for enums, UUIDs and their like.

    marshal walks a value in C: it refuses other classes than JSON's, and its first version has floats as texts.
    """
    parts = marshal.dumps(value, 1)
    if b"null" in written and (b"f\x03nan" in parts or b"f\x03inf" in parts or b"f\x04-inf" in parts):
        return False
    return b'bytes":' not in written  # jsontext escapes such keys


def _size(value: Any, levels: int = 4) -> int:
    """Guess the size of a value's JSON, from the first parts of what is long."""
    if isinstance(value, str):
        return len(value)
    if not value or not levels or not isinstance(value, list | dict):
        return 8
    parts = [*islice(value.values() if isinstance(value, dict) else value, 8)]
    return len(value) * (8 + sum([_size(part, levels - 1) for part in parts]) // len(parts))
