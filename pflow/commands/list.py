"""pflow list: List the saved flows and this directory's, with their inputs.

A line has the name of a flow, its inputs as flags of pflow NAME, and its description. Then come the project's own
flows: the .pflow.json files of this directory and of flows/ below it. Their lines begin with the command that runs
them, pflow run FILE. On a terminal the lines are fitted to its width; elsewhere each flow has one line. An input in
brackets is optional, or comes through the pipe; its default follows the =. pflow show NAME shows more about a saved
flow.

Flows of installed packs follow your own, with the name of their pack. --packs lists the packs instead, each with its
version, address, nodes and flows; "(changed)" means that a file is not as it was installed.

Nothing is checked or run. stderr names each file that does not hold a flow, with the reason; in JSON it has a fault.
The exit code is 0, even if there are such files, or no saved flows.

\b
pflow save summary 'read-file --path=examples/notes.txt => llm --prompt=Summarize' --description='Sum up the notes'
pflow list
pflow list --json
"""

from typing import Any

from pflow.catalog.find import nodes_of
from pflow.catalog.packs import faults_of, installed_sources, pack_of, packs_directory
from pflow.catalog.registry import flows_of
from pflow.commands._command import COLOR, Command
from pflow.commands._output import print_json, print_table, report_damaged_packs
from pflow.errors import PflowError, shorten
from pflow.explain.account import Account, needs
from pflow.flow.subflow import FlowCatalog, FlowType
from pflow.interface.interface import Flag
from pflow.saved_flows.saved import SavedFlow, list_project, list_saved, readable
from pflow.terminal.messages import say
from pflow.text.printable import clean
from pflow.values.jsontext import text_of

_LONGEST = 24
"""The most columns of an input's default."""


@Command(
    __doc__,
    Flag("json", "print one JSON list: name, file, run, description, inputs, outputs, types, needs, pack"),
    Flag("packs", "list the installed packs, and Python distributions with nodes or flows, instead"),
    COLOR,
)
def command(json: bool, packs: bool, color: str) -> None:
    if packs:
        _list_packs(color, in_json=json)
        return
    report_damaged_packs("pflow list")
    saved = list_saved()
    found = saved + list_project(saved)
    if json:
        print_json([_flow_in_json(each) for each in found])
        return
    rows = [_row(each) for each in readable(found, "pflow list")]
    if not found:
        say("pflow list", "no flow is saved yet; pflow save NAME FLOW saves one")
    print_table(rows, color)


def _list_packs(color: str, *, in_json: bool) -> None:
    """Print the packs, then the distributions. Raises PflowError (78) if they cannot be read."""
    packs: list[dict[str, Any]] = [
        {
            **pack.about,
            "tree": pack.tree,
            "changed": [*faults_of(pack)],
            "nodes": [node_type.name for node_type in nodes_of(pack)],
            "flows": [*flows_of(pack)],
        }
        for pack in installed_sources()
    ]
    if in_json:
        print_json(packs)
        return
    if not packs:
        none = "no pack is installed yet; pflow install ADDRESS installs one"
        say("pflow list", none if packs_directory() else "the directory of packs is unknown; set HOME or XDG_DATA_HOME")
    for each in packs:
        each["version"] += " (changed)" * bool(each["changed"])
        each["inside"] = ", ".join([*each["nodes"], *(f"flow:{name}" for name in each["flows"])])
    print_table([[clean(each[it]) for it in ("name", "version", "address", "inside")] for each in packs], color)


def _row(saved: SavedFlow) -> tuple[str, str, str]:
    name = saved.command if saved.is_of_project else saved.name
    pack = pack_of(saved.file)
    about = f"{saved.description} (from {pack.label})".strip() if pack else saved.description
    return clean(name), clean(" ".join(map(_input, _needs(saved)))), clean(about)


def _needs(saved: SavedFlow) -> list[Account]:
    """Return the inputs of a flow as in `pflow check --json`; empty if it cannot be wired."""
    try:
        node_type = FlowCatalog().find(saved.file)
        return needs(node_type.flow) if isinstance(node_type, FlowType) else []
    except (PflowError, ValueError, RecursionError):  # a malformed flow is listed too, with its fault
        return []


def _input(need: Account) -> str:
    """Return an input as a flag: `--path`, `[--tone=dry]`, `[--note]`."""
    default = need.get("default")
    flag = need["flag"] + ("" if default in (None, "", [], {}) else f"={shorten(text_of(default), _LONGEST)}")
    return flag if need["required"] and not need["pipe"] else f"[{flag}]"


def _flow_in_json(saved: SavedFlow) -> dict[str, Any]:
    pack = pack_of(saved.file)
    where: dict[str, Any] = {"name": saved.name, "file": saved.file} | ({"pack": pack.about} if pack else {})
    if saved.fault:
        return {**where, "fault": saved.fault}
    about = {"description": saved.description, "inputs": saved.inputs, "outputs": saved.outputs, "types": saved.types}
    return {**where, "run": saved.command, **about, "needs": _needs(saved)}
