"""Words of a shell command: quoted for sh, and flags with values that a stage reads back as what they were."""

from __future__ import annotations

from pflow.flow.rewrite import escaped
from pflow.jsontext import encode, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.interface import Item
    from pflow.types import Type

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=@%+")
TEXTS = ("str", "path", "any", "choice")


class Unsayable(ValueError):
    """A value that no flag can give as what it is."""


def quoted(text: str) -> str:
    """A word for sh. Raises Unsayable for what no argument can hold."""
    if "\0" in text:
        raise Unsayable("it holds a NUL")
    if text and set(text) <= _SAFE:
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def flag_name(key: str) -> str:
    return "--" + key.replace("_", "-")


def flag(key: str, text: str) -> str:
    return f"{flag_name(key)}={quoted(text) if text else ''}"


def constant(item: Item, value: Any) -> list[str]:
    """The flags that give a read or a param this value. Raises Unsayable where none do."""
    is_verbatim = "verbatim" in item.marks
    if value is None:
        raise Unsayable("a flag cannot be null")
    if item.type.name == "bool":
        return [flag_name(item.name if value else "no_" + item.name)]
    if item.type.name == "list" and isinstance(value, list) and _is_plain_list(value):
        return [flag(item.name, each if is_verbatim else escaped(each)) for each in value]
    return [flag(item.name, _text(item.type, value if is_verbatim else escaped(value), is_verbatim=is_verbatim))]


def template(item: Item, written: Any) -> list[str]:
    """The flag that gives a read or a param what a template becomes. Raises Unsayable where none does."""
    if isinstance(written, str):
        return [flag(item.name, written)]
    return [flag(item.name, _text(item.type, written, is_verbatim=False))]


def _is_plain_list(value: list[Any]) -> bool:
    """Whether each item may have a flag of its own: a text that does not look like a list."""
    return bool(value) and all(isinstance(item, str) and not item.lstrip().startswith("[") for item in value)


def _text(type: Type, value: Any, *, is_verbatim: bool) -> str:
    """The text that a flag of this type reads as this value."""
    if isinstance(value, bytes) or type.name == "bytes":
        raise Unsayable("a flag cannot hold bytes")
    if type.name == "any" and not isinstance(value, str):
        if is_verbatim and isinstance(value, dict | list):  # such a param reads JSON itself, as llm's schema
            return str(encode(value), "utf-8")
        raise Unsayable("a flag for a value of any type is text")
    if type.name in TEXTS:
        return text_of(value)
    return str(encode(value), "utf-8")
