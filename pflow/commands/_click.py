"""Run a command with click, whose context ends what the command leaves open."""

from collections.abc import Callable
from typing import Any

import click


class ClickCommand(click.Command):
    """A command of click's whose words are parsed by `parse`, as those of a stage are."""

    def __init__(self, name: str, work: Callable[..., Any], parse: Callable[[list[str]], dict[str, Any]]) -> None:
        super().__init__(name, callback=work, add_help_option=False)
        self.parse = parse

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params = self.parse(args)
        return []

    def run(self, words: list[str], about: object) -> Any:
        """Return what the work returns, in a context with `about`."""
        with self.make_context(self.name, words, obj=about) as context:
            return self.invoke(context)
