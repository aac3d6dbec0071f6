"""What the tools have in common: their flags, their input and how they end."""

from __future__ import annotations

import sys

from pflow import TYPE_CHECKING, __version__
from pflow.binding.flag_value import flag_value, read_text
from pflow.errors import CANNOT_WRITE, MISSING, USAGE, PflowError, shorten
from pflow.help.usage import HELP, Flag
from pflow.interface.common import SOURCES
from pflow.process.signals import end_in_order
from pflow.process.streams import secure_standard_files, write_pieces
from pflow.stage.document import EMPTY, NOTHING, Document, Intake, take_in
from pflow.stage.main import leave
from pflow.terminal.messages import say_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from pflow.help.usage import CommandUsage
    from pflow.values.paths import Path

FROM = Flag(("--from",), "what stdin holds", metavar="|".join(SOURCES.choices), choices=SOURCES.choices)
HELP_FLAGS = (HELP, Flag(("--version",), "print the version"))


class Tool:
    """A tool at work, and the store that came in, which an error document hands on."""

    def __init__(self) -> None:
        self.document = Document()

    def open(self, intake: Intake) -> Document:
        """The store that came in, to be changed."""
        self.document = intake.document
        return intake.document.copy()


def run_tool(usage: CommandUsage, work: Callable[[list[str], Tool], int], *, prints_store: bool = False) -> NoReturn:
    """Run an executable with the words of the command line; `work` returns the exit code.

    A failure is one line, and an error document of what prints a store; of what prints something else, when its words
    are wrong: then it is in no working script.
    """
    tool = Tool()
    words, closed = sys.argv[1:], secure_standard_files()

    def begin() -> int:
        if 1 in closed:
            raise PflowError("cannot write to stdout: it is closed", exit=CANNOT_WRITE)
        asked = [word for word in words[: (*words, "--").index("--")] if word in ("--help", "-h", "--version")]
        return _tell(usage, asked[0]) if asked else work(words, tool)

    def fail(error: PflowError) -> int:
        say_error(usage.name, error)
        if prints_store or error.exit == USAGE:
            from pflow.stage.output import hand_on_error

            hand_on_error([], usage.name.removeprefix("pflow-"), error, tool.document)
        return error.exit

    leave(end_in_order(begin, fail))


def _tell(usage: CommandUsage, word: str) -> int:
    from pflow.help.text import help_text

    text = f"{usage.name} (pflow-shell {__version__})\n" if word == "--version" else help_text(usage)
    write_pieces(1, [text.encode()])
    return 0


def source_in(flags: dict[str, list[str]]) -> str:
    """What --from says of stdin. Raises PflowError (2) for what it may not say."""
    return str(flag_value("--from", SOURCES, flags.get("--from", ["auto"])[-1]))


def take_store(*, source: str = "auto") -> Intake:
    """The store on stdin, for a tool that cannot do without. Raises PflowError (66) where nothing came."""
    intake = take_in(source=source)
    if intake.kind == EMPTY:
        raise PflowError("stdin was empty: did the command before it fail?", exit=MISSING)
    if intake.kind == NOTHING:
        raise PflowError("cannot read a store: stdin is not a pipe or a file", hint="pflow-… | this", exit=MISSING)
    return intake


def place(text: str) -> Path:
    """The place that a path of the command line names. Raises PflowError (2) for what is no path."""
    from pflow.values.paths import parse_path

    try:
        return parse_path(text)
    except ValueError as error:
        raise PflowError(f"cannot take the path: {error}", exit=USAGE) from None


def set_members(document: Document, words: list[str]) -> list[Path]:
    """KEY=VALUE sets a text, KEY:=JSON a JSON value, as it is written or in FILE of KEY:@FILE. Returns the places that
    were set.

    Raises PflowError (2) for what is none of them, and for a file as reading it fails.
    """
    from pflow.values.jsontext import decode, encode
    from pflow.values.paths import parse_path
    from pflow.values.types import Type, from_text

    places = []
    for word in words:
        key, equals, text = word.partition("=")
        if ":@" in key:
            key, equals, file = word.partition(":@")
            text, is_json = read_text(shorten(key), file), True
        else:
            is_json = key.endswith(":")
            key = key.removesuffix(":")
        if not equals or not key:
            raise PflowError(f"cannot set '{word}': it is neither KEY=VALUE nor KEY:=JSON", exit=USAGE)
        try:
            path = parse_path(from_text(Type("str"), key))
            json = text.strip().encode() if is_json else encode(text)
            value = decode(json)
        except (ValueError, PflowError) as error:
            raise PflowError(f"cannot set '{shorten(key)}': {error}", exit=USAGE) from None
        if str(path[0]).startswith("$"):
            raise PflowError(f"cannot set '{key}': keys that begin with $ are reserved", exit=USAGE)
        if not all(isinstance(step, str) for step in path):
            raise PflowError(f"cannot set '{key}': a place in a list", hint="set the whole list", exit=USAGE)
        if len(path) == 1:
            document.set_json(str(path[0]), json.replace(b"\n", b" ").replace(b"\r", b" "))
        else:
            document.put(path, value)
        places.append(path)
    return places
