"""The common parts of the store commands: parsing flags, reading the input store, reporting errors, exiting."""

from __future__ import annotations

import sys

from pflow import Any, Callable, NoReturn, __version__
from pflow.binding.flag_value import read_text
from pflow.errors import MISSING, USAGE, Attempt, PflowError, shorten
from pflow.files.reading import limit_input
from pflow.help.spec import HELP, CommandSpec
from pflow.interface.common import COMMON
from pflow.interface.interface import OPTION, Flag
from pflow.process.signals import end_in_order
from pflow.process.streams import closed_stdout, secure_standard_files, write_pieces
from pflow.stage.document import EMPTY, NOTHING, Document, Intake, empty_pipe, take_in
from pflow.stage.flags import values_of
from pflow.stage.main import leave, prepare_python
from pflow.stage.words import is_asked, take_words
from pflow.terminal.messages import say_error
from pflow.values.paths import Path

FROM, MAX_INPUT = COMMON["from"].but(kind=OPTION), COMMON["max_input"].but(kind=OPTION)
HELP_FLAGS = (MAX_INPUT, HELP, Flag("version", "print the version"))


class StoreCommand:
    """A running store command, with its input store, which an error document passes on."""

    def __init__(self) -> None:
        self.document = Document()

    def open(self, intake: Intake) -> Document:
        """Keep the input store for a later error document, and return a copy to change."""
        self.document = intake.document
        return intake.document.copy()


def run_store_command(
    spec: CommandSpec, work: Callable[[dict[str, Any], StoreCommand], int], *, prints_store: bool = False
) -> NoReturn:  # fmt: skip
    """Run an executable with the values of its flags and bare words; `work` returns the exit code.

    A failure is one line on stderr. A command that prints a store also prints an error document; other commands do so
    only for wrong words, which a working script does not have.
    """
    prepare_python()
    command = StoreCommand()
    words, closed = sys.argv[1:], secure_standard_files()

    def begin() -> int:
        if 1 in closed:
            raise closed_stdout()
        asked = [name for name in ("help", "version") if is_asked(name, words, spec.fields)]
        if asked:
            return _print_about(spec, asked[0])
        values = values_of(take_words(words, spec.fields), spec.fields)
        limit_input(values["max_input"])
        return work(values, command)

    def fail(error: PflowError) -> int:
        say_error(spec.name, error)
        if prints_store or error.exit == USAGE:
            from pflow.stage.output import Output

            Output([]).hand_on_error(spec.name.removeprefix("pflow-"), error, command.document)
        return error.exit

    leave(end_in_order(begin, fail))


def _print_about(spec: CommandSpec, name: str) -> int:
    """Print the version or the help, and return the exit code."""
    from pflow.help.spec import help_text

    text = f"{spec.name} (pflow-shell {__version__})\n" if name == "version" else help_text(spec)
    write_pieces(1, [text.encode()])
    return 0


def take_store(source: str) -> Intake:
    """Read the store on stdin, for a command that needs one. Raises PflowError (66) if stdin is empty or absent."""
    intake = take_in(source=source)
    if intake.kind == EMPTY:
        raise empty_pipe(hint="")
    if intake.kind == NOTHING:
        raise PflowError("cannot read a store: stdin is not a pipe or a file", hint="put it in a pipe", exit=MISSING)
    return intake


def place(text: str) -> Path:
    """Parse a path of the command line. Raises PflowError (2) for a malformed one."""
    from pflow.values.paths import parse_path

    with Attempt("cannot take the path", of=ValueError, exit=USAGE):
        return parse_path(text)


def set_members(document: Document, words: list[str]) -> list[Path]:
    """Set members of a document, and return their places. KEY=VALUE sets a text, KEY:=JSON a JSON value, KEY@FILE a
    file's text, KEY:@FILE the JSON in a file.

    Raises PflowError (2) for any other word, and the error of a file that cannot be read.
    """
    from pflow.values.jsontext import BLANK, decode, encode
    from pflow.values.paths import parse_path
    from pflow.values.types import Type, from_text

    places = []
    for word in words:
        key, sign, text = word.partition("=")
        before, at, file = word.partition("@")
        is_file = bool(at) and ("=" not in word or (before.endswith(":") and "=" not in before))
        if is_file and before.count('"') % 2 == 0:  # an @ inside quotes is part of the path
            key, sign, text = before, at, read_text(shorten(before), file)
        is_json = key.endswith(":")
        key = key.removesuffix(":")
        if not sign or not key:
            hint = "it is written KEY=VALUE, KEY:=JSON, KEY@FILE or KEY:@FILE"
            raise PflowError(f"cannot set '{shorten(word)}'", hint=hint, exit=USAGE)
        try:
            path = parse_path(from_text(Type("str"), key))
            json = text.strip(BLANK).encode() if is_json else encode(text)
            value = decode(json)
        except (ValueError, PflowError) as error:
            raise PflowError(f"cannot set '{shorten(key)}': {error}", exit=USAGE) from None
        if str(path[0]).startswith("$"):
            raise PflowError(f"cannot set '{key}': keys that begin with $ are reserved", exit=USAGE)
        if not all(isinstance(step, str) for step in path):
            raise PflowError(f"cannot set '{key}': it is a place in a list", hint="set the whole list", exit=USAGE)
        if len(path) == 1:
            document.set_json(str(path[0]), json.replace(b"\n", b" ").replace(b"\r", b" "))
        else:
            document.put(path, value)
        places.append(path)
    return places
