"""How a command is used: from its click declaration and docstring."""

from __future__ import annotations

import inspect

import click

from pflow.help import usage as kinds
from pflow.help.usage import Argument, Flag, Usage

_ARGUMENTS = {
    "RUN": kinds.RUN,
    "FLOW": kinds.FLOW,
    "SENTENCE": kinds.FLOW,  # or pipe syntax, and after --edit and --wire a flow
    "FILE": kinds.FILE,
    "PATH": kinds.FILE,
}
_METAVARS = {"FILE": kinds.FILE, "DIR": kinds.DIRECTORY, "MODEL": kinds.MODEL}
_OF_SAVED = ("show", "remove")
"""The commands whose FLOW is a saved one's name."""


def usage_of_click(command: click.Command, name: str) -> Usage:
    """How `pflow NAME` is used. The docstring's blocks after a \\b are kept as they are; the last one has examples."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    words = " ".join(_metavar(each) for each in arguments)
    usage = Usage(f"pflow {name}", paragraphs[0].replace("\n", " "), (f"pflow {name} [FLAG]… {words}".rstrip(),))
    blocks = [paragraph.removeprefix("\b\n").split("\n") for paragraph in paragraphs if paragraph.startswith("\b")]
    if paragraphs[-1].startswith("\b"):
        usage.examples = tuple(blocks.pop())
        paragraphs.pop()
    usage.description = "\n\n".join(map(_paragraph, paragraphs[1:]))
    usage.flags = [_flag(each) for each in command.params if isinstance(each, click.Option)]
    usage.flags.append(Flag(("-h", "--help"), "print this help"))
    usage.arguments = [_argument(each, name) for each in arguments]
    usage.notes = tuple(getattr(command, "notes", list)())
    return usage


def _paragraph(text: str) -> str:
    """A paragraph; what follows a \\b is indented, and stays as it is."""
    return "\n".join(f"  {line}" for line in text.split("\n")[1:]) if text.startswith("\b") else text


def _flag(option: click.Option) -> Flag:
    choices = tuple(option.type.choices) if isinstance(option.type, click.Choice) else ()
    metavar = "" if option.is_flag else option.metavar or "|".join(choices) or "N"
    names = tuple(sorted(option.opts, key=len))
    doc = (option.help or "").removesuffix(".")
    doc = doc[:1].lower() + doc[1:]
    values = _METAVARS.get(metavar, "")
    return Flag(names, doc, metavar=metavar, values=values, choices=choices, repeats=option.multiple)


def _metavar(argument: click.Argument) -> str:
    if argument.metavar:
        return argument.metavar
    word = (argument.name or "").upper() + "…" * (argument.nargs == -1)
    return word if argument.required else f"[{word}]"


def _argument(argument: click.Argument, command: str) -> Argument:
    word = _metavar(argument).strip("[]…").removesuffix("]")
    values = kinds.SAVED if command in _OF_SAVED else _ARGUMENTS.get(word, kinds.TEXT)
    return Argument(word, values, repeats=argument.nargs == -1)
