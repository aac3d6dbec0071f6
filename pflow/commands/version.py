"""pflow version: Print the version of pflow.

pflow -V and pflow --version print it too.

\b
pflow version
"""

from pflow import __version__
from pflow.help.usage import HELP, usage_of_command
from pflow.process.streams import write_pieces
from pflow.stage.words import take_words

USAGE = usage_of_command("pflow version", __doc__, "pflow version")
USAGE.flags = [HELP]


def main(words: list[str]) -> int:
    take_words(words, USAGE.items)
    write_pieces(1, [f"pflow (pflow-shell {__version__})\n".encode()])
    return 0
