"""Find node types by name, without opening or running a file.

The first match wins: pflow's nodes and store commands, then a user's own directories, then packs, then PATH. Names that
differ only in case, `-` and `_` are one name.
"""

from __future__ import annotations

import os
import stat
import sys

from pflow import Any, Iterator
from pflow.catalog.node_type import BUNDLED, FLOW, PROGRAM, PYTHON, STORE_COMMAND, NodeType
from pflow.catalog.registry import BESIDE, PACKAGE, is_flow_type, names_in, own_directories, own_flows, saved_flows
from pflow.errors import BAD_DATA, PflowError, reason_of, result_of
from pflow.interface.interface import Interface
from pflow.interface.source import plain
from pflow.text.naming import did_you_mean, listed, meant

__all__ = ["BUNDLED", "FLOW", "PROGRAM", "PYTHON", "STORE_COMMAND", "Catalog", "NodeType", "find_type", "list_types"]

RUNS_FLOW = b"#!/bin/sh\n# Runs a saved flow: pflow save --command made this, "
"""The first bytes of a saved flow's executable, which is not listed as a node, since flow:NAME is listed."""

RUNS_TOOL = b"# Runs a tool of an MCP server: pflow mcp add made this, "
"""The second line of a tool's executable, which is not listed as a node, since the tool's class is."""


RUNS_NODE = b"# Runs a node of a pack: pflow install made this, "
"""The second line of the executable of a pack's node, which is not listed as a node, since the node's file is."""


class Catalog:
    """Finds the node type that a step's type names, but no flows; pflow.flow.subflow has one that finds flows too.

    Relative paths of files begin at `directory`.
    """

    opens_files = True
    """True if a flow's text may name files to read, as flows or as values of flags. A stranger's text must not."""

    @classmethod
    def open_no_files(cls) -> None:
        """Treat every text as a stranger's from now on."""
        cls.opens_files = False

    def __init__(self, directory: str = ".") -> None:
        self.directory = directory

    def at(self, directory: str) -> Catalog:
        """Return the catalog for a flow in another directory."""
        return Catalog(directory)

    def find(self, type: str) -> NodeType | None:
        """Return the node type of this name, or None."""
        return find_type(type)

    def inline(self, flow: Any, items: tuple[str, ...]) -> NodeType | None:
        """Return the type of a step with a flow inside, in batches of `items`; None if the catalog finds no flows."""
        return None


_found: dict[str, NodeType | None] = {}
only_in: dict[str, tuple[str, str]] = {}
"""For names that only a class in a Python flow has: the file of the class, and the file of the flow."""


def find_type(type: str) -> NodeType | None:
    """Find the node of this name or class name, and remember it; None if there is none."""
    if type not in _found:
        found = find_node(type)
        _found[type] = found if found is not None and found.origin != STORE_COMMAND else None
    return _found[type]


def forget_types() -> None:
    """Forget all found nodes, because the environment or a file has changed."""
    from pflow.catalog.packs import forget_packs

    forget_packs()
    _found.clear()
    for name in [each for each in sys.modules if each.startswith(BESIDE)]:
        del sys.modules[name]


def add_class(name: str, node: Any) -> None:
    """Make a name mean a class of this process, even if something else has that name."""
    from pflow.node import interface_of, version_of

    node_type = NodeType(name, PYTHON, getattr(sys.modules.get(node.__module__), "__file__", None) or "")
    node_type._class, node_type._interface, node_type._version = node, interface_of(node), version_of(node)
    _found[name] = node_type


def is_node_name(name: str) -> bool:
    """Return True for a valid node name: ASCII letters and digits, with - and _ after the first."""
    return name.isascii() and name[:1].isalnum() and name.replace("-", "").replace("_", "").isalnum()


def find_node(name: str) -> NodeType | None:
    """Find the node or store command of this name or class name; None if there is none."""
    wanted = plain(name)
    if not is_node_name(name):
        return None
    names = [wanted, wanted.removesuffix("node")] if wanted.endswith("node") else [wanted]
    firsts = [next((found for found in _candidates(each) if not found.fault), None) for each in names if each]
    found = [each for each in firsts if each]
    # "WordsNode" may name the node `words` by its class. A pack's node `words-node` must not take its place.
    return found[-1] if len(found) > 1 and found[0].pack and not found[1].pack else next(iter(found), None)


def list_nodes() -> Iterator[NodeType]:
    """Yield all nodes, including shadowed and broken ones."""
    first: dict[str, NodeType] = {}
    own = set(map(os.path.realpath, _own_bin()))
    for found in _candidates():
        before = found if found.fault else first.setdefault(plain(found.name), found)
        if before is not found:
            found.behind = before.file
            file = os.path.realpath(found.file)
            is_launcher = before.origin in (BUNDLED, STORE_COMMAND) and os.path.dirname(file) in own
            if is_launcher or file == os.path.realpath(before.file):
                continue
        if found.origin != STORE_COMMAND:
            yield found


