"""What commands share: click with our exit codes and one line of error, and what they print: JSON, text, files."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from pflow.atomic import replace
from pflow.catalog.registry import names_in
from pflow.errors import CANNOT_WRITE, DENIED, USAGE, PflowError, names_meant
from pflow.flow.pipe.scan import is_cut_separator, is_separator
from pflow.help.usage import Usage
from pflow.jsontext import encode
from pflow.process.signals import ClosedPipe
from pflow.process.streams import begun, write_pieces
from pflow.terminal.columns import AUTO, WHEN, colour_of, encodable, in_ascii, is_utf8, table, terminal_width


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
    """Whether --json is among the command's own flags: not behind a --, no value of another flag, no flow's step's."""
    word, rest = words[0], words[1:]
    if word == "run" or word not in names_in("commands"):  # of a run it is about the store
        return False
    module = sys.modules.get(f"pflow.commands.{word.replace('-', '_')}")
    if module is None:  # it could not be loaded
        return "--json" in rest
    usage = getattr(module, "USAGE", None)
    if isinstance(usage, Usage):
        own, flags = rest, {name: bool(flag.metavar) for flag in usage.flags for name in flag.names}
    else:
        options = [each for each in module.command.params if isinstance(each, click.Option)]
        own, flags = own_words(module.command, rest), {name: not each.is_flag for each in options for name in each.opts}
    own = own[: [*own, "--"].index("--")]
    is_given = any(word == "--json" and not flags.get(before) for before, word in zip(["", *own], own, strict=False))
    return is_given and "--json" in flags


color_option = click.option(
    "--color",
    "when",
    type=click.Choice(WHEN),
    default=AUTO,
    help="Print in colour; auto, the default, does where stdout is a terminal, unless NO_COLOR is set.",
)
"""Gives a command `when`, for `pflow.terminal.columns.colour_of`."""


class FlowCommand(click.Command):
    """A command whose words are a flow: its options stand on either side of a file, and before pipe syntax."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self.flow_last(args))

    def flow_last(self, words: list[str]) -> list[str]:
        """The options first, then `--` and the words of the flow, whose flags are its steps' own."""
        options, rest = self._split(words)
        if any(is_separator(word) or is_cut_separator(word) for word in rest):
            return [*options, "--", *rest]
        more, others = self._split(rest[1:])
        return [*options, *more, "--", *rest[:1], *others]

    def _split(self, words: list[str]) -> tuple[list[str], list[str]]:
        """The options at the beginning, each with its value, and the rest."""
        valued = {name for option in self.params if _takes_value(option) for name in option.opts}
        options: list[str] = []
        rest = words[::-1]
        while rest and rest[-1].startswith("-") and len(rest[-1]) > 1:
            word = rest.pop()
            if word == "--":
                break
            options.append(word)
            if word in valued and rest:
                options.append(rest.pop())
        return options, rest[::-1]


def _takes_value(option: click.Parameter) -> bool:
    return isinstance(option, click.Option) and not option.is_flag


def own_words(command: click.Command, words: list[str]) -> list[str]:
    """The words of a command with its own flags before a --, as far as it tells them from those of a flow."""
    return command.flow_last(words) if isinstance(command, FlowCommand) else words


def run_click(command: click.Command, name: str, words: list[str]) -> int:
    """Run the command. Raises PflowError for wrong flags (2) and for what cannot be printed (73)."""
    flags = words[: (*words, "--").index("--")]
    if "--help" in flags or "-h" in flags:
        from pflow.commands._usages import usage_of_click
        from pflow.help.usage import help_text

        write_pieces(1, [help_text(usage_of_click(command, name)).encode()])
        return 0
    try:
        with command.make_context(f"pflow {name}", words) as context:
            result = command.invoke(context)
    except click.UsageError as error:
        raise PflowError(
            f"cannot run {name}: {error.format_message().rstrip('.')}", hint=f"pflow {name} --help", exit=USAGE
        ) from None
    return result if isinstance(result, int) else 0
