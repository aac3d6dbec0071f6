"""Python code as text: values, calls and names, laid out in lines that fit."""

from __future__ import annotations

import json
import keyword

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_WIDTH = 110


class Code(str):
    """Text that is code already."""

    __slots__ = ()


def write(value: Any, indent: int = 0, used: int = 0) -> str:
    """The code of a value. `indent` is where its line begins, `used` is how much of that line is taken."""
    flat = _flat(value)
    if indent + used + len(flat) <= _WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    inner = " " * (indent + 4)
    if isinstance(value, list):
        items = [inner + write(item, indent + 4) for item in value]
        return "[\n" + ",\n".join(items) + ",\n" + " " * indent + "]"
    items = [f"{inner}{_flat(key)}: {write(item, indent + 4, len(_flat(key)) + 3)}" for key, item in value.items()]
    return "{\n" + ",\n".join(items) + ",\n" + " " * indent + "}"


def call(name: str, first: Iterable[Any], named: dict[str, Any], indent: int = 0, used: int = 0) -> str:
    """The code of a call: on one line, or one argument a line."""
    parts = [_flat(each) for each in first]
    flat = f"{name}({', '.join(parts + [f'{key}={_flat(value)}' for key, value in named.items()])})"
    if indent + used + len(flat) <= _WIDTH or not named:
        return flat
    inner = " " * (indent + 4)
    lines = [inner + part for part in parts]
    lines += [f"{inner}{key}={write(value, indent + 4, len(key) + 2)}" for key, value in named.items()]
    return f"{name}(\n" + ",\n".join(lines) + ",\n" + " " * indent + ")"


def _flat(value: Any) -> str:
    if isinstance(value, Code):
        return str(value)
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        return text if text.isprintable() and ('"' not in value or "'" in value) else repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flat(key)}: {_flat(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_flat, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flat, value)) + "]"
    return repr(value)


class Names:
    """Python names for what may be called anything, each only once."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)

    def name(self, text: str) -> str:
        plain = "".join([sign if sign.isascii() and sign.isalnum() else "_" for sign in text]).strip("_").lower()
        base = plain if plain[:1].isalpha() else f"step_{plain}".strip("_")
        found, number = base, 1
        while found in self.taken or keyword.iskeyword(found):
            number += 1
            found = f"{base}_{number}"
        self.taken.add(found)
        return found
