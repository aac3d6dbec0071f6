"""What a command prints: JSON, a file of its own, an error as JSON beside the words on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from pflow.atomic import replace
from pflow.catalog.registry import names_in
from pflow.errors import CANNOT_WRITE, DENIED, PflowError, names_meant
from pflow.help.usage import Flag, Usage
from pflow.jsontext import encode
from pflow.process.signals import ClosedPipe
from pflow.process.streams import begun, write_pieces
from pflow.terminal.columns import colour_of, encodable, in_ascii, is_utf8, table, terminal_width


def write_output(file: str | None, data: bytes, *, is_program: bool = False) -> None:
    """Write data to stdout, or make it all that a file holds. Raises PflowError (73, 77)."""
    if file is None:
        write_pieces(1, [data])
        return
    try:
        replace(file, data, mode=0o777 if is_program else 0o666)
    except OSError as error:
        exit = DENIED if isinstance(error, PermissionError) else CANNOT_WRITE
        reason = (error.strerror or str(error)).lower()
        raise PflowError(f"cannot write '{file}': {reason}", exit=exit) from None


def print_text(text: str) -> None:
    """Print a text to stdout, in ASCII where the locale shows nothing else."""
    write_pieces(1, [(text if is_utf8(os.environ) else in_ascii(text)).encode("utf-8", "replace")])


def print_table(rows: Sequence[Sequence[str]], when: str) -> None:
    """Print rows in columns, fitted to a terminal, elsewhere a line each; `when` says whether in colour."""
    lines = table(rows, terminal_width(otherwise=1 << 30), indent=0, first=colour_of(1, when).name)
    print_text("".join(f"{line}\n" for line in lines))


def print_json(value: Any) -> None:
    write_pieces(1, [json_line(value)])


def json_line(value: Any) -> bytes:
    """A document and a newline. A byte that is not UTF-8, as names of files may have, is written as \\\\udcff."""
    try:
        text = str(encode(value, escape=False), "utf-8")
    except PflowError:
        text = str(encode(_encodable(value), escape=False), "utf-8")
    return shown(text).encode() + b"\n"


def shown(text: str) -> str:
    """JSON text with the escape of each character that a terminal would obey instead of show."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(key): _encodable(member) for key, member in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, list | tuple) else value


def say_in_json(words: list[str], error: PflowError) -> None:
    """Print an error where --json asked for it, unless something stands on stdout already."""
    if 1 in begun or not _asks_for_json(words):
        return
    try:
        print_json({"error": error_document(error, words[0])})
    except (ClosedPipe, PflowError):
        pass  # who does not read it has the exit code


def error_document(error: PflowError, command: str) -> dict[str, Any]:
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
    from pflow.commands._usages import usage_of_click

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
