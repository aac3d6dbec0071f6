"""How everything is used that comes with pflow: the driver, its commands, the tools, the nodes."""

from __future__ import annotations

import os
import sys

from pflow.commands._usage import usage_of_click
from pflow.source import read_interface
from pflow.usage import usage as kinds
from pflow.usage.of_node import usage_of_node
from pflow.usage.usage import Argument, Flag, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
"""A checkout, of which nodes/ is a part."""

_DRIVEN = """\
WORD is a command, or else a node or a tool, pflow-WORD, as a stage of a pipe: pflow llm is pflow-llm. Else it is a
saved flow. Each has a page of its own, and --help.

Steps with :: between them, or one argument with => between its steps, are a flow, which is run as pflow run would:
checked before anything runs, in one process, with a log. pflow nodes lists the nodes.

Templates such as $name are pflow's: single quotes keep the shell from eating them."""


def usages(root: str = ROOT) -> list[Usage]:
    """The driver, then its commands, the tools, and the nodes, as the files under `root` have them."""
    package = os.path.join(root, "pflow")
    return [
        driver(),
        *map(_command, _names(os.path.join(package, "commands"))),
        *map(_tool, _names(os.path.join(package, "plumbing"))),
        *(_node(os.path.join(root, "nodes"), name) for name in _names(os.path.join(root, "nodes"))),
    ]


def driver() -> Usage:
    usage = Usage(
        "pflow",
        "Run a command, a node, a saved flow, or steps as a flow.",
        ("pflow WORD [FLAG]…", "pflow STEP [FLAG]… :: STEP [FLAG]… …"),
    )
    usage.description = _DRIVEN
    usage.flags = [Flag(("-h", "--help"), "print this help"), Flag(("--version",), "print the version")]
    usage.arguments = [Argument("WORD", kinds.WORD)]
    usage.examples = (
        "cat examples/notes.txt | pflow llm --prompt='Summarize'",
        "pflow 'read-file --path=examples/notes.txt => llm --prompt=Summarize' -r",
        "pflow read-file --path=examples/notes.txt :: shell --command='wc -w'",
        "pflow llm --help",
    )
    return usage


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
    module = _module(f"pflow.commands.{name}")
    usage = getattr(module, "USAGE", None)
    return usage if isinstance(usage, Usage) else usage_of_click(module.command, name)


def _tool(name: str) -> Usage:
    usage = _module(f"pflow.plumbing.{name}").USAGE
    assert isinstance(usage, Usage)
    return usage


def _node(directory: str, name: str) -> Usage:
    return usage_of_node(name, read_interface(os.path.join(directory, name.replace("-", "_") + ".py")))


def _module(name: str) -> Any:
    name = name.replace("-", "_")
    __import__(name)
    return sys.modules[name]
