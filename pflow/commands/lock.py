"""pflow lock: write down what a flow's steps are now."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from pflow.cache.code import code_of
from pflow.commands._click import FlowCommand, cannot_write, checked
from pflow.files.atomic import replace
from pflow.flow.lock import lock_file, lock_text
from pflow.flow.subflow import load_named
from pflow.flow.wired import WiredFlow
from pflow.process.streams import write_pieces
from pflow.terminal.messages import say


@click.command(cls=FlowCommand)
@click.argument("flow", nargs=-1, type=click.UNPROCESSED, required=True, metavar="FLOW")
def command(flow: Sequence[str]) -> int:
    """Write FLOW.lock.json beside a flow: what its steps are now, for --locked.

    FLOW is a file or a saved flow. The lock file has the versions, the code and the interfaces of the nodes, the
    mappings, the params that the flow gives, and the flow hash, those of the flows in it too, a fact a line. Its path
    is printed.

    pflow run --locked and pflow check --locked refuse a flow that differs in one of these (PF17), and name each. A
    comment in a node's code is no difference, and neither is the layout of any JSON.

    \b
    cp examples/words.pflow.json .
    pflow lock words.pflow.json
    pflow check --locked words.pflow.json
    """
    loaded = load_named(flow)
    file = lock_file(loaded.flow)
    wired = checked(loaded, "lock")
    _write(file, lock_text(wired), mode=os.stat(wired.flow.file).st_mode & 0o666)
    for name, fault in _unknown(wired).items():
        say("pflow lock", f"warning: the code of {name} is not known: {fault}")
    write_pieces(1, [os.fsencode(file) + b"\n"])
    return 0


def _write(file: str, text: str, mode: int) -> None:
    """Raises PflowError (73, 77)."""
    try:
        replace(file, text, mode=mode)
    except OSError as error:
        raise cannot_write(file, error) from None


def _unknown(wired: WiredFlow) -> dict[str, str]:
    """The nodes of which nobody can tell what code they run, and why."""
    found: dict[str, str] = {}
    for step in wired.steps.values():
        if step.subflow is not None:
            found |= _unknown(step.subflow)
        elif step.kind is not None and (fault := code_of(step.kind).fault):
            found[step.kind.name] = fault
    return found
