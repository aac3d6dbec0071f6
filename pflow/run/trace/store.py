"""The final store as text: what each key holds, and its value where that is at hand."""

from __future__ import annotations

from pflow.jsontext import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST = 1000
_UNITS = {"str": "characters", "bytes": "bytes", "list": "items", "dict": "members"}


def plain(text: str) -> str:
    """A text on one line of a terminal, which obeys some signs: names may hold anything."""
    return "".join([sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text])


def store_text(store: dict[str, Any] | None) -> str:
    """A line for each key, `response: str, 12 characters: "It is fine."`; `store` is as a trace has it."""
    if store is None:
        return "the store is known when the run has ended\n"
    lines = [f"    {key}: {_shape(shape)}" for key, shape in store.items() if isinstance(shape, dict)]
    return "".join(plain(line) + "\n" for line in ["the store" if lines else "the store is empty", *lines])


def _shape(shape: dict[str, Any]) -> str:
    type = str(shape.get("type", "?"))
    size = shape.get("size")
    text = type if not isinstance(size, int) else f"{type}, {size:,} {_unit(type, size)}"
    if "value" not in shape:
        return text
    value = str(encode(shape["value"]), "utf-8")
    return f"{text}: {value if len(value) <= _LONGEST else value[: _LONGEST - 1] + '…'}"


def _unit(type: str, size: int) -> str:
    unit = _UNITS.get(type, "")
    return unit.removesuffix("s") if size == 1 else unit
