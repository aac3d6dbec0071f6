"""The parts that commands share: click with our exit codes, help and errors."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import click

from pflow.commands._output import print_json
from pflow.driver.arguments import leading_flags
from pflow.errors import BAD_DATA, OK, USAGE, PflowError
from pflow.flow.findings import Finding, errors_of
from pflow.flow.flow import FlowSpec
from pflow.flow.pipe.scan import is_cut_separator, is_separator
from pflow.flow.pipe.steps import split_step
from pflow.flow.rules import check
from pflow.flow.subflow import is_one_step
from pflow.flow.wired import WiredFlow
from pflow.flow.wiring import wire
from pflow.help import usage as kinds
from pflow.help.text import help_text
from pflow.help.usage import HELP, CommandUsage, usage_of_command
from pflow.interface.interface import SWITCH, TEXT, TEXTS, Flag, Item, argument, by_name
from pflow.process.signals import ClosedPipe
from pflow.process.streams import begun, write_pieces
from pflow.stage.flags import time_limit
from pflow.stage.words import is_asked
from pflow.terminal.columns import AUTO, WHEN
from pflow.terminal.messages import say
from pflow.words.naming import names_meant
from pflow.words.printable import clause


def say_in_json(words: list[str], error: PflowError) -> None:
    """Print an error as JSON if --json stands before any step of a flow, unless stdout has output already."""
    ends = (at for at, word in enumerate(words) if word == "--" or is_separator(word))
    if 1 in begun or "--json" not in words[: next(ends, len(words))]:
        return
    with suppress(ClosedPipe, PflowError):  # without a reader the exit code is enough
        print_json({"error": error_document(error, words[0])})


def error_document(error: PflowError, command: str) -> dict[str, Any]:
    """Return an error as a document: its words, its exit code, the names that may have been meant, its details."""
    about: dict[str, Any] = {"message": error.message, "hint": error.hint, "exit": error.exit, "command": command}
    if near := names_meant(error.hint):
        about["near"] = near
    return about | {name: value for name, value in error.details.items() if name not in about}


color_option = click.option(
    "--color",
    "when",
    type=click.Choice(WHEN),
    default=AUTO,
    help="Print in colour; auto, the default, does so on a terminal unless NO_COLOR is set.",
)
"""The option --color, which gives a command `when`, for `pflow.terminal.columns.colour_of`."""


class OptionalValue(click.Option):
    """An option whose value may be missing, and otherwise stands behind `=`: --html, --html=FILE."""


class FlowCommand(click.Command):
    """A command whose words are a flow, or `words_before` and a flow.

    Its options stand before several steps, on either side of one word, and among the flags of one step.
    """

    words_before = 0

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_interspersed_args = not any(is_separator(word) or is_cut_separator(word) for word in args)
        if ctx.allow_interspersed_args:
            before, step = self.part(args)
            ctx.allow_interspersed_args = not step
            args = [*before, *step]
        return super().parse_args(ctx, args)

    def part(self, args: list[str]) -> tuple[list[str], list[str]]:
        """Split off the words of a step that is the whole flow; return the other words, and those."""
        options = [each for each in self.params if isinstance(each, click.Option)]
        own = {name: not each.is_flag for each in options for name in each.opts}
        own |= dict.fromkeys(("-h", "--help"), False)
        flags, words = leading_flags(args, own)
        before, flow = words[: self.words_before], words[self.words_before :]
        if not is_one_step(flow):
            return args, []
        step, beside = split_step(flow, own)
        return [*flags, *beside, *before], step


class Known(click.types.StringParamType):
    """Any text, as the type of an option or a word; TAB offers the `choices`."""

    def __init__(self, choices: Iterable[str]) -> None:
        self.choices = tuple(choices)


output_option = click.option("-o", "--output", metavar="FILE", help="Write to FILE, whole or not at all.")


def seconds(text: str) -> float:
    """Parse a time to wait: the type of --timeout."""
    value = time_limit(text)
    if value is None:
        raise click.UsageError(f"--timeout takes a number of seconds, not '{text}'")
    return value


def examined(flow: FlowSpec, program: str) -> tuple[WiredFlow, list[Finding], int]:
    """Wire and check a flow, and print its errors; return it, all its findings, and the exit code: 65 with errors."""
    wired = wire(flow)
    findings = check(wired)
    errors = errors_of(findings)
    for error in errors:
        say(program, str(error))
    return wired, findings, BAD_DATA if errors else OK


def run_click(command: click.Command, name: str, words: list[str], about: object = None) -> int:
    """Run a click command, whose context gets `about`. Raises PflowError (2) for wrong flags."""
    flags = command.part(words)[0] if isinstance(command, FlowCommand) else words
    if is_asked("help", flags, by_name(usage_of_click(command, name).flags)):
        write_pieces(1, [help_text(usage_of_click(command, name)).encode()])
        return 0
    optional = {name for each in command.params if isinstance(each, OptionalValue) for name in each.opts}
    try:
        given = [f"{word}=" if word in optional else word for word in words]
        with command.make_context(f"pflow {name}", given, obj=about) as context:
            result = command.invoke(context)
    except click.UsageError as error:
        what = f"cannot run {name}: {clause(error.format_message())}"
        raise PflowError(what, hint=f"pflow {name} --help", exit=USAGE) from None
    return result if isinstance(result, int) else 0


_ARGUMENTS = {
    "run": kinds.RUN,
    "unfinished": kinds.UNFINISHED,
    "running": kinds.RUNNING,
    "step": kinds.STEP,
    "flow": kinds.FLOW,
    "saved": kinds.SAVED,
    "node": kinds.NODE,
    "server": kinds.SERVER,
    "path": kinds.NODE_OR_FILE,
    "source": kinds.FILE,
    "items": kinds.FILE,
    "ledger": kinds.FILE,
    "words": kinds.FLOW,
}
"""The kind of a word, by the name of the function's argument that takes it."""

