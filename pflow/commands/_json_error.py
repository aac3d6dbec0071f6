"""An error of a command as JSON: printed on stdout where its --json was given, beside the words on stderr."""

from __future__ import annotations

import sys

from pflow.catalog.registry import names_in
from pflow.commands._json import json_line
from pflow.errors import PflowError, names_meant
from pflow.help.usage import Usage
from pflow.process.stdout import ClosedPipe, begun, write_pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pflow.help.usage import Flag


def say_in_json(words: list[str], error: PflowError) -> None:
    """Print the document, unless something stands on stdout already. Who does not read it has the exit code."""
    if 1 in begun or not _asks_for_json(words):
        return
    try:
        write_pieces(1, [json_line({"error": document(error, words[0])})])
    except (ClosedPipe, PflowError):
        pass


def document(error: PflowError, command: str) -> dict[str, Any]:
    """What is told of an error: its words, its exit code, the names that may have been meant, and its details."""
    about: dict[str, Any] = {"message": error.message, "hint": error.hint, "exit": error.exit, "command": command}
    if near := names_meant(error.hint):
        about["near"] = near
    return about | {name: value for name, value in error.details.items() if name not in about}


def _asks_for_json(words: list[str]) -> bool:
    """Whether --json is among the command's own flags: not behind a --, nor a flag's value, nor a flow's step's."""
    word, rest = words[0], words[1:]
    if word == "run" or word not in names_in("commands"):  # of a run it is about the store
        return False
    module = sys.modules.get(f"pflow.commands.{word.replace('-', '_')}")
    usage = getattr(module, "USAGE", None)
    if isinstance(usage, Usage):
        return _is_given(rest, usage.flags)
    command = getattr(module, "command", None)
    if command is None:  # its module could not be loaded
        return "--json" in rest
    from pflow.commands._click import own_words
    from pflow.commands._usage import usage_of_click

    return _is_given(own_words(command, rest), usage_of_click(command, word).flags)


def _is_given(words: list[str], known: list[Flag]) -> bool:
    names = {name: bool(flag.metavar) for flag in known for name in flag.names}
    rest = iter(words if "--json" in names else ())
    for word in rest:
        if word in ("--", "--json"):
            return word == "--json"
        if names.get(word):
            next(rest, None)
    return False
