"""How everything is used that comes with pflow: the driver, its commands, the tools, the nodes."""

from __future__ import annotations

import os
import sys

from pflow.catalog.source import read_interface
from pflow.commands._driver import USAGE as DRIVER
from pflow.commands._usage import usage_of_click
from pflow.help.node import usage_of_node
from pflow.help.usage import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
"""A checkout, of which nodes/ is a part."""


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
