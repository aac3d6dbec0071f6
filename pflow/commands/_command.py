"""A command as data: its declaration, the parsing of its words, and flags that several commands share.

This module does not load click, which takes 40 ms, so that pflow --help and pflow nodes stay quick.
"""

from __future__ import annotations

from keyword import iskeyword

from pflow import Any, Callable, Mapping
from pflow.errors import OK, USAGE, Ignoring, PflowError
from pflow.help import spec as kinds
from pflow.help.spec import HELP, CommandSpec, spec_of_command
from pflow.interface.common import OF_RUNS
from pflow.interface.interface import ARGUMENT, OPTION, PATH, TEXT, Field, Flag, choice
from pflow.process.signals import ClosedPipe
from pflow.process.streams import write_pieces, written_to
from pflow.stage.flags import value_of, values_of
from pflow.stage.words import groups, is_asked, is_flag, take_words
from pflow.terminal.columns import AUTO, WHEN
from pflow.text.naming import names_meant

COLOR = Flag(
    "color",
    "print in colour; auto, the default, does so on a terminal unless NO_COLOR is set",
    type=choice(*WHEN),
    default=AUTO,
)
OUTPUT = Flag("output", "write to FILE, whole or not at all", letter="o", type=PATH, metavar="FILE")
HTML = Flag("html", "write a page for a browser, to FILE if given", word="FILE", excludes=("json", "chrome", "otlp"))
MODEL = Flag("model", "the model that plans", type=TEXT, metavar="MODEL")
FRESH = Flag("fresh", "ask the model again, even if it planned the sentence before")


def own(flag: Flag, doc: str = "", **facts: Any) -> Flag:
    """Return a copy of a common flag for a command; its text, letter, range or default may differ."""
    return flag.but(**facts, kind=OPTION, doc=doc or flag.doc)


class Command:
    """A command of pflow. It decorates the function that does the work, which gets the values of the declared items.

    `doc` is the docstring of the command's file and begins with its name; `epilog` is a note in its help. `others` is
    the name of the argument that gets undeclared flags, as they were typed; without it they are refused. `refused` has
    the reason for each flag of `pflow run` that is of no use here. With `of_run`, the flags that a run has too come as
    one argument `flags`. A `quick` command runs without click.
    """

    work: Callable[..., int | None]

    def __init__(
        self, doc: str | None, *declared: Field, epilog: str = "", others: str = "", of_run: bool = False,
        refused: Mapping[str, str] | None = None, quick: bool = False,
    ) -> None:  # fmt: skip
        name = (doc or "").partition(":")[0]
        flags, bare = [[each for each in declared if (each.kind == ARGUMENT) == is_bare] for is_bare in (False, True)]
        words = filter(None, [name, "[FLAG]…" * bool(flags), *(each.metavar for each in bare)])
        self.spec = spec_of_command(name, doc, " ".join(words))
        self.spec.flags, self.spec.arguments, self.spec.notes = flags, bare, (epilog,) * bool(epilog)
        self.spec.flags += [] if HELP.name in self.spec.fields else [HELP]
        self.others = others
        self.of_run = of_run
        reasons = {name: (f": {why}", f"{self.spec.name} --help") for name, why in (refused or {}).items()}
        self.refused = {name: OF_RUNS[name].but(refused=reason) for name, reason in reasons.items()}
        self.quick = quick

    def __call__(self, work: Callable[..., int | None]) -> Command:
        self.work = work
        return self

    def call(self, **values: Any) -> int | None:
        """Do the work with these values. The value of --from is called `from_`, since `from` is a keyword."""
        return self.work(**{f"{name}_" if iskeyword(name) else name: value for name, value in values.items()})

    def parse(self, words: list[str], convert: Callable[..., Any] = value_of) -> dict[str, Any]:
        """Return the values of the words, converted by `convert`. Raises PflowError (2) for the first wrong word."""
        fields, found = self.spec.fields, dict[str, Any]()
        if is_of_flow(self.spec):
            words, found[self.spec.arguments[-1].name] = own_words(self.spec, words)
        if self.others:
            has_list = any(word.type.name == "list" for word in self.spec.arguments)  # it takes the words after a flag
            words, found[self.others] = known_words(words, fields, is_open=not has_list)
        texts = take_words(words, fields | self.refused)
        there = texts.keys() | {name for name, value in found.items() if value}
        if self.of_run:
            from pflow.driver.arguments import RunFlags

            of_run = {name: field for name, field in fields.items() if isinstance(field, Flag) and field.of}
            found["flags"] = RunFlags({name: texts[name] for name in of_run if name in texts}, of_run, convert)
            fields = {name: field for name, field in fields.items() if name not in of_run}
        values = values_of(texts, fields, convert) | found
        self._check_required(there)
        values.pop("help", None)
        return values

    def _check_required(self, there: set[str]) -> None:
        for field in [*self.spec.flags, *self.spec.arguments]:
            if field.required and field.name not in there:
                is_word = field.kind == ARGUMENT
                name = field.metavar.rstrip("…") if is_word else field.flag
                hint = f"{self.spec.name} --help" if is_word else f"{field.flag}={kinds.metavar(field)}"
                raise PflowError(f"cannot run {self.spec.name}: {name} is missing", hint=hint, exit=USAGE)


