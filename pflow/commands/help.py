"""pflow help: how a command, a node or a flow is used, or a page."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

from pflow.admin.setup import bundled_directory
from pflow.catalog.registry import PACKAGE, bundled_names, names_in, tool_names
from pflow.commands._click import usage_of_click
from pflow.driver.help import usage_of_run
from pflow.errors import USAGE as WRONG_FLAGS
from pflow.errors import PflowError
from pflow.help.mdoc import as_text
from pflow.help.text import help_text
from pflow.help.usage import HELP, SENTENCE, WORD, CommandUsage, Flag, argument, split_flags, usage_of_node
from pflow.interface.source import read_interface
from pflow.process.streams import write_pieces


def page(word: str) -> str | None:
    """The file of the page about something, `exit` or `pflow-exit`; None where no such page tells of it."""
    found = _pages().get(word.removeprefix("pflow-"))
    return str(found) if found else None


def _pages() -> dict[str, Path]:
    return {file.stem.removeprefix("pflow-"): file for file in (bundled_directory() / "man").glob("man[57]/pflow-*")}


USAGE = CommandUsage(
    "pflow help",
    "Show how a command, a node, a tool or a saved flow is used, or one of the pages that tell more.",
    ("pflow help [WORD]",),
)
USAGE.description = """\
Without WORD it is the help of pflow itself. The pages are exit (the exit codes), intro (a tutorial), store (what is in
a pipe), flow (the files of flows), node (how to write nodes), agents (pflow for programs). man shows them; where there
is none, they are printed as text."""
USAGE.flags = [HELP]
USAGE.arguments = [argument("WORD", WORD, sorted(_pages()))]
USAGE.examples = ("pflow help", "pflow help save", "pflow help exit")


def main(words: list[str]) -> int:
    """Raises PflowError: 2 for wrong words. What is no page is asked for its --help before."""
    flags, others = split_flags(words, USAGE.flags)
    if len(others) > 1:
        raise PflowError("cannot help with more than one word", hint=f"pflow help {others[0]}", exit=WRONG_FLAGS)
    file = page(others[0]) if others and not flags else None
    if file is None:
        write_pieces(1, [(help_text(USAGE) if flags else driver_help()).encode()])
    elif not shutil.which("man") or subprocess.run(["man", file], stderr=subprocess.DEVNULL, check=False).returncode:
        with open(file, encoding="utf-8") as opened:
            write_pieces(1, [as_text(opened.read()).encode()])
    return 0


ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
"""A checkout, of which nodes/ is a part."""

DRIVER = CommandUsage(
    "pflow",
    "Run a command, a node, a saved flow, steps as a flow, or what a sentence asks.",
    ("pflow WORD [FLAG]…", "pflow STEP [FLAG]… :: STEP [FLAG]… …", "pflow 'SENTENCE' [FLAG]…"),
)
DRIVER.description = """\
WORD is a command, or else a node or a tool, pflow-WORD, as a stage of a pipe: pflow llm is pflow-llm. Else it is a
saved flow. pflow help WORD tells of each, and all but saved flows have a page: pflow-run(1) is that of pflow run.

Steps with :: between them, or one argument with => between its steps, are a flow, which is run as pflow run would:
checked before anything runs, in one process, with a log. So is one argument of one step, a node's name with a flag or
words in quotes behind it: pflow 'llm "Name a tree"'. pflow nodes lists the nodes.

Else one argument with white space in it is a sentence. A model plans a flow from it, which is shown, and run, edited
or saved as you say; pflow 'SENTENCE' --help lists the flags. Without a terminal it runs with --yes alone, which allows
the network, and files below this directory: --allow=commands, --allow=paths (any), --allow=DIRECTORY and
--allow=anything allow more. pflow-plan(1) prints the flow and runs nothing.

Templates such as $name are pflow's: single quotes keep the shell from eating them."""
DRIVER.flags = [HELP, Flag(("-V", "--version"), "print the version")]
DRIVER.arguments = [argument("WORD", WORD)]
DRIVER.examples = (
    "cat examples/notes.txt | pflow llm 'Summarize'",
    "pflow 'read-file examples/notes.txt => llm \"Summarize\"' -r",
    "pflow read-file examples/notes.txt :: shell 'wc -w'",
    "pflow help llm",
)


GROUPS = {
    "Run": ("run", "plan", "resume", "replay", "mcp"),
    "Look": ("check", "explain", "runs", "trace", "why", "nodes", "models", "doctor", "help", "version"),
    "Keep": ("save", "lock", "list", "find", "show", "remove", "cache"),
    "Make": ("new-node", "test-node", "import", "export", "setup"),
}
"""The commands as the help has them; any other stands in the last group."""


def driver_help() -> str:
    """The help: the words that come with pflow, each with half a line; `pflow nodes` has those of a user's own."""
    brief = CommandUsage(DRIVER.name, DRIVER.summary, DRIVER.synopsis)
    brief.description = DRIVER.description.partition("\n\n")[0]
    brief.flags, brief.examples = DRIVER.flags, DRIVER.examples
    grouped = {name for names in GROUPS.values() for name in names}
    groups = GROUPS | {"Make": (*GROUPS["Make"], *(name for name in names_in("commands") if name not in grouped))}
    rows = {title: [(name, _half_line("commands", name)) for name in names] for title, names in groups.items()}
    rows["Nodes (pflow nodes lists your own too)"] = [(name, _half_line("nodes", name)) for name in bundled_names()]
    rows["Tools"] = [(name, _half_line("plumbing", name)) for name in tool_names()]
    brief.notes = tuple(f"{title}:\n" + "\n".join(map(_row, each)) for title, each in rows.items())
    return help_text(brief)


def _row(row: tuple[str, str]) -> str:
    return f"  {row[0]:12}  {row[1]}"


def _half_line(folder: str, name: str) -> str:
    """What the first line of a command's, a node's or a tool's file says of it."""
    with open(os.path.join(PACKAGE, folder, name.replace("-", "_") + ".py"), encoding="utf-8") as file:
        return file.readline().partition(": ")[2].rstrip('."\n')


def usages(root: str = ROOT) -> list[CommandUsage]:
    """The driver, then its commands, the tools, and the nodes that `root` has."""
    nodes = os.path.join(root, "nodes")
    files = {name: f"{nodes}/{name.replace('-', '_')}.py" for name in names_in(nodes)}
    return [
        DRIVER,
        *map(_command, names_in("commands")),
        *(import_module(f"pflow.plumbing.{name}").USAGE for name in tool_names()),
        *(usage_of_node(name, read_interface(file)) for name, file in files.items()),
    ]


def _command(name: str) -> CommandUsage:
    """How a command is used: as its own USAGE says, or its click declaration."""
    if name == "run":
        return usage_of_run()
    module = import_module(f"pflow.commands.{name.replace('-', '_')}")
    usage = getattr(module, "USAGE", None)
    return usage if isinstance(usage, CommandUsage) else usage_of_click(module.command, name)


def typed() -> list[CommandUsage]:
    """What TAB knows of: the driver, commands and tools, and what stands beside a sentence, a run's flags as well."""
    from pflow.commands._run_sentence import usage_of_sentence

    beside, known = usage_of_sentence(), [each for each in usages() if not each.is_node]
    own = {name for flag in beside.flags for name in flag.names}
    beside.name = SENTENCE
    beside.flags += [flag for flag in usage_of_run().flags if own.isdisjoint(flag.names)]
    return [*known, beside]
