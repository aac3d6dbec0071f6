"""Where `pflow` begins: what has to be quick is answered before anything else is imported."""

from __future__ import annotations

import sys

from pflow import TYPE_CHECKING
from pflow.stage.main import collect_rarely, leave, print_line

if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    collect_rarely()
    words = sys.argv[1:]
    if words[:1] in (["--version"], ["-V"]):
        from pflow import __version__

        leave(print_line("pflow", f"pflow (pflow-shell {__version__})"))
    from pflow.process.signals import die_quietly_of_interrupt

    die_quietly_of_interrupt()
    if words[:1] == ["__complete"]:
        from pflow.completion.shells import main as complete

        leave(complete(words[1:]))
    from pflow.commands._dispatch import run

    leave(run(words))