def known_words(words: list[str], fields: Mapping[str, Field], *, is_open: bool = False) -> tuple[list[str], list[str]]:
    """Split the words into known ones and undeclared flags; with `is_open`, undeclared flags keep their values."""
    known, others = list[str](), list[str]()
    for found, group in groups(words, fields, is_open=is_open):
        (others if not found and is_flag(group[0]) else known).extend(group)
    return known, others


def is_of_flow(spec: CommandSpec) -> bool:
    """Return True if a command's last words are a flow, so that `split_flow` finds the command's flags."""
    return any(word.tab == kinds.FLOW and word.type.name == "list" for word in spec.arguments[-1:])


def own_words(spec: CommandSpec, words: list[str]) -> tuple[list[str], list[str]]:
    """Split the words into the command's own words and the words of the flow after them, if there is one."""
    if not is_of_flow(spec):
        return words, []
    from pflow.driver.arguments import split_flow

    return split_flow(words, spec.fields, len(spec.arguments) - 1)


def run_command(command: Command, words: list[str], **more: Any) -> int:
    """Run a command with the values of its words and `more`, or print its help. Raises PflowError (2)."""
    if is_asked("help", own_words(command.spec, words)[0], command.spec.fields):
        from pflow.help.spec import help_text

        write_pieces(1, [help_text(command.spec).encode()])
        return OK
    if command.quick:
        return command.call(**command.parse(words), **more) or OK
    from pflow.commands._click import ClickCommand

    return ClickCommand(command.spec, command.call, command.parse).run(words, more) or OK


def say_in_json(words: list[str], error: PflowError) -> bool:
    """Print an error as JSON and return True if --json is among a command's own flags; else return False.

    Nothing is printed if stdout has output already.
    """
    from pflow.commands._output import print_json
    from pflow.completion.names import read_table

    name = f"pflow {words[0]}"
    spec = read_table([name])[name]  # not from the command's module, whose import may have failed
    is_wanted = is_asked("json", own_words(spec, words[1:])[0], spec.fields)
    if is_wanted and 1 not in written_to:
        with Ignoring(ClosedPipe, PflowError):  # if stdout is closed, the error is on stderr all the same
            print_json({"error": error_document(error, words[0])})
    return is_wanted


def error_document(error: PflowError, command: str) -> dict[str, Any]:
    """Return an error as a document: message, hint, exit code, names that the user may have meant, details."""
    about: dict[str, Any] = {"message": error.message, "hint": error.hint, "exit": error.exit, "command": command}
    if near := names_meant(error.hint):
        about["near"] = near
    return about | {name: value for name, value in error.details.items() if name not in about}
