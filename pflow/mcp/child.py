"""A child of the server: a process that runs a node or a flow, or checks or plans a text, and ends with the server."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from pflow.process.children import end_with_parent

FLOW, BUNDLED, FILE, CHECK, PLAN = "flow", "bundled", "file", "check", "plan"
"""What a child does: run a flow, a node that comes with pflow or a user's own; check a flow's text, or plan."""


def main() -> None:
    """Do `PARENT PROGRAM KIND WORD…`: what KIND says, with the words, as if PROGRAM had been started with them.

    Only what KIND needs is imported: a call waits for it.
    """
    parent, program, kind, *words = sys.argv[1:]
    end_with_parent(int(parent))
    sys.argv = [program, *words]
    _KINDS[kind](words)


def _run_flow(words: list[str]) -> None:
    from pflow.run.driver import Driver
    from pflow.stage.main import leave

    leave(Driver().run(words))


def _run_bundled(words: list[str]) -> None:
    from pflow.stage.main import main

    sys.argv.pop(1)
    main(words[0])


def _run_file(words: list[str]) -> None:
    from pflow.stage.main import main_of_file

    main_of_file(words[0], words[1], words[2:])


def _check(words: list[str]) -> None:
    from pflow.mcp.texts import check

    _answer(check)


def _plan(words: list[str]) -> None:
    from pflow.mcp.texts import plan

    _answer(plan)


def _answer(work: Callable[[Any], dict[str, Any]]) -> None:
    """What a stranger's text comes to: JSON on stdin, an object on stdout; `error` has message, hint and exit."""
    import json

    from pflow.atomic import write_all
    from pflow.errors import PflowError, bug_error
    from pflow.flow.subflow import FlowCatalog
    from pflow.stage.main import leave

    FlowCatalog.opens_files = False
    try:
        about = work(json.loads(sys.stdin.buffer.read()))
    except Exception as raised:
        error = raised if isinstance(raised, PflowError) else bug_error(raised)
        about = {"error": {"message": error.message, "hint": error.hint, "exit": error.exit}}
    write_all(1, json.dumps(about).encode())
    leave(0)


_KINDS = {FLOW: _run_flow, BUNDLED: _run_bundled, FILE: _run_file, CHECK: _check, PLAN: _plan}

if __name__ == "__main__":
    main()
