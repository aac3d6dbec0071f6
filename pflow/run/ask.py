"""Inputs that a flow needs and nothing gives: asked for on a terminal, else named in one error."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.binding.flag_value import converted
from pflow.common import OF_RUNS
from pflow.errors import MISSING, PflowError
from pflow.terminal.columns import clean
from pflow.types import Type, from_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pflow.flow.wired import FlowInput, WiredFlow
    from pflow.paths import Path
    from pflow.terminal.ask import Terminal

_EXPECTED = {"str": "", "any": "", "bytes": "", "bool": "y|n", "dict": "JSON object"}
"""What an answer looks like, by the type's name, where that is not the type as it is written."""

_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")


class _NoAnswer(Exception):
    """The terminal has no more lines, or is gone."""


def missing_inputs(wired: WiredFlow, values: dict[str, Any], has: Callable[[Path], bool]) -> list[FlowInput]:
    """The required inputs that neither a flag nor the store gives. What is for one step alone, the store never does."""
    needed = [each for each in wired.inputs.values() if each.required and not each.has_default]
    return [each for each in needed if each.name not in values and (each.step is not None or not has(each.path))]


def ask_for(wired: WiredFlow, missing: list[FlowInput], *, is_dry: bool = False) -> dict[str, Any]:
    """What a person at the terminal answers.

    Raises PflowError (66) where nobody is to be asked: stdin or stderr is no terminal, or it is a dry run; where nobody
    answers any more; and for a secret, which the terminal would show.
    """
    if not missing:
        return {}
    terminal = None if is_dry or any(each.secret for each in missing) else _open_terminal()
    if terminal is None:
        raise nothing_gives(wired, missing)
    try:
        return {each.name: _ask(terminal, wired, each) for each in missing}
    finally:
        terminal.close()


def _open_terminal() -> Terminal | None:
    from pflow.terminal.ask import open_terminal

    return open_terminal() if os.isatty(0) else None


def _ask(terminal: Terminal, wired: WiredFlow, wanted: FlowInput) -> Any:
    """Ask until an answer fits the type."""
    is_list = wanted.type.name == "list"
    if is_list:
        terminal.say(f"{clean(wanted.flag)} is a list: an item a line, then an empty line; or JSON in one line\n")
    while True:
        try:
            if line := _read_line(terminal, prompt(_reader_of(wired, wanted), wanted)):
                return _list(terminal, wanted.type, line) if is_list else value_of(wanted.type, line)
        except _NoAnswer:
            raise nothing_gives(wired, [wanted]) from None
        except ValueError as error:
            _refuse(terminal, line, error)


def _read_line(terminal: Terminal, question: str) -> str:
    line = terminal.read_line(question)
    if line is None:
        raise _NoAnswer
    return line


def prompt(reader: str, wanted: FlowInput) -> str:
    """`github-get-issue needs --issue (issue number): int? `; a text, which any answer is, has nothing at its end."""
    about = f" ({wanted.doc})" if wanted.doc else ""
    expected = str(wanted.type) if wanted.type.choices else _EXPECTED.get(wanted.type.name, str(wanted.type))
    return clean(f"{reader} needs {wanted.flag}{about}: {expected}") + ("? " if expected else "")


def value_of(type: Type, text: str) -> Any:
    """The value that an answer stands for: as a flag's text, and a bool's yes and no. Raises ValueError in words."""
    if type.name != "bool":
        return from_text(type, text)
    if text.casefold() not in (*_YES, *_NO):
        raise ValueError("it is neither y nor n")
    return text.casefold() in _YES


def _list(terminal: Terminal, type: Type, line: str) -> list[Any]:
    """The list that a line of JSON is, or else that this item and the lines after it are."""
    if line.startswith("["):
        value: list[Any] = converted(type, from_text(type, line))
        return value
    item = type.items or Type("str")
    items = [value_of(item, line)]
    while line := _read_line(terminal, "- "):
        try:
            items.append(value_of(item, line))
        except ValueError as error:
            _refuse(terminal, line, error)
    return items


def _refuse(terminal: Terminal, line: str, error: ValueError) -> None:
    terminal.say(clean(f"cannot take '{line}': {error}") + "\n")


def nothing_gives(wired: WiredFlow, missing: list[FlowInput]) -> PflowError:
    """One error for all missing inputs (PF03)."""
    parts = [
        f"'{each.name}'" + (f" ({each.doc})" if each.doc else "") + f" for {_reader_of(wired, each)}"
        for each in missing
    ]
    shown = [each for each in missing if not each.secret]
    typed = [each for each in shown if each.flag[2:].replace("-", "_") not in OF_RUNS]
    hints = [" ".join(map(_flag, typed))] if typed else []
    if len(typed) < len(shown):
        hints.append("an input called like a flag of pflow run comes from the store, or is called something else")
    if len(shown) < len(missing):
        hints.append("a secret is never a flag; it comes from the store")
    message = f"cannot find {', '.join(parts)}: nothing gives it (PF03)"
    about = [{"name": each.name, "flag": each.flag, "type": str(each.type), "doc": each.doc} for each in typed]
    return PflowError(message, hint="; ".join(hints), exit=MISSING, details={"missing": about})


def _reader_of(wired: WiredFlow, wanted: FlowInput) -> str:
    """The node that reads it, where one alone does; else the flow."""
    nodes = {wired.steps[id].step.type for id, _ in wanted.readers}
    return nodes.pop() if len(nodes) == 1 else wired.flow.name or "the flow"


def _flag(wanted: FlowInput) -> str:
    """`--issue=INT`, quoted so that a shell takes it as one word."""
    from shlex import quote

    type = wanted.type
    value = "|".join(type.choices) or {"any": "VALUE"}.get(type.name, type.name.upper())
    return quote(f"{wanted.flag}={value}")
