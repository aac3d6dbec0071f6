"""How `pflow` itself is used."""

from __future__ import annotations

from pflow.catalog.registry import bundled_names, names_in, tool_names
from pflow.help import usage as kinds
from pflow.help.text import help_text
from pflow.help.usage import Argument, Flag, Usage

USAGE = Usage(
    "pflow",
    "Run a command, a node, a saved flow, steps as a flow, or what a sentence asks.",
    ("pflow WORD [FLAG]…", "pflow STEP [FLAG]… :: STEP [FLAG]… …", "pflow 'SENTENCE' [FLAG]…"),
)
USAGE.description = """\
WORD is a command, or else a node or a tool, pflow-WORD, as a stage of a pipe: pflow llm is pflow-llm. Else it is a
saved flow. Each has --help, and all but saved flows have a page: pflow-run(1) is that of pflow run.

Steps with :: between them, or one argument with => between its steps, are a flow, which is run as pflow run would:
checked before anything runs, in one process, with a log. pflow nodes lists the nodes.

Else one argument with white space in it is a sentence. A model plans a flow from it, which is shown, and run, edited
or saved as you say; pflow 'SENTENCE' --help lists the flags. Without a terminal it runs with --yes alone, which allows
the network, and files below this directory: --allow=commands, --allow=paths (any), --allow=DIRECTORY and
--allow=anything allow more. pflow-plan(1) prints the flow and runs nothing.

Templates such as $name are pflow's: single quotes keep the shell from eating them."""
USAGE.flags = [Flag(("-h", "--help"), "print this help"), Flag(("--version",), "print the version")]
USAGE.arguments = [Argument("WORD", kinds.WORD)]
USAGE.examples = (
    "cat examples/notes.txt | pflow llm --prompt='Summarize'",
    "pflow 'read-file --path=examples/notes.txt => llm --prompt=Summarize' -r",
    "pflow read-file --path=examples/notes.txt :: shell --command='wc -w'",
    "pflow llm --help",
)


def driver_help() -> str:
    """The help, with the words that there are; those of a user's own come from `pflow nodes`."""
    words = {"Commands": names_in("commands"), "Nodes": bundled_names(), "Tools": tool_names()}
    USAGE.notes = tuple(f"{title}:\n{_lines(names)}" for title, names in words.items())
    return help_text(USAGE)


def _lines(words: list[str]) -> str:
    import textwrap

    return textwrap.fill(" ".join(words), 96, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
