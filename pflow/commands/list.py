"""pflow list: List the saved flows and this directory's, with their inputs.

A line has the name of a flow, its inputs as flags of pflow NAME, and its description. Then come the project's own
flows: those in .pflow.json files of this directory and of flows/ below it. Their lines begin with what runs them, pflow
run FILE. On a terminal the lines are fitted to its width; elsewhere each flow has one line. An input in brackets is
optional, or comes through the pipe; its default follows the =. pflow show NAME shows more about a saved flow.

Nothing is checked or run. stderr names each file that does not hold a flow, with the reason; in JSON it has a fault.
The exit code is 0, even if there are such files, or no saved flows.

\b
pflow save summary 'read-file --path=examples/notes.txt => llm --prompt=Summarize' --description='Sum up the notes'
pflow list
pflow list --json
"""

from typing import Any

from pflow.commands._command import COLOR, Command
from pflow.commands._output import print_json, print_table
from pflow.errors import PflowError, shorten
from pflow.explain.account import Account, needs
from pflow.flow.subflow import FlowCatalog, FlowKind
from pflow.interface.interface import Flag
from pflow.library.saved import Saved, list_project, list_saved, readable
from pflow.terminal.messages import say
from pflow.values.jsontext import text_of
from pflow.words.printable import clean

_LONGEST = 24
"""The most columns of an input's default."""


@Command(
    __doc__,
    Flag("json", "print one JSON list: name, file, run, description, inputs, outputs, types, needs"),
    COLOR,
)
def command(json: bool, color: str) -> None:
    saved = list_saved()
    found = saved + list_project(saved)
    if json:
        print_json([_entry(each) for each in found])
        return
    rows = [_row(each) for each in readable(found, "pflow list")]
    if not found:
        say("pflow list", "no flow is saved yet; pflow save NAME FLOW saves one")
    print_table(rows, color)


def _row(saved: Saved) -> tuple[str, str, str]:
    name = saved.command if saved.is_of_project else saved.name
    return clean(name), clean(" ".join(map(_input, _needs(saved)))), clean(saved.description)


def _needs(saved: Saved) -> list[Account]:
    """Return the inputs of a flow as in `pflow check --json`; empty if it cannot be wired."""
    try:
        kind = FlowCatalog().find(saved.file)
        return needs(kind.flow) if isinstance(kind, FlowKind) else []
    except (PflowError, ValueError, RecursionError):  # a malformed flow has its line too
        return []


def _input(need: Account) -> str:
    """Return an input in short: `--path`, `[--tone=dry]`, `[--note]`."""
    default = need.get("default")
    flag = need["flag"] + ("" if default in (None, "", [], {}) else f"={shorten(text_of(default), _LONGEST)}")
    return flag if need["required"] and not need["pipe"] else f"[{flag}]"


def _entry(saved: Saved) -> dict[str, Any]:
    where = {"name": saved.name, "file": saved.file}
    if saved.fault:
        return {**where, "fault": saved.fault}
    about = {"description": saved.description, "inputs": saved.inputs, "outputs": saved.outputs, "types": saved.types}
    return {**where, "run": saved.command, **about, "needs": _needs(saved)}
