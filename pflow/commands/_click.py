"""Running a click command with our exit codes, our one line of error and our stdout."""

from __future__ import annotations

import click

from pflow.errors import USAGE, PflowError
from pflow.flow.pipe.scan import is_cut_separator, is_separator
from pflow.process.streams import write_pieces
from pflow.terminal.columns import AUTO, WHEN

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
