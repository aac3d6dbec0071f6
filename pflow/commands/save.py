"""pflow save: Save a flow under a name.

pflow NAME then runs the flow, and other flows can use it as flow:NAME.

FLOW is a file, a saved flow, pipe syntax, or - for stdin, which is also the default. Flows are kept as JSON in
$XDG_DATA_HOME/pflow/flows/ (~/.local/share/pflow/flows/); the path is printed. NAME has letters, digits, - and _, and
must not be a command, node or tool of pflow. Names that differ only in case, - and _ are the same. A path to a subflow
in FLOW becomes absolute.

Without --description you are asked for the purpose of the flow; without a terminal its steps describe it.

If another flow has the name, you are asked whether to replace it; without a terminal, only --force replaces it. The
last ten replaced or removed versions of each name are kept. pflow show --old NAME shows the last one, and the last
example below brings it back.

With --command, pflow-NAME is written to ~/.local/bin, or to ~/bin if only that is on PATH. It runs from any directory
and without PATH, as under cron; your own nodes must then be in ~/.local/share/pflow/nodes/. pflow remove removes it. A
file that pflow did not write is not touched (73).

--to=DIR writes DIR/flows/NAME.pflow.json instead, and so makes DIR a pack for pflow install. FLOW may use the nodes in
DIR/nodes. Paths to subflows become relative; save a subflow that is elsewhere into DIR first (65). Only --force
replaces the file of another flow (73), and no older version is kept.

The exit code is 0, even if the same flow was saved before; 1 if you answer no; 65 for a flow that breaks a rule or has
a secret, and for an invalid name; 73 if another flow or a file is in the way.

\b
pflow save summary 'read-file --path=examples/notes.txt => llm --prompt=Summarize' --description='Sum up the notes'
pflow summary -r
pflow save words examples/words.pflow.json --command
pflow save words --force 'shell --command="wc -w"'
pflow save words examples/words.pflow.json --to=my-pack
pflow show words --old --json | pflow save words --force -
"""

import os
from collections.abc import Sequence

from pflow.catalog.find import BUNDLED, STORE_COMMAND, find_node, forget_types
from pflow.commands._command import Command
from pflow.errors import FAILED, USAGE, PflowError, result_of, shorten
from pflow.flow.flow import FlowSpec
from pflow.flow.subflow import load_named, wire_and_check
from pflow.flow.wired_flow import WiredFlow
from pflow.help.spec import FLOW
from pflow.interface.interface import PATH, TEXT, TEXTS, Flag, argument
from pflow.process.streams import write_pieces
from pflow.saved_flows.executables import check_executable, flow_script, make_executable, path_fault
from pflow.saved_flows.saved import (
    AlreadySaved,
    SaveResult,
    check_name,
    file_for,
    name_of,
    read_saved,
    save_flow,
    save_in_pack,
)
from pflow.terminal.ask import ask, confirm
from pflow.terminal.messages import say
from pflow.text.printable import clean
from pflow.values.secrets import hider
from pflow.values.templates import TEMPLATE

_LONGEST = 40
"""The most letters of a step's bare word in the description of its flow."""


@Command(
    __doc__,
    Flag("description", "describe the purpose of the flow", type=TEXT, metavar="TEXT"),
    Flag("command", "also make pflow-NAME, a program on PATH that runs it"),
    Flag("to", "write it to the pack in DIR, instead of your library", type=PATH, metavar="DIR", excludes=("command",)),
    Flag("force", "replace another flow of this name without asking"),
    argument("NAME", required=True),
    argument("[FLOW…]", FLOW, name="flow", type=TEXTS),
)
def command(name: str, flow: list[str], description: str | None, command: bool, to: str | None, force: bool) -> None:
    check_name(name)
    if to is not None:
        os.environ["PFLOW_NODES"] = os.pathsep.join([os.path.join(to, "nodes"), os.environ.get("PFLOW_NODES", "")])
        forget_types()
    if not flow and os.isatty(0):
        hint = f"pflow save {name} FILE, or pflow save {name} 'a => b'"
        raise PflowError(f"cannot save '{name}': the flow is missing", hint=hint, exit=USAGE)
    loaded = load_named(flow or ["-"])
    wired = wire_and_check(loaded, "save")
    if description is not None or not loaded.description:
        loaded.description = _described(_own_words(wired)) if description is None else description
    if to is not None:
        _report(name, save_in_pack(name, loaded, to, replace=force), _left_out(wired, to))
        return
    if command:
        check_executable(name_of(file_for(name)), flow_script(file_for(name)))
    saved = _save(name, loaded, force=force)
    _report(name, saved)
    if command:
        file = make_executable(saved.name, flow_script(saved.file))
        say("pflow save", f"the command is {file}")
        if fault := path_fault(os.path.dirname(file)):
            say("pflow save", f"warning: {fault}")


