"""pflow version: Print the version of pflow.

pflow -V and pflow --version print it too.

\b
pflow version
"""

from pflow import __version__
from pflow.commands._command import Command
from pflow.process.streams import write_pieces


@Command(__doc__)
def command() -> None:
    write_pieces(1, [f"pflow (pflow-shell {__version__})\n".encode()])
