"""JSON in a file: parsed strictly, with line and column of what is wrong, and written for people to read."""

from __future__ import annotations

from pflow.errors import BAD_DATA, PflowError
from pflow.jsontext import decode, encode
from pflow.scanner import WHITESPACE, ScanError, quote, scan_without_duplicates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LEVELS = 100
"""How deep lists and objects may stand in one another."""

_SHOWN = 30
"""How many characters of a line are shown on either side of what is wrong."""


def parse_json(text: str, name: str) -> Any:
    """The value of a JSON text. Raises PflowError (65) with the line and column of the first thing that is wrong."""
    try:
        return _parse(text)
    except ValueError as error:
        raise PflowError(f"cannot read the flow '{name}': {_fault(text, error)}", exit=BAD_DATA) from None


def _parse(text: str) -> Any:
    value, end = scan_without_duplicates(text, len(text) - len(text.lstrip(WHITESPACE)))
    rest = text[end:].lstrip(WHITESPACE)
    if rest:
        raise ScanError("the JSON ends before this", len(text) - len(rest))
    if _is_deeper(value, LEVELS):
        raise ValueError(f"it is nested more than {LEVELS} levels deep")
    data = text.encode()
    return decode(data) if '$bytes"' in text or "\\u" in text else value


def _fault(text: str, error: ValueError) -> str:
    """`line 2, column 9: expecting ',' delimiter: "a": 1 ^ "b": 2`, as far as the place is known."""
    at: int | None = getattr(error, "pos", None)
    if at is None:
        return str(error)
    before, after = text[:at].rpartition("\n")[2], text[at:].partition("\n")[0]
    what = str(getattr(error, "msg", error))
    line, column = text.count("\n", 0, at) + 1, len(before) + 1
    shown = " ".join(f"{before[-_SHOWN:]} ^ {after[:_SHOWN]}".split())
    return f"line {line}, column {column}: {what[:1].lower()}{what[1:]}: {shown}"


def _is_deeper(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        return levels == 0 or any(_is_deeper(each, levels - 1) for each in value.values() if type(each) in (dict, list))
    return isinstance(value, list) and (levels == 0 or any(_is_deeper(each, levels - 1) for each in value))


def write_json(value: Any) -> str:
    """The JSON text of a value, two spaces a level, a newline at its end. Raises PflowError (65) as `encode` does."""
    encode(value)
    return "".join(_pieces(value, "\n")) + "\n"


def _pieces(value: Any, line: str) -> Iterator[str]:
    """The text of a value whose lines begin with `line`, a newline and its indent."""
    if not value or not isinstance(value, dict | list) or _is_escaped(value):
        yield str(encode(value), "utf-8")
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    for each in value:
        yield opening + line + "  " + (quote(each) + ": " if isinstance(value, dict) else "")
        yield from _pieces(value[each] if isinstance(value, dict) else each, line + "  ")
        opening = ","
    yield line + closing


def _is_escaped(value: dict[str, Any] | list[Any]) -> bool:
    """Whether it is an object that looks like escaped bytes, which `encode` sees to."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)).lstrip("$") == "bytes"
