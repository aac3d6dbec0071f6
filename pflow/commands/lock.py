"""pflow lock: Record the versions and code of a flow's steps.

FLOW is a file or a saved flow. FLOW.lock.json is written beside it, and its path is printed. It has the versions, code
and interfaces of the nodes, the mappings, the flow's params, digests of the steps' inputs, and the flow hash, for the
flows inside it too, one fact a line.

pflow run --locked and pflow check --locked refuse a flow that differs from its lock file, and name each difference
(PF17). Comments in a node's code and the layout of JSON do not count, nor do flags for the run.

\b
cp examples/words.pflow.json .
pflow lock words.pflow.json
pflow check --locked words.pflow.json
"""

import os

from pflow.cache.code import code_of
from pflow.commands._command import Command
from pflow.commands._output import write_output
from pflow.flow.lock import lock_command, lock_file, lock_text
from pflow.flow.subflow import load_named, wire_and_check
from pflow.help.spec import FLOW
from pflow.interface.interface import TEXTS, argument
from pflow.process.streams import write_pieces
from pflow.saved_flows.saved import check_is_own
from pflow.terminal.messages import say


@Command(__doc__, argument("FLOW", FLOW, type=TEXTS, required=True))
def command(flow: list[str]) -> None:
    loaded = load_named(flow)
    file = lock_file(loaded)
    check_is_own(loaded.file, f"cannot lock '{loaded.file}'", lock_command(loaded.file))
    wired = wire_and_check(loaded, "lock")
    write_output(file, lock_text(wired).encode(), mode=os.stat(wired.flow.file).st_mode & 0o666)
    node_types = {
        step.node_type.name: step.node_type
        for step in wired.all_steps()
        if step.node_type is not None and step.subflow is None
    }
    for name, node_type in node_types.items():
        if fault := code_of(node_type).fault:
            say("pflow lock", f"warning: the code of {name} is not known: {fault}")
    write_pieces(1, [os.fsencode(file) + b"\n"])
