"""pflow help: Show the help of a command, a node or a flow, or a page.

Without WORD it shows the help of pflow itself. The pages are exit (the exit codes), intro (a tutorial), store (the
document in a pipe), flow (the files of flows), node (how to write nodes), agents (pflow for programs), and the guides
pipes, flows and catalog. man shows them; without man they are printed as text. A rule (PF03) or an exit code (77) is
explained in a line. For a flag (--each) or a topic (loop), the page about it is named.

\b
pflow help
pflow help save
pflow help exit
pflow help 77
"""

import os
import re
from collections.abc import Sequence
from copy import copy
from glob import glob
from importlib import import_module

from pflow import commands
from pflow.catalog.find import list_types, version_hint
from pflow.catalog.registry import PACKAGE, bundled_directory, names_in, saved_flows
from pflow.commands._command import Command
from pflow.driver.arguments import spec_of_run
from pflow.errors import EXIT_CODES, NOT_FOUND, USAGE, PflowError, shorten
from pflow.help import spec as kinds
from pflow.help.man import as_text
from pflow.help.spec import HELP, CommandSpec, help_text, spec_of_command, spec_of_node
from pflow.interface.interface import Flag, argument
from pflow.interface.source import read_interface
from pflow.process.streams import write_pieces
from pflow.text.naming import guess


def _pages() -> dict[str, str]:
    """Return the files of the pages by name: man pages, and guides that are not named like a command or a node."""
    top = bundled_directory()
    places = ("man/man5/*", "man/man7/*", "docs/*.md")
    files = [file for place in places for file in sorted(glob(os.path.join(top, place)))]
    return {_name(file): file for file in files if _name(file) not in (*names_in("commands"), *names_in("nodes"))}


def _name(file: str) -> str:
    return os.path.basename(file).removeprefix("pflow-").partition(".")[0]


def _explanation(word: str) -> str:
    """Return a man page's line on a rule or exit code, or the name of the page on a topic or flag; else ""."""
    is_signal = word.isdigit() and 128 < int(word) < 193 and int(word) not in EXIT_CODES
    wanted = "128+n" if is_signal else word.upper()
    for file in [*_pages().values(), os.path.join(bundled_directory(), "man", "man1", "pflow-plan.1")]:
        with open(file, encoding="utf-8") as opened:
            page = opened.read()
        text = page.partition(f".It Sy \\&{wanted}\n")[2].partition("\n.")[0]
        if text:
            return f"{wanted}  {' '.join(as_text(text).split())}\n(pflow help {_name(file)} has all)\n"
        there = rf"(?mi)^(#|\.Ss).*\b{re.escape(word)}s?\b|--{re.escape(word)}\b"
        if word and re.search(there, page.replace("\\-", "-")):
            return f"pflow help {_name(file)} tells of '{word}'\n"
    return ""


@Command(__doc__, argument("[WORD]", kinds.WORD, name="word", choices=tuple(sorted(_pages()))), others="words")
def command(word: str | None, words: list[str]) -> None:
    """Show a page, a line of a page, or the help of pflow. For other WORDs, _dispatch.py runs WORD --help instead.

    Raises PflowError: 2 for several words, 127 for an unknown one.
    """
    asked = [word, *words] if word is not None else words
    if len(asked) > 1:
        raise PflowError("cannot help with more than one word", hint=f"pflow help {asked[0]}", exit=USAGE)
    word = asked[0].lstrip("-") if asked else "pflow"
    if file := _pages().get(word.removeprefix("pflow-")):
        _show(file)
    elif text := driver_help() if word == "pflow" else _explanation(word):
        write_pieces(1, [text.encode()])
    else:
        from pflow.flow.rules import RULES  # slow: it loads a file for each rule

        rules = RULES if len(word) < 4 else ()  # PF99 is not a misspelt PF09
        known = [*_pages(), *names_in("commands"), *names_in("store_commands"), *saved_flows(), *rules]
        known += [node_type.name for node_type in list_types()]
        hint = version_hint(word) or guess(word, known, "pflow --help lists all commands", 2)
        raise PflowError(f"cannot find help on '{shorten(asked[0])}'", hint=hint, exit=NOT_FOUND)


