"""The start of `pflow`. The version and TAB are answered before the other modules are imported.

`python -m pflow.commands.main WORD…` is a child of `pflow mcp serve`.
"""

from __future__ import annotations

import sys

from pflow import NoReturn
from pflow.stage.main import leave, prepare_python, print_line


def main() -> NoReturn:
    prepare_python()
    words = sys.argv[1:]
    if words[:1] in (["--version"], ["-V"]) or words == ["version"]:
        from pflow import __version__

        leave(print_line("pflow", f"pflow (pflow-shell {__version__})"))
    from pflow.process.signals import die_quietly_of_interrupt

    die_quietly_of_interrupt()
    if words[:1] == ["__complete"]:
        from pflow.completion.shells import main as complete

        leave(complete(words[1:]))
    from pflow.commands._dispatch import run

    leave(run(words))


def run_child() -> NoReturn:
    """Run pflow for a call of the MCP server."""
    if sys.argv[1] in ("check", "plan"):  # the text is a client's, and must not open the files that it names
        from pflow.flow.subflow import FlowCatalog

        FlowCatalog.open_no_files()
    sys.argv[0] = "pflow"
    main()


if __name__ == "__main__":
    run_child()
