"""Finding JSON values in text, with the parts of json that are written in C."""

from __future__ import annotations

from pflow import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    def quote(text: str, /) -> str: ...
    def compact(value: Any) -> str: ...
    def _scanstring(text: str, end: int, strict: bool, /) -> tuple[str, int]: ...
    def make_scanner(context: _Context, /) -> Callable[[str, int], tuple[Any, int]]: ...
else:
    try:
        # json's C parts without its `re` and `enum`, which are half of what a stage would take to start.
        from _json import encode_basestring as quote
        from _json import make_encoder, make_scanner
        from _json import scanstring as _scanstring

        _encoder = make_encoder(None, str, quote, None, ":", ",", False, False, True)

        def compact(value):
            """The JSON text of what we made ourselves: nothing in it is checked."""
            return "".join(_encoder(value, 0))
    except ImportError:  # another Python than CPython
        import json
        from json.decoder import JSONDecoder
        from json.decoder import scanstring as _scanstring
        from json.encoder import encode_basestring as quote

        def compact(value):
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

        def make_scanner(context):
            hooks = ("object_pairs_hook", "parse_float", "parse_int", "parse_constant")
            return JSONDecoder(**{hook: getattr(context, hook) for hook in hooks}).scan_once


LOWEST, HIGHEST = -(1 << 63), 1 << 64
"""Integers from the one up to, and not with, the other are kept; any other is refused."""

INFINITY = float("inf")
WHITESPACE = " \t\n\r"


def _parse_int(text: str) -> int:
    number = int(text) if len(text) <= 20 else HIGHEST
    if not LOWEST <= number < HIGHEST:
        raise ValueError(f"the integer {text[:24]} is past 64 bits")
    return number


def _parse_float(text: str) -> float:
    number = float(text)
    if number in (INFINITY, -INFINITY):
        raise ValueError(f"the number {text[:24]} is past what a float holds")
    return number


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key '{next(key for key in keys if keys.count(key) > 1)}' stands twice")
    return members


class _Context:
    """What a scanner asks of its decoder."""

    strict = True
    object_hook = None
    object_pairs_hook: Callable[..., Any] | None = None
    parse_constant = staticmethod(_refuse_constant)

    def __init__(self, parse_int: Callable[[str], float], parse_float: Callable[[str], float]) -> None:
        self.parse_int = parse_int
        self.parse_float = parse_float


class Scanner:
    """Finds the JSON value at a place in a text."""

    def __init__(self, context: _Context) -> None:
        self._scan_once = make_scanner(context)

    def __call__(self, text: str, at: int = 0) -> tuple[Any, int]:
        """The value that begins at `text[at]`, and where it ends. Raises ValueError in words."""
        try:
            return _call(self._scan_once, text, at)
        except StopIteration as stop:
            raise ScanError("no JSON value", stop.value) from None
        except RecursionError:
            raise ScanError("nested too deeply", at, is_deep=True) from None


def scanstring(text: str, at: int) -> tuple[str, int]:
    """The string whose opening quote is before `text[at]`, and where it ends. Raises ValueError in words."""
    return _call(_scanstring, text, at, True)


def _call(scan: Callable[..., tuple[Any, int]], *arguments: Any) -> tuple[Any, int]:
    try:
        return scan(*arguments)
    except SystemError:  # the C parts raise json's own error, and cannot before its module is there
        import json.decoder  # noqa: F401

        return scan(*arguments)


class ScanError(ValueError):
    """JSON that does not parse, and where (in characters); `is_deep` when it is only nested too deeply."""

    def __init__(self, message: str, pos: int, *, is_deep: bool = False) -> None:
        super().__init__(message)
        self.pos = pos
        self.is_deep = is_deep


scan = Scanner(_Context(_parse_int, _parse_float))
scan_loosely = Scanner(_Context(len, len))
"""As scan, but numbers may be of any size, and their values are none: for finding where a value ends."""

_header_context = _Context(_parse_int, _parse_float)
_header_context.object_pairs_hook = _refuse_duplicates
scan_without_duplicates = Scanner(_header_context)
