"""pflow help: how a command, a node or a flow is used, or a page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pflow.admin.setup import bundled_directory
from pflow.commands._usages import driver_help
from pflow.errors import USAGE as WRONG_FLAGS
from pflow.errors import PflowError
from pflow.help.mdoc import as_text
from pflow.help.text import help_text
from pflow.help.usage import HELP, WORD, Usage, argument, split_flags
from pflow.process.streams import write_pieces


def page(word: str) -> str | None:
    """The file of the page about something, `exit` or `pflow-exit`; None where no such page tells of it."""
    found = _pages().get(word.removeprefix("pflow-"))
    return str(found) if found else None


def _pages() -> dict[str, Path]:
    return {file.stem.removeprefix("pflow-"): file for file in (bundled_directory() / "man").glob("man[57]/pflow-*")}


USAGE = Usage(
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
