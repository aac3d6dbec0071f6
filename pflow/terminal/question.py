"""One question at a terminal: what a flow needs, what an answer looks like, and the value that an answer stands for."""

from __future__ import annotations

import os

from pflow.binding.given import converted
from pflow.errors import shorten
from pflow.process.signals import Interrupted
from pflow.terminal.columns import clean
from pflow.types import Type, from_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import FlowInput

_EXPECTED = {"str": "", "any": "", "bytes": "", "bool": "y|n", "dict": "JSON object"}
"""What an answer looks like, by the type's name, where that is not the type as it is written."""

_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")

_NEXT = "- "


class NoAnswer(Exception):
    """The terminal has no more lines, or is gone."""


def ask(terminal: int, who: str, wanted: FlowInput) -> Any:
    """Ask until an answer fits the type; Enter alone takes the default, where there is one. Raises NoAnswer."""
    if wanted.type.name == "list":
        _say(terminal, f"{clean(wanted.flag)} is a list: an item a line, then an empty line; or JSON in one line\n")
    while True:
        line = _line(terminal, prompt(who, wanted))
        if not line and wanted.has_default:
            return wanted.default
        if not line:
            continue
        try:
            return _list(terminal, wanted.type, line) if wanted.type.name == "list" else value_of(wanted.type, line)
        except ValueError as error:
            _refuse(terminal, line, error)


def prompt(who: str, wanted: FlowInput) -> str:
    """`github-get-issue needs --issue (issue number): int? `; a text, which any answer is, has nothing at its end."""
    about = f" ({wanted.doc})" if wanted.doc else ""
    default = f"[{shorten(_shown(wanted.default))}]" if wanted.has_default else ""
    end = " ".join(part for part in (_expected(wanted.type), default) if part)
    return clean(f"{who} needs {wanted.flag}{about}: {end}") + ("? " if end else "")


def _expected(type: Type) -> str:
    return str(type) if type.choices else _EXPECTED.get(type.name, str(type))


def _shown(default: Any) -> str:
    from pflow.jsontext import text_of

    return ("n", "y")[default] if isinstance(default, bool) else text_of(default)


def value_of(type: Type, text: str) -> Any:
    """The value that an answer stands for: as a flag's text, and a bool's yes and no. Raises ValueError in words."""
    if type.name != "bool":
        return from_text(type, text)
    if text.casefold() not in (*_YES, *_NO):
        raise ValueError("it is neither y nor n")
    return text.casefold() in _YES


def _list(terminal: int, type: Type, line: str) -> list[Any]:
    """The list that a line of JSON is, or else that this item and the lines after it are."""
    if line.startswith("["):
        value: list[Any] = converted(type, from_text(type, line))
        return value
    item = type.items or Type("str")
    items = [value_of(item, line)]
    while line := _line(terminal, _NEXT):
        try:
            items.append(value_of(item, line))
        except ValueError as error:
            _refuse(terminal, line, error)
    return items


def _line(terminal: int, prompt: str) -> str:
    """What a person types at a prompt, without the end of the line."""
    _say(terminal, prompt)
    try:
        line = os.read(terminal, 1 << 16)
    except Interrupted:
        _say(terminal, "\n")
        raise
    except OSError:
        raise NoAnswer from None
    if not line:
        _say(terminal, "\n")
        raise NoAnswer
    return os.fsdecode(line.rstrip(b"\r\n"))


def _refuse(terminal: int, line: str, error: ValueError) -> None:
    _say(terminal, clean(f"cannot take '{line}': {error}") + "\n")


def _say(terminal: int, text: str) -> None:
    try:
        os.write(terminal, text.encode("utf-8", "backslashreplace"))
    except OSError:
        raise NoAnswer from None
