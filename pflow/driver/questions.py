"""Questions for the inputs that a run lacks, to a person at the terminal."""

from __future__ import annotations

import os

from pflow import TYPE_CHECKING, Any, Sequence
from pflow.binding.flag_value import FlagValue
from pflow.errors import MISSING, PflowError
from pflow.flow.flow import FlowInput
from pflow.flow.wired_flow import WiredFlow
from pflow.text.printable import clean

if TYPE_CHECKING:
    from pflow.terminal.ask import Terminal

_TEXTS = dict.fromkeys(("str", "url", "any", "bytes"), "")
_EXPECTED = {**_TEXTS, "bool": "y|n", "dict": "JSON object", "list": "an item, or a JSON list"}
"""The form of an answer, by the type's name; else the type as it is written."""

_ANSWERS = {"y": "true", "yes": "true", "n": "false", "no": "false"}


def ask_for(wired: WiredFlow, missing: list[FlowInput], *, is_dry: bool = False) -> dict[str, Any]:
    """Ask a person at the terminal for missing inputs; return the answers.

    Raises PflowError (66) if stdin or stderr is not a terminal, in a dry run, when nobody answers any more, and for a
    secret, which the terminal would show.
    """
    if not missing:
        return {}
    terminal = None if is_dry or any(each.secret for each in missing) else _open_terminal()
    if terminal is None:
        raise inputs_missing(wired, missing)
    with terminal:
        return {each.name: _ask(terminal, wired, each) for each in missing}


def _open_terminal() -> Terminal | None:
    from pflow.terminal.ask import open_terminal

    return open_terminal() if os.isatty(0) else None


def _ask(terminal: Terminal, wired: WiredFlow, wanted: FlowInput) -> Any:
    """Ask until an answer fits the type."""
    type = wanted.type
    is_path = wired.told_type(wanted).is_path
    about = f" ({wanted.doc})" if wanted.doc else ""
    expected = str(type) if type.choices else _EXPECTED.get(type.name, str(type))
    question = clean(f"{wired.reader_of(wanted)} needs {wanted.flag}{about}: {expected}") + ("? " if expected else "")
    while True:
        line = terminal.read_path(question) if is_path else terminal.read_line(question)
        if line is None:
            raise inputs_missing(wired, [wanted])
        try:
            text = _ANSWERS.get(line.casefold(), line) if type.name == "bool" else line
            if line:
                return FlagValue(wanted.flag, type, [text], verbatim=True).value
        except PflowError as error:
            terminal.say(clean(error.message) + "\n")


def inputs_missing(wired: WiredFlow, missing: list[FlowInput]) -> PflowError:
    """Return one error for all missing inputs (PF03)."""
    from pflow.flow.rules.answers import mapping_of
    from pflow.flow.rules.reads import sources_before

    shown = [each for each in missing if not each.secret]
    typed = [each for each in shown if not each.is_unflagged]
    hints = []
    readers = [(each.name, wired.steps[id], key) for each in typed for id, key in each.readers]
    for name, step, key in readers:
        is_named = key != name or step.subflow is not None
        if is_named and step.step.batch is not None and step.item_type.name == "dict":
            hints.append(f"${{{step.step.batch.item}.{name}}} names a member of the item")
    there = {at for each in typed for at in each.readers}
    hints += [f"or {mapping_of(wired, *at, source)}" for at, source in sources_before(wired).items() if at in there]
    if len(typed) < len(shown):
        hints.append("an input with the name of a flag of pflow run comes from the store, or needs another name")
    if len(shown) < len(missing):
        hints.append("a secret is never a flag; it comes from the store")
    return not_given({each: wired.reader_of(each) for each in missing}, typed, hints)


def not_given(readers: dict[FlowInput, str], typed: list[FlowInput], hints: Sequence[str] = ()) -> PflowError:
    """Return the error for inputs that nothing gives their readers; the hint begins with the flags of those `typed`."""
    parts = [f"'{each.name}'{f' ({each.doc})' * bool(each.doc)} for {reader}" for each, reader in readers.items()]
    message = f"cannot find {', '.join(parts)}: nothing gives it (PF03)"
    about = [{"name": each.name, "flag": each.flag, "type": str(each.type), "doc": each.doc} for each in typed]
    hint = "; ".join(filter(None, [" ".join(map(_flag, typed)), *hints]))
    return PflowError(message, hint=hint, exit=MISSING, details={"missing": about})


def _flag(wanted: FlowInput) -> str:
    """Return `--issue=INT`, quoted as one word of a shell."""
    from shlex import quote

    type = wanted.type
    value = "|".join(type.choices) or {"any": "VALUE"}.get(type.name, type.name.upper())
    return quote(f"{wanted.flag}={value}")
