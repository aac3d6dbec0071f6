"""pflow version: Print the version of pflow.

pflow -V and pflow --version print it too.

\b
pflow version
"""

from pflow import __version__
from pflow.errors import USAGE as WRONG_FLAGS
from pflow.errors import PflowError
from pflow.help.usage import HELP, split_flags, usage_of_command
from pflow.process.streams import write_pieces

USAGE = usage_of_command("pflow version", __doc__, "pflow version")
USAGE.flags = [HELP]


def main(words: list[str]) -> int:
    _, others = split_flags(words, USAGE.flags)
    if others:
        raise PflowError(f"cannot take '{others[0]}': pflow version takes no words", exit=WRONG_FLAGS)
    write_pieces(1, [f"pflow (pflow-shell {__version__})\n".encode()])
    return 0