def list_types() -> list[NodeType]:
    """Return all nodes that can be found by name."""
    return [found for found in list_nodes() if not found.fault and not found.behind]


def node_at(file: str) -> NodeType | None:
    """Return the node in a file in any directory, even if it is shadowed or broken; None for any other file."""
    return next((found for found in list_nodes() if found.file == file), None) or node_called(file)


def node_called(file: str) -> NodeType | None:
    """Return the node in a file, judging by the file's name only, even if it is broken; None for any other file."""
    found = _named(*os.path.split(file))
    return found if found and _looks_like_node(found) else None


def fault_of(name: str) -> str:
    """Say why a file that looks like this node cannot be used; empty if no file does."""
    faulty = (found for found in _candidates(plain(name)) if found.fault and plain(name))
    return next((f"'{found.file}': {found.fault}" for found in faulty), "")


def shadowed_by(node_type: NodeType) -> str:
    """Return the file in a user's own directory that has the name of one of pflow's nodes; "" if there is none."""
    places = own_places() if node_type.origin == BUNDLED else []
    return next((found.file for place in places for found in _in_own(place, plain(node_type.name))), "")


def launcher(program: str) -> str | None:
    """Find an executable that comes with pflow, `pflow-llm`, beside this program or its Python."""
    for directory in _own_bin():
        file = os.path.join(directory, program)
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return None


def _own_bin() -> list[str]:
    program = os.path.abspath(sys.argv[0])
    places = [os.path.dirname(place) for place in (program, os.path.realpath(program), sys.executable) if place]
    # Executables that pip --target and a zipapp put there do not find pflow.
    unusable = os.path.join(os.path.dirname(PACKAGE), "bin")
    return [place for place in dict.fromkeys(places) if place != unusable]


def _candidates(wanted: str | None = None) -> Iterator[NodeType]:
    """Yield the files of one plain name, or of all, in order of preference."""
    for folder, origin in (("nodes", BUNDLED), ("store_commands", STORE_COMMAND)):
        for name in names_in(folder):
            if wanted is None or plain(name) == wanted:
                file = os.path.join(PACKAGE, folder, name.replace("-", "_") + ".py")
                yield NodeType(name, origin, file)
    for directory in own_places():
        yield from _in_own(directory, wanted)
    caught = PflowError if wanted is None else ()  # a list shows the other nodes, and says what is damaged
    in_packs: list[NodeType] = result_of(_in_packs, of=caught, otherwise=[])
    yield from [found for found in in_packs if wanted in (None, plain(found.name))]
    made = {*own_flows(), *(found.name for found in in_packs)}
    for directory in _there(os.environ.get("PATH", "").split(os.pathsep)):
        yield from _on_path(directory, wanted, made)


def own_places() -> list[str]:
    """Return a user's own directories that exist, as absolute paths."""
    return list(_there(own_directories()))


