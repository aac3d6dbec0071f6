"""pflow version: Print the version of pflow."""

from __future__ import annotations

from pflow import __version__
from pflow.errors import USAGE as WRONG_FLAGS
from pflow.errors import PflowError
from pflow.help.text import help_text
from pflow.help.usage import HELP, CommandUsage, split_flags
from pflow.process.streams import write_pieces

_SUMMARY = "Print the version of pflow, as pflow -V and pflow --version do."
USAGE = CommandUsage("pflow version", _SUMMARY, ("pflow version",))
USAGE.flags = [HELP]
USAGE.examples = ("pflow version",)


def main(words: list[str]) -> int:
    """Print the version or the help. Raises PflowError (2) for other words."""
    flags, others = split_flags(words, USAGE.flags)
    if others:
        raise PflowError(f"cannot take '{others[0]}': pflow version takes no words", exit=WRONG_FLAGS)
    write_pieces(1, [(help_text(USAGE) if flags else f"pflow (pflow-shell {__version__})\n").encode()])
    return 0
