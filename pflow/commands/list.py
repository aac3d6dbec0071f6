"""pflow list: the saved flows, a line each."""

from __future__ import annotations

from typing import Any

import click

from pflow.commands._click import color_option, print_json, print_table
from pflow.jsontext import text_of
from pflow.library.saved import Saved, list_saved, readable
from pflow.printable import clean
from pflow.terminal.columns import shorten
from pflow.terminal.messages import say

_LONGEST = 24
"""Columns that the default of an input takes at most."""


@click.command
@click.option("--json", "as_json", is_flag=True, help="Print one JSON list: name, description, inputs, outputs, types.")
@color_option
def command(as_json: bool, when: str) -> int:
    """List the saved flows: the name of each, the inputs that it declares, what it is for.

    On a terminal the lines are fitted to it; elsewhere each flow has one line. An input in brackets is optional; its
    default follows the =. pflow show NAME shows more of one.

    A flow is read from its file alone: nothing is checked or run. A file that holds no flow is named on stderr, with
    the reason; in JSON it has a fault. The exit code is 0 then too, and where nothing is saved.

    \b
    pflow save summary 'read-file --path=examples/notes.txt => llm --prompt=Summarize' --description='Sum up the notes'
    pflow list
    pflow list --json
    """
    saved = list_saved()
    if as_json:
        print_json([_entry(each) for each in saved])
        return 0
    rows = [_row(each) for each in readable(saved, "pflow list")]
    if not saved:
        say("pflow list", "no flow is saved yet; pflow save NAME FLOW saves one")
    print_table(rows, when)
    return 0


def _row(saved: Saved) -> tuple[str, str, str]:
    inputs = " ".join(_input(name, declared) for name, declared in saved.inputs.items())
    return clean(saved.name), clean(inputs), clean(saved.description)


def _input(name: str, declared: dict[str, Any]) -> str:
    """An input in short: `path`, `[tone=dry]`, `[note]`."""
    if "default" not in declared:
        return name if declared.get("required", True) is not False else f"[{name}]"
    return f"[{name}={shorten(text_of(declared['default']), _LONGEST)}]"


def _entry(saved: Saved) -> dict[str, Any]:
    where = {"name": saved.name, "file": saved.file}
    if saved.fault:
        return {**where, "fault": saved.fault}
    about = {"description": saved.description, "inputs": saved.inputs, "outputs": saved.outputs, "types": saved.types}
    return {**where, **about}