def _left_out(wired: WiredFlow, pack: str) -> list[str]:
    """Return a warning for each of the user's nodes and flows that is not in the pack."""
    node_types = [step.node_type for step in wired.all_steps() if step.node_type is not None and step.inline is None]
    own = {
        node_type.file
        for node_type in node_types
        if node_type.origin not in (BUNDLED, STORE_COMMAND) and node_type.pack is None
    }
    inside = os.path.join(os.path.realpath(pack), "")
    outside = sorted(file for file in own if not os.path.realpath(file).startswith(inside))
    return [f"warning: '{file}' is not in '{pack}': whoever installs it will lack it" for file in outside]


def _own_words(wired: WiredFlow) -> str:
    """Describe a flow by its steps: the type of each, and its first bare word."""
    words = []
    for step in wired.steps.values():
        key = next((key for key, field in step.interface.reads.items() if "word" in field.marks), "")
        said = step.step.inputs.get(key) or step.step.input_mappings.get(key)
        is_said = isinstance(said, str) and (key in step.step.inputs or said.startswith(TEMPLATE))
        about = hider()(" ".join(str(said).removeprefix(TEMPLATE).split())) if is_said else ""
        words.append(f"{step.step.type} '{shorten(about, _LONGEST)}'" if about else step.step.type)
    return shorten(", ".join(words), 5 * _LONGEST)


def _described(proposal: str) -> str:
    """Ask a person for the flow's purpose; without an answer, return the proposal."""
    answer = ask(f"What is it for? [{clean(proposal)}] ") if os.isatty(1) else None
    if answer is None:
        say("pflow save", f"described as: {proposal}; --description=TEXT sets your own")
    return answer or proposal


def _save(name: str, flow: FlowSpec, *, force: bool) -> SaveResult:
    """Save a flow, asking if another one has the name. Raises PflowError: 73 without a terminal, 1 for a no."""
    try:
        return save_flow(name, flow, replace=force)
    except AlreadySaved:
        about = f" ({shorten(clean(read_saved(name).description), 60)})".replace(" ()", "")
        answer = confirm(f"Another flow is saved as {name}{about}. Replace it, and keep it as an older one?")
        if answer is None:
            raise
        if not answer:
            raise PflowError(f"'{name}' is left as it was", exit=FAILED) from None
    return save_flow(name, flow, replace=True)


def _report(name: str, saved: SaveResult, more: Sequence[str] = ()) -> None:
    lines = list(saved.notes)
    if not saved.is_changed:
        lines.append(f"'{saved.name}' is the same flow already")
    elif saved.name != name:
        lines.append(f"saved as '{saved.name}', which is the same name")
    if saved.old is not None:
        lines.append(f"the version of '{saved.name}' before is {saved.old}")
    # The lock file of packs may be damaged; do not fail for that, since the flow is saved already.
    if found := result_of(find_node, saved.name, of=PflowError, otherwise=None):
        lines.append(f"warning: pflow {saved.name} is the node '{found.file}'; the flow is flow:{saved.name}")
    for line in [*lines, *more]:
        say("pflow save", line)
    write_pieces(1, [os.fsencode(saved.file) + b"\n"])
