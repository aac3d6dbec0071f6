"""Run a command with click, whose parameters are made from the command's declaration and convert its values."""

from collections.abc import Callable
from typing import Any

import click

from pflow.help.spec import CommandSpec, metavar
from pflow.interface.interface import ARGUMENT, Field
from pflow.stage.flags import unsaid, value_of

_TYPES = {"bool": click.BOOL, "int": click.INT, "float": click.FLOAT, "path": click.Path()}


class ClickCommand(click.Command):
    """A click command. `parse` parses its words, as those of a stage, and click converts the values."""

    def __init__(self, spec: CommandSpec, work: Callable[..., Any], parse: Callable[..., dict[str, Any]]) -> None:
        params = [_parameter(each) for each in [*spec.flags, *spec.arguments]]
        text = f"{spec.summary}.\n\n{spec.description}"
        super().__init__(spec.name, callback=work, params=params, help=text, add_help_option=False)
        self.parse = parse

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = {each.name: each for each in self.params}
        ctx.params = self.parse(args, lambda item, texts: named[item.name].process_value(ctx, texts))
        return []

    def run(self, words: list[str], more: dict[str, Any]) -> Any:
        """Do the command's work with the values of the words and `more`, and return its result."""
        with self.make_context(self.name, words) as context:
            context.params |= more
            return self.invoke(context)


class Parameter(click.Parameter):
    """A click parameter that makes one value of all texts of a flag, as the flag is declared."""

    field: Field

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        return value_of(self.field, value)


class Option(Parameter, click.Option):
    """A flag of a command."""


class Argument(Parameter, click.Argument):
    """A bare word of a command, or several."""


def _parameter(field: Field) -> click.Parameter:
    """Return click's parameter for a declaration. A flag with an optional value has click's `flag_value`."""
    type, is_list = field.type.items or field.type, field.type.name == "list"
    is_switch = field.type.name == "bool" and not field.word
    about: dict[str, Any] = {"metavar": metavar(field) or None, "required": field.required}
    about["type"] = click.Choice(type.choices) if type.choices else _TYPES.get(type.name, click.STRING)
    made: Parameter
    if field.kind == ARGUMENT:
        made = Argument([field.name], nargs=-1 if is_list else 1, **about)
    else:
        about |= {"type": click.STRING, "flag_value": "" if is_list else True} if field.word else {}
        about |= {"is_flag": is_switch, "multiple": is_list, "default": unsaid(field), "help": field.doc}
        made = Option([field.name, *field.names], **about)
    made.field = field
    return made
