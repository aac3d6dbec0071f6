"""pflow uninstall: Remove installed packs with their nodes and flows.

The packs' files and the programs pflow-NODE of their nodes are removed. If one of the names is unknown, nothing is
removed, and the exit code is 127. A warning names each saved flow that uses a removed node or flow. Fetched commits are
kept in ~/.cache/pflow/packs, so that installing them again needs no network. The next pflow setup removes the man pages
that it wrote for the nodes.

\b
pflow install examples/pack --yes --allow=files,commands
pflow uninstall pack
"""

from pflow.catalog.find import nodes_of
from pflow.catalog.registry import flows_of
from pflow.commands._command import Command
from pflow.help import spec as kinds
from pflow.interface.interface import TEXTS, argument
from pflow.interface.source import plain
from pflow.packs.install import uninstall
from pflow.saved_flows.saved import list_saved
from pflow.terminal.messages import say
from pflow.text.printable import clean


@Command(__doc__, argument("NAME…", kinds.PACK, name="names", type=TEXTS, required=True))
def command(names: list[str]) -> None:
    gone = uninstall(names)
    for pack in gone.values():
        say("pflow uninstall", f"removed '{pack.name}', version {pack.version}")
    types = {plain(node_type.name) for pack in gone.values() for node_type in nodes_of(pack)}
    types |= {plain(f"flow:{name}") for pack in gone.values() for name in flows_of(pack)}
    for flow in list_saved():
        for type in flow.types:
            if plain(type) in types:
                say("pflow uninstall", f"warning: the saved flow '{flow.name}' uses {clean(type)}")
