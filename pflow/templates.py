"""Templates: `$name` and `${a.path[0]}` in what a person wrote, replaced once from the store."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.jsontext import text_of
from pflow.paths import parse_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from pflow.paths import Path

    Part = str | Path
    """Text as it is, or the path of a reference."""


TEMPLATE = "template:"
"""What a mapping begins with that is a template, and no path."""

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
_WORD = _LETTERS + "0123456789"


def parse_template(text: str) -> list[Part]:
    """The parts of a template in order. `$$` is a dollar; so is a `$` before anything but a name or a braced path."""
    parts: list[Part] = []
    literal = ""
    at = 0
    while (dollar := text.find("$", at)) >= 0:
        literal += text[at:dollar]
        reference, at = _reference(text, dollar + 1)
        if reference is None:
            literal += "$"
            continue
        if literal:
            parts.append(literal)
        parts.append(reference)
        literal = ""
    literal += text[at:]
    if literal:
        parts.append(literal)
    return parts


def _reference(text: str, at: int) -> tuple[Path | None, int]:
    """The path that stands after a dollar, and where the text goes on; no path for a plain dollar."""
    if text.startswith("$", at):
        return None, at + 1
    if text.startswith("{", at):
        close = _closing_brace(text, at)
        path = braced_path(text[at + 1 : close]) if close > 0 else None
        return (path, close + 1) if path else (None, at)
    end = at
    while end < len(text) and text[end] in _WORD:
        end += 1
    return ((text[at:end],), end) if end > at and text[at] not in "0123456789" else (None, at)


def _closing_brace(text: str, at: int) -> int:
    """The `}` that ends a reference; one inside a quoted key does not."""
    quoted = False
    while at < len(text):
        if text[at] == "\\" and quoted:
            at += 1
        elif text[at] == '"':
            quoted = not quoted
        elif text[at] == "}" and not quoted:
            return at
        at += 1
    return -1


def braced_path(text: str) -> Path | None:
    """The path between two braces; None for what is none: nothing, `1x`, a space or a shell's `:-`."""
    begins_well = text.startswith((*_LETTERS, '["'))
    if not begins_well or any(sign in text.partition("[")[0] for sign in " \t\n${}:?+=%#"):
        return None
    try:
        return parse_path(text)
    except ValueError:
        return None


def broken_references(text: str) -> list[str]:
    """What looks like a reference and is none (`${a`, `${}`, `${1x}`), for a warning."""
    broken = []
    at = text.find("${")
    while at >= 0:
        close = _closing_brace(text, at + 1)
        escaped = (at - len(text[:at].rstrip("$"))) % 2
        if not escaped and (close < 0 or braced_path(text[at + 2 : close]) is None):
            broken.append(text[at : close + 1] if close > 0 else text[at : at + 20])
        at = text.find("${", at + 2)
    return broken


def is_reference(text: str) -> bool:
    """Whether a text is one whole reference, which keeps its value's type."""
    parts = parse_template(text)
    return len(parts) == 1 and not isinstance(parts[0], str)


def references(written: Any) -> Iterator[Path]:
    """Every path that a text, a list or an object refers to. Raises ValueError for a reference in an object's key."""
    for text in _texts(written):
        for part in parse_template(text):
            if not isinstance(part, str):
                yield part


def _texts(written: Any) -> Iterator[str]:
    if isinstance(written, str):
        if "$" in written:
            yield written
    elif isinstance(written, dict):
        for key, item in written.items():
            _check_key(key)
            yield from _texts(item)
    elif isinstance(written, list):
        for item in written:
            yield from _texts(item)


def _check_key(key: str) -> None:
    if any(not isinstance(part, str) for part in parse_template(key)):
        raise ValueError(f"a template cannot stand in the key of an object: '{key}'")


def expand(written: Any, look_up: Callable[[Path], Any]) -> Any:
    """`written` with each reference replaced by what `look_up` finds, once: what is brought in is never expanded.

    One whole reference keeps its value's type; inside text, null is empty, bytes are text, their misfits as lone
    surrogates, and anything else is JSON.
    """
    if isinstance(written, list):
        return [expand(item, look_up) for item in written]
    if isinstance(written, dict):
        for key in written:
            _check_key(key)
        return {key: expand(item, look_up) for key, item in written.items()}
    if not isinstance(written, str) or "$" not in written:
        return written
    parts = parse_template(written)
    if len(parts) == 1 and not isinstance(parts[0], str):
        return look_up(parts[0])
    return "".join([part if isinstance(part, str) else _inside_text(look_up(part)) for part in parts])


def _inside_text(value: Any) -> str:
    return str(value, "utf-8", "surrogateescape") if isinstance(value, bytes) else text_of(value)
