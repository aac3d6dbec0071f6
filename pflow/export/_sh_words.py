"""Words of a shell command: quoted, and flags whose values a stage reads back as what they were."""

from __future__ import annotations

from typing import Any

from pflow.errors import BAD_DATA, PflowError
from pflow.flow.rewrite import escaped
from pflow.interface import Item
from pflow.jsontext import encode, text_of
from pflow.types import Type

TEXTS = ("str", "path", "any", "choice")
"""Types whose flag is the text itself; that of any other is JSON."""

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=@%+")


class Unsayable(ValueError):
    """A value that no flag can give as what it is."""


def refused(why: str, hint: str = "") -> PflowError:
    """The error for a flow that is no script."""
    return PflowError(f"cannot export the flow to sh: {why}", hint=hint, exit=BAD_DATA)


def quoted(text: str) -> str:
    """A word for sh. Raises Unsayable for what no argument can hold."""
    if "\0" in text:
        raise Unsayable("it holds a NUL")
    if text and set(text) <= _SAFE:
        return text
    return "'" + text.replace("'", "'\\''") + "'"


def json_text(value: Any) -> str:
    return str(encode(value), "utf-8")


def flag_name(key: str) -> str:
    return "--" + key.replace("_", "-")


def flag(key: str, text: str) -> str:
    return f"{flag_name(key)}={quoted(text) if text else ''}"


def constant(item: Item, value: Any) -> list[str]:
    """The flags that give a read or a param this value. Raises Unsayable where none do."""
    if value is None:
        raise Unsayable("a flag cannot be null")
    if item.type.name == "bool":
        return [flag_name(item.name if value else "no_" + item.name)]
    is_verbatim = "verbatim" in item.marks
    written = value if is_verbatim else escaped(value)
    if item.type.name == "list" and isinstance(value, list) and _is_plain_list(value):
        return [flag(item.name, each) for each in written]
    return [flag(item.name, _text(item.type, written, is_json_read=is_verbatim))]


def template(item: Item, written: Any) -> list[str]:
    """The flag that gives a read or a param what a template becomes. Raises Unsayable where none does."""
    return [flag(item.name, written if isinstance(written, str) else _text(item.type, written))]


def _is_plain_list(value: list[Any]) -> bool:
    """Whether each item may have a flag of its own: a text that does not look like a list."""
    return bool(value) and all(isinstance(item, str) and not item.lstrip().startswith("[") for item in value)


def _text(type: Type, value: Any, *, is_json_read: bool = False) -> str:
    """The text that a flag of this type reads as this value; `is_json_read` for one that reads JSON of any type."""
    if isinstance(value, bytes) or type.name == "bytes":
        raise Unsayable("a flag cannot hold bytes")
    if type.name == "any" and not isinstance(value, str):
        if is_json_read and isinstance(value, dict | list):
            return json_text(value)
        raise Unsayable("a flag for a value of any type is text")
    return text_of(value) if type.name in TEXTS else json_text(value)
