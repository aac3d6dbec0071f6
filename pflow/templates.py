"""Templates: `$name` and `${a.path[0]}` in what a person wrote, replaced once from the store."""

from __future__ import annotations

from pflow import TYPE_CHECKING
from pflow.jsontext import text_of
from pflow.paths import parse_path

if TYPE_CHECKING:
    from collections.abc import Callable
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
    return [*parts, literal] if literal else parts


def _reference(text: str, at: int) -> tuple[Path | None, int]:
    """The path that stands after a dollar, and where the text goes on; no path for a plain dollar."""
    if text.startswith("$", at):
        return None, at + 1
    if text.startswith("{", at):
        close = text.find("}", at)
        path = braced_path(text[at + 1 : close]) if close > 0 else None
        return (path, close + 1) if path else (None, at)
    end = at
    while end < len(text) and text[end] in _WORD:
        end += 1
    return ((text[at:end],), end) if end > at and text[at] not in "0123456789" else (None, at)


def braced_path(text: str) -> Path | None:
    """The path between two braces; None for what is not a path: nothing, `1x`, a space or a shell's `:-`."""
    begins_well = text.startswith((*_LETTERS, '["'))
    if not begins_well or set(text.partition("[")[0]) & set(" \t\n${}:?+=%#"):
        return None
    try:
        return parse_path(text)
    except ValueError:
        return None


def broken_references(text: str) -> list[str]:
    """What looks like a reference and is not one (`${a`, `${}`, `${1x}`), for a warning."""
    plain = "".join(part for part in parse_template(text.replace("$$", "")) if isinstance(part, str))
    return ["${" + rest.partition("}")[0] + ("}" if "}" in rest else "") for rest in plain.split("${")[1:]]


def is_reference(text: str) -> bool:
    """Whether a text is one whole reference, which keeps its value's type."""
    parts = parse_template(text)
    return len(parts) == 1 and not isinstance(parts[0], str)


def references(written: Any) -> list[Path]:
    """Every path that a text, a list or an object refers to. Raises ValueError for a reference in an object's key."""
    found: list[Path] = []
    expand(written, found.append)
    return found


def expand(written: Any, look_up: Callable[[Path], Any]) -> Any:
    """`written` with each reference replaced by what `look_up` finds, once: what is brought in is never expanded.

    One whole reference keeps its value's type; inside text, null is empty, bytes are text, their misfits as lone
    surrogates, and anything else is JSON. Raises ValueError for a reference in an object's key.
    """
    if isinstance(written, list):
        return [expand(item, look_up) for item in written]
    if isinstance(written, dict):
        for key in written:
            if any(not isinstance(part, str) for part in parse_template(key)):
                raise ValueError(f"a template cannot stand in the key of an object: '{key}'")
        return {key: expand(item, look_up) for key, item in written.items()}
    if not isinstance(written, str) or "$" not in written:
        return written
    parts = parse_template(written)
    if len(parts) == 1 and not isinstance(parts[0], str):
        return look_up(parts[0])
    return "".join([part if isinstance(part, str) else _inside_text(look_up(part)) for part in parts])


def _inside_text(value: Any) -> str:
    return str(value, "utf-8", "surrogateescape") if isinstance(value, bytes) else text_of(value)