_METAVARS = {
    "FILE": kinds.FILE,
    "DIR": kinds.DIRECTORY,
    "MODEL": kinds.MODEL,
    "RUN": kinds.RUN,
    "STEP": kinds.STEP,
    "FLOW": kinds.SAVED,
}


def usage_of_click(command: click.Command, name: str) -> CommandUsage:
    """Return the usage of `pflow NAME`. Its help is its file's docstring, its epilog a note."""
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    words = " ".join(_metavar(each) for each in arguments)
    usage = usage_of_command(f"pflow {name}", command.help, f"pflow {name} [FLAG]… {words}".rstrip())
    usage.flags = [*(_flag(each) for each in command.params if isinstance(each, click.Option)), HELP]
    usage.arguments = [_argument(each) for each in arguments]
    usage.notes = (command.epilog,) if command.epilog else ()
    return usage


def _flag(option: click.Option) -> Item:
    metavar = "" if option.is_flag else option.metavar or "|".join(_choices(option)) or "N"
    *several, last = "|".join(_choices(option) or [metavar]).split("|")
    choices = [each for each in several if each == each.lower()]  # mcp-NAME is not a choice by itself
    values = _METAVARS.get(last, "")
    longs = [name for name in option.opts if name.startswith("--")]
    letters = [name for name in option.opts if not name.startswith("--")]
    is_optional = isinstance(option, OptionalValue)
    return Flag(
        (longs or [option.name or ""])[0].lstrip("-").replace("-", "_"),
        clause(option.help or ""),
        letter="".join(letters).lstrip("-"),
        type=TEXTS if option.multiple else TEXT if metavar and not is_optional else SWITCH,
        tab=values,
        choices=(*choices, *[last] * bool(choices and not values)),
        metavar=metavar,
        word=metavar if is_optional else "",
    )


def _argument(word: click.Argument) -> Item:
    return argument(
        _metavar(word), _ARGUMENTS.get(word.name or "", ""), name=word.name or "", choices=_choices(word),
        repeats=word.nargs < 0,
    )  # fmt: skip


def _choices(parameter: click.Parameter) -> tuple[str, ...]:
    return tuple(parameter.type.choices) if isinstance(parameter.type, click.Choice | Known) else ()


def _metavar(argument: click.Argument) -> str:
    if argument.metavar is not None:
        return argument.metavar
    word = (argument.name or "").upper() + "…" * (argument.nargs == -1)
    return word if argument.required else f"[{word}]"
