"""How everything is used that comes with pflow: the driver, its commands, the tools, the nodes."""

from __future__ import annotations

import sys

from pflow.commands._usage import usage_of_click
from pflow.node import interface_of
from pflow.registry import bundled_names, load_bundled
from pflow.usage import usage as kinds
from pflow.usage.of_node import usage_of_node
from pflow.usage.usage import Argument, Flag, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def usages() -> list[Usage]:
    """The driver, then its commands, the tools, and the nodes."""
    return [driver(), *commands(), *tools(), *nodes()]


def driver() -> Usage:
    usage = Usage(
        "pflow",
        "Run a command, a node, a saved flow, or steps as a flow.",
        ("pflow WORD [FLAG]…", "pflow STEP [FLAG]… :: STEP [FLAG]… …"),
    )
    usage.flags = [Flag(("-h", "--help"), "print this help"), Flag(("--version",), "print the version")]
    usage.arguments = [Argument("WORD", kinds.WORD)]
    return usage


def commands() -> list[Usage]:
    """The commands of the driver, each its file."""
    from pflow.commands.main import names_in
    from pflow.run.help import usage_of_run

    return [
        usage_of_run() if name == "run" else usage_of_click(_module(f"pflow.commands.{name}").command, name)
        for name in names_in("commands")
    ]


def tools() -> list[Usage]:
    from pflow.commands.main import names_in

    return [_module(f"pflow.plumbing.{name}").USAGE for name in names_in("plumbing")]


def nodes() -> list[Usage]:
    return [usage_of_node(name, interface_of(load_bundled(name))) for name in bundled_names()]


def _module(name: str) -> Any:
    name = name.replace("-", "_")
    __import__(name)
    return sys.modules[name]
