"""The tools of the server, listed again whenever a node or a saved flow was added, removed or changed."""

import os
from collections.abc import Callable, Sequence

from pflow.catalog.kinds import Kind, forget_kinds, list_kinds, own_places
from pflow.catalog.lines import find
from pflow.catalog.packs import lock_file
from pflow.catalog.registry import data_directory, saved_flows
from pflow.errors import NOT_FOUND, PflowError
from pflow.files.reading import file_state
from pflow.flow.subflow import FlowCatalog
from pflow.interface.source import in_words
from pflow.mcp.server.offered import Offered
from pflow.text.naming import guess

State = dict[str, tuple[int, ...] | None]
"""Files and directories with what changes with them."""


class Catalogue:
    """The list of tools. `only` are the names to offer; without any, it is the saved flows and what only reads.

    `is_all` offers what changes things too, `read_only` leaves it out everywhere. `say` gets each kind that cannot be
    offered, and why. `reserved` are names that nodes and flows do not get.
    """

    def __init__(
        self,
        only: Sequence[str],
        *,
        is_all: bool,
        read_only: bool,
        reserved: Sequence[str],
        say: Callable[[str], None],
    ) -> None:
        """Raises PflowError (127) for an unknown name."""
        self.only = {_label(name) for name in only if name not in reserved} if only else None
        self.is_all = is_all
        self.read_only = read_only
        self.reserved = reserved
        self.say = say
        self._tools: dict[str, Offered] = {}
        self._listed: State = {}
        self._said: set[str] = set()

    def tools(self) -> dict[str, Offered]:
        """Return every offered tool by its name."""
        if (state := state_of_files()) != self._listed:
            forget_kinds()
            self._tools = {}
            catalog = FlowCatalog()
            flows = filter(None, [catalog.find(f"flow:{name}") for name in saved_flows()])
            for kind in [*list_kinds(), *flows]:
                if self.only is None or kind.name in self.only:
                    self._offer(kind)
            self._listed = state
        return self._tools

    def _offer(self, kind: Kind) -> None:
        try:
            offered = Offered(kind, {*self.reserved, *self._tools})
        except (PflowError, OSError, ValueError, RecursionError, MemoryError) as error:
            why = error.message if isinstance(error, PflowError) else in_words(error)
            line = f"'{kind.name}' is not offered: {why}"
            if line not in self._said:
                self._said.add(line)
                self.say(line)
            return
        is_chosen = self.is_all or self.only is not None or offered.flow is not None
        if offered.is_read_only or (is_chosen and not self.read_only):
            self._tools[offered.tool.name] = offered

    def find(self, name: str) -> Offered:
        """Find the tool of this name, its own or pflow's. Raises PflowError (127) with the nearest."""
        tools = {each.label.removeprefix("flow:"): each for each in self.tools().values()}
        tools |= {each.label: each for each in self.tools().values()} | self.tools()
        if name in tools:
            return tools[name]
        hint = guess(name, tools, "pflow_list lists all of them", 2)
        raise PflowError(f"cannot find '{name}': no such node or saved flow here", hint=hint, exit=NOT_FOUND)


def _label(name: str) -> str:
    """Return pflow's name of the node or saved flow that a person names. Raises PflowError (127) for an unknown one."""
    if "/" in name:
        hint = "--only takes the names of nodes and saved flows"
        raise PflowError(f"cannot offer '{name}': it is a path", hint=hint, exit=NOT_FOUND)
    return find(name, FlowCatalog()).name


def state_of_files() -> State:
    """Return the state of all that the list of tools depends on: own nodes, saved flows, packs, PATH."""
    folders = [*own_places(), data_directory("flows") or "."]
    listable = [folder for folder in folders if os.access(folder, os.R_OK) and os.path.isdir(folder)]
    paths = [os.path.join(folder, name) for folder in listable for name in os.listdir(folder)]
    places = [lock_file() or ".", *os.environ.get("PATH", "").split(os.pathsep)]
    return {path: file_state(path) for path in [*paths, *places]}
