"""How everything is used that comes with pflow: the driver, its commands, the tools, the nodes."""

from __future__ import annotations

import inspect
import os
from importlib import import_module

import click

from pflow.catalog.registry import bundled_names, names_in, tool_names
from pflow.help import usage as kinds
from pflow.help.node import usage_of_node
from pflow.help.usage import Argument, Flag, Usage, help_text
from pflow.source import read_interface

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
"""A checkout, of which nodes/ is a part."""


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


DRIVER = Usage(
    "pflow",
    "Run a command, a node, a saved flow, steps as a flow, or what a sentence asks.",
    ("pflow WORD [FLAG]…", "pflow STEP [FLAG]… :: STEP [FLAG]… …", "pflow 'SENTENCE' [FLAG]…"),
)
DRIVER.description = """\
WORD is a command, or else a node or a tool, pflow-WORD, as a stage of a pipe: pflow llm is pflow-llm. Else it is a
saved flow. Each has --help, and all but saved flows have a page: pflow-run(1) is that of pflow run.

Steps with :: between them, or one argument with => between its steps, are a flow, which is run as pflow run would:
checked before anything runs, in one process, with a log. pflow nodes lists the nodes.

Else one argument with white space in it is a sentence. A model plans a flow from it, which is shown, and run, edited
or saved as you say; pflow 'SENTENCE' --help lists the flags. Without a terminal it runs with --yes alone, which allows
the network, and files below this directory: --allow=commands, --allow=paths (any), --allow=DIRECTORY and
--allow=anything allow more. pflow-plan(1) prints the flow and runs nothing.

Templates such as $name are pflow's: single quotes keep the shell from eating them."""
DRIVER.flags = [Flag(("-h", "--help"), "print this help"), Flag(("--version",), "print the version")]
DRIVER.arguments = [Argument("WORD", kinds.WORD)]
DRIVER.examples = (
    "cat examples/notes.txt | pflow llm --prompt='Summarize'",
    "pflow 'read-file --path=examples/notes.txt => llm --prompt=Summarize' -r",
    "pflow read-file --path=examples/notes.txt :: shell --command='wc -w'",
    "pflow llm --help",
)


def driver_help() -> str:
    """The help, with the words that there are; those of a user's own come from `pflow nodes`."""
    words = {"Commands": names_in("commands"), "Nodes": bundled_names(), "Tools": tool_names()}
    DRIVER.notes = tuple(f"{title}:\n{_lines(names)}" for title, names in words.items())
    return help_text(DRIVER)


def _lines(words: list[str]) -> str:
    import textwrap

    return textwrap.fill(" ".join(words), 96, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def usages(root: str = ROOT) -> list[Usage]:
    """The driver, then its commands, the tools, and the nodes, as the files under `root` have them."""
    package = os.path.join(root, "pflow")
    return [
        DRIVER,
        *map(_command, _names(os.path.join(package, "commands"))),
        *map(_tool, _names(os.path.join(package, "plumbing"))),
        *(_node(os.path.join(root, "nodes"), name) for name in _names(os.path.join(root, "nodes"))),
    ]


def typed(root: str = ROOT) -> list[Usage]:
    """What TAB knows of: those, and what stands beside a sentence, which has the flags of a run as well."""
    from pflow.commands._sentence import usage_of_sentence

    beside, known = usage_of_sentence(), usages(root)
    own = {name for flag in beside.flags for name in flag.names}
    for usage in known:
        if usage.name == "pflow run":
            beside.flags += [flag for flag in usage.flags if own.isdisjoint(flag.names)]
    return [*known, beside]


def _names(directory: str) -> list[str]:
    """The commands, tools or nodes that a directory has: one file each."""
    if not os.path.isdir(directory):
        return []
    files = [file for file in sorted(os.listdir(directory)) if file.endswith(".py") and not file.startswith("_")]
    return [file[:-3].replace("_", "-") for file in files if file != "main.py"]


def _command(name: str) -> Usage:
    """How a command is used: as its click declaration says, or its own USAGE."""
    if name == "run":
        from pflow.run.help import usage_of_run

        return usage_of_run()
    module = import_module(f"pflow.commands.{name.replace('-', '_')}")
    usage = getattr(module, "USAGE", None)
    return usage if isinstance(usage, Usage) else usage_of_click(module.command, name)


def _tool(name: str) -> Usage:
    usage = import_module(f"pflow.plumbing.{name.replace('-', '_')}").USAGE
    assert isinstance(usage, Usage)
    return usage


def _node(directory: str, name: str) -> Usage:
    return usage_of_node(name, read_interface(os.path.join(directory, name.replace("-", "_") + ".py")))


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