def _show(file: str) -> None:
    import shutil
    import subprocess

    is_guide = file.endswith(".md")
    if is_guide or not shutil.which("man") or subprocess.call(["man", file], stderr=subprocess.DEVNULL):
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
        write_pieces(1, [(text if is_guide else as_text(text)).encode()])


ROOT = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
"""The root of the checkout, which has nodes/."""

DRIVER = spec_of_command(
    "pflow",
    commands.__doc__,
    *("pflow WORD [FLAG]…", "pflow STEP [FLAG]… :: STEP [FLAG]… …", "pflow 'SENTENCE' [FLAG]…"),
)
DRIVER.flags = [HELP, Flag("version", "print the version", letter="V")]
DRIVER.arguments = [argument("WORD", kinds.WORD)]

GROUPS = {
    "Run": ("run", "map", "plan", "resume", "cancel", "replay", "merge", "mcp"),
    "Look": ("check", "explain", "runs", "trace", "why", "nodes", "models", "doctor", "help", "version"),
    "Keep": ("save", "lock", "list", "find", "show", "remove", "install", "update", "uninstall", "cache"),
    "Make": ("new-node", "test-node", "import", "export", "setup"),
}
"""The groups of commands in the help; any other command goes into the last group."""


def driver_help() -> str:
    """Return the help of pflow: each of its words with a summary. `pflow nodes` also lists a user's nodes."""
    brief = copy(DRIVER)
    brief.description = DRIVER.description.partition("\n\n")[0]
    grouped = {name for names in GROUPS.values() for name in names}
    groups = GROUPS | {"Make": (*GROUPS["Make"], *(name for name in names_in("commands") if name not in grouped))}
    notes = [_listed(title, "commands", names) for title, names in groups.items()]
    notes.append(_listed("Nodes (pflow nodes lists your own too)", "nodes", names_in("nodes")))
    brief.notes = (*notes, _listed("Tools", "store_commands", names_in("store_commands")))
    return help_text(brief)


def _listed(title: str, folder: str, names: Sequence[str]) -> str:
    width = max(12, *map(len, names))
    return "\n".join([f"{title}:", *(f"  {name:{width}}  {_half_line(folder, name)}" for name in names)])


def _half_line(folder: str, name: str) -> str:
    with open(os.path.join(PACKAGE, folder, name.replace("-", "_") + ".py"), encoding="utf-8") as file:
        summary = file.readline().partition(": ")[2].rstrip('."\n')
    return summary[:1].upper() + summary[1:]


def specs(root: str = ROOT) -> list[CommandSpec]:
    """Return the spec of the driver, its commands, the store commands, and the nodes that `root` has."""
    nodes = os.path.join(root, "nodes")
    files = {name: f"{nodes}/{name.replace('-', '_')}.py" for name in names_in(nodes)}
    return [
        DRIVER,
        *map(_command, names_in("commands")),
        *(import_module(f"pflow.store_commands.{name}").SPEC for name in names_in("store_commands")),
        *(spec_of_node(name, read_interface(file)) for name, file in files.items()),
    ]


def _command(name: str) -> CommandSpec:
    if name == "run":
        return spec_of_run()
    spec: CommandSpec = import_module(f"pflow.commands.{name.replace('-', '_')}").command.spec
    return spec


def typed() -> list[CommandSpec]:
    """Return the specs that TAB knows: the driver, commands, store commands, and the flags beside a sentence."""
    from pflow.commands import _run_sentence

    beside = copy(_run_sentence.command.spec)
    beside.name = kinds.SENTENCE
    beside.flags = [*beside.flags, *(flag for flag in spec_of_run().flags if flag.name not in beside.fields)]
    return [*(each for each in specs() if not each.is_node), beside]
