"""Inputs that a flow needs and nothing gives: asked for on a terminal, else named in one error."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING
from pflow.binding.flag_value import FlagValue
from pflow.common import OF_RUNS
from pflow.errors import MISSING, PflowError
from pflow.terminal.columns import clean

if TYPE_CHECKING:
    from typing import Any

    from pflow.flow.wired import FlowInput, WiredFlow
    from pflow.terminal.ask import Terminal

_EXPECTED = {"str": "", "any": "", "bytes": "", "bool": "y|n", "dict": "JSON object", "list": "an item, or a JSON list"}
"""What an answer looks like, by the type's name, where that is not the type as it is written."""

_ANSWERS = {"y": "true", "yes": "true", "n": "false", "no": "false"}


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
    """Ask until an answer fits the type, as a flag's text does."""
    type = wanted.type
    about = f" ({wanted.doc})" if wanted.doc else ""
    expected = str(type) if type.choices else _EXPECTED.get(type.name, str(type))
    question = clean(f"{_reader_of(wired, wanted)} needs {wanted.flag}{about}: {expected}") + ("? " if expected else "")
    while True:
        line = terminal.read_line(question)
        if line is None:
            raise nothing_gives(wired, [wanted])
        try:
            text = _ANSWERS.get(line.casefold(), line) if type.name == "bool" else line
            if line:
                return FlagValue(wanted.flag, type, [text], verbatim=True).value
        except PflowError as error:
            terminal.say(clean(error.message) + "\n")


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
