"""A child of `pflow mcp serve`: pflow with the words of a call; it ends with the server, however that ends."""

from __future__ import annotations

import sys

from pflow.process.children import end_with_parent


def main() -> None:
    """Do what pflow does with `PARENT WORD…`. Only what that needs is imported: a call waits for it."""
    parent, *words = sys.argv[1:]
    end_with_parent(int(parent))
    if words[0] in ("check", "plan"):  # a stranger's text: no file that it names is opened
        from pflow.flow.subflow import FlowCatalog

        FlowCatalog.opens_files = False
    from pflow.commands.main import main as pflow

    sys.argv = ["pflow", *words]
    pflow()


if __name__ == "__main__":
    main()