def _there(directories: list[str]) -> Iterator[str]:
    """Yield the directories that exist, each once, even if /bin is a link to /usr/bin."""
    seen = set()
    for directory in directories:
        try:
            status, absolute = os.stat(directory), os.path.abspath(directory)
        except (OSError, ValueError):  # it is missing, or relative to a working directory that is missing
            continue
        if (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            yield absolute


def _in_own(directory: str, wanted: str | None) -> Iterator[NodeType]:
    """Yield the nodes of a user's own directory: classes in Python, then programs."""
    for file in sorted(_listed(directory), key=lambda file: (not file.endswith(".py"), file)):
        found = _named(directory, file)
        if found is not None and wanted in (None, plain(found.name)) and _looks_like_node(found):
            yield found


def _in_packs() -> list[NodeType]:
    """Return the nodes of packs. Those whose file has changed or is missing are included, and fail when used."""
    from pflow.catalog.packs import installed_sources

    return [found for pack in installed_sources() for found in nodes_of(pack)]


def nodes_of(pack: Any) -> Iterator[NodeType]:
    """Yield the nodes of a pack, judging by file names only: Python classes, then programs."""
    for name, file in sorted(pack.paths("nodes"), key=lambda each: not each[1].endswith(".py")):
        found = NodeType(name, PYTHON, file) if name else _named(*os.path.split(file))
        if found is not None and is_node_name(found.name):
            found._pack = pack
            yield found


def _named(directory: str, file: str) -> NodeType | None:
    """Return the node type of a file, judging by its name, or None."""
    if file.endswith(".py") and not file.startswith(("_", ".", "pflow-")):
        return NodeType(file[:-3].replace("_", "-"), PYTHON, f"{directory}/{file}")
    if file.startswith("pflow-") and not file.endswith(".interface"):
        return NodeType(file[6:], PROGRAM, f"{directory}/{file}")
    return None


def _looks_like_node(found: NodeType) -> bool:
    """Return True if a file in a user's own directory looks like a node, and set its `fault` if it cannot be used."""
    if not _is_file(found):
        return False
    may_run = bool(found.fault) or found.origin == PYTHON or os.access(found.file, os.X_OK)
    if not is_node_name(found.name):
        found.fault = "a node's name has letters, digits, - and _ only"
        return may_run  # a file that may not run can be pflow-x.c, the source of pflow-x
    if not may_run:
        found.fault = "it is not executable (chmod +x)"
    return True


def _on_path(directory: str, wanted: str | None, made: set[str]) -> Iterator[NodeType]:
    """Yield the nodes of a directory on PATH: those that a shell would find, and broken links.

    `made` holds the names for which pflow may have made an executable.
    """
    for file in sorted(file for file in _listed(directory) if file.startswith("pflow-")):
        if is_node_name(file[6:]) and (wanted is None or plain(file[6:]) == wanted):
            found = NodeType(file[6:], PROGRAM, f"{directory}/{file}")
            is_node = _is_file(found) and (found.fault or os.access(found.file, os.X_OK))
            if is_node and not _is_made(found, made):
                yield found


def _is_made(found: NodeType, made: set[str]) -> bool:
    """Return True for an executable that pflow made for a saved flow, a tool, or a pack's node."""
    if found.name not in made and not found.name.startswith("mcp-"):
        return False
    from pflow.process.start import first_bytes

    begin = first_bytes(found.file, 1024)
    return begin.startswith(RUNS_FLOW) or begin.partition(b"\n")[2].startswith((RUNS_TOOL, RUNS_NODE))


def _listed(directory: str) -> list[str]:
    return result_of(os.listdir, directory, otherwise=[])


def _is_file(found: NodeType) -> bool:
    """Return True for a regular file, and for a broken link or unreadable file, of which it sets the `fault`."""
    try:
        found.status = os.stat(found.file)
        return stat.S_ISREG(found.status.st_mode)
    except FileNotFoundError:
        found.fault = "it is a link to nowhere"
        return os.path.islink(found.file)  # any other file was removed after the directory was listed
    except OSError as error:
        found.fault = f"it cannot be looked at: {reason_of(error)}"
        return True


def no_such_type(type: str) -> PflowError:
    """Return the error (65) for an unknown type, with the nearest names, or all."""
    if is_flow_type(type) and not type.startswith("flow:"):
        hint = "paths begin at this file's directory"
        return PflowError(f"cannot find the flow '{type}'", hint=hint, exit=BAD_DATA)
    if fault := fault_of(type):
        return PflowError(f"cannot use the node '{type}': {fault}", hint="pflow nodes lists them", exit=BAD_DATA)
    nodes, flows = {each.name: each.name for each in list_types()}, {each: f"flow:{each}" for each in saved_flows()}
    first, other = (flows, nodes) if type.startswith("flow:") else (nodes, flows)
    types = first | other | first
    name = type.removeprefix("flow:")
    near = name if name in types else meant(name, types)
    hint = version_hint(type) or (did_you_mean(types[near]) if near else f"known: {listed(types.values())}")
    if files := only_in.get(type):
        own = f"{type.replace('-', '_')}.py in a directory on PFLOW_NODES"
        hint = f"its class is in {files[0]} alone: pflow run {files[1]} runs it; in {own} it is a node"
    return PflowError(f"cannot find the node '{type}'", hint=hint, exit=BAD_DATA)


def version_hint(type: str) -> str:
    """For the name of a node or saved flow with `@VERSION`, say which version it has; "" for any other name."""
    name, at, asked = type.removeprefix("flow:").rpartition("@")
    node_type = find_type(name) if at else None
    if node_type is None and not (at and name in saved_flows()):
        return ""
    unreadable = (OSError, PflowError)
    there = result_of(lambda: node_type.version if node_type else "1.0.0", otherwise="unknown", of=unreadable)
    return f"there is no version {asked} of {name}; it is {there}" if asked not in ("", there) else did_you_mean(name)


def interface_of_type(type: str, catalog: Catalog, flow: Any = None) -> tuple[Interface, bool]:
    """Return the interface of a type, or of a step's flow, and if it is known; an unknown one is open."""
    try:
        node_type = catalog.find(type) if flow is None else catalog.inline(flow, ())
        return (node_type.interface, True) if node_type else (Interface(), False)
    except PflowError:  # the rules report it as a finding
        return Interface(), False
