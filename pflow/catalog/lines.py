"""List every node and saved flow with one line from its file, which is never run. The lines are cached.

The facts are kept in `$XDG_CACHE_HOME/pflow/nodes.json`, a JSON object with a file's stamp and facts in each member: a
file that has not changed is not read again. An unreadable member is ignored.
"""

from __future__ import annotations

import os
import time

from pflow import Any, __version__
from pflow.catalog.find import BUNDLED, FLOW, PYTHON, Catalog, NodeType, find_node, list_nodes, no_such_type, node_at
from pflow.catalog.node_type import interpreter_fault, read_header
from pflow.catalog.registry import saved_flows
from pflow.errors import NOT_FOUND, Ignoring, PflowError, reason_of, result_of
from pflow.files.directories import cache_directory, read_cached
from pflow.files.reading import file_stamp
from pflow.interface.account import account_of
from pflow.interface.interface import Interface
from pflow.interface.source import NO_CLASS, in_words, read_interface
from pflow.values.jsontext import compact, decode

_FORM = f"nodes 6, pflow-shell {__version__}"
_MOST = 10_000

UNREADABLE = (PflowError, OSError, ValueError, RecursionError, MemoryError)
"""The errors when a file's interface cannot be read: a hostile file may break the parser."""


class Listing:
    """The facts about a node or flow that a list shows.

    `touched` has its effects, or `open`, and `inferred` if its marks are inferred. `words` is its description, for
    searches. `fault` says what is wrong with it, `behind` names the file that shadows it.
    """

    FACTS = ("version", "summary", "touched", "words", "interpreter", "fault")
    """The facts that are read from its file, as texts."""

    def __init__(self, node_type: NodeType) -> None:
        self.node_type = node_type
        self.name, self.origin, self.file = node_type.name, node_type.origin, node_type.file
        self.version = self.summary = self.touched = self.words = self.interpreter = ""
        self.fault, self.behind = node_type.fault, node_type.behind

    @property
    def is_there(self) -> bool:
        """True if it is found by its name."""
        return not self.fault and not self.behind

    def read(self) -> None:
        """Read its file; an error becomes its fault."""
        try:
            self.version = self.node_type.version if self.origin != FLOW else ""
            self._take(read_interface(self.file) if self.origin == BUNDLED else self.node_type.interface)
            self.interpreter, self.fault = self.node_type.interpreter, self.node_type.class_fault
            self.node_type.forget_interface()
        except UNREADABLE as error:
            self.fault = cannot_read(self.file, error)

    def _take(self, interface: Interface) -> None:
        self.summary = interface.summary
        touched = ["open"] if interface.open else interface.effects
        self.touched = ", ".join([*touched, *["inferred"] * interface.inferred])
        fields = [*interface.reads.values(), *interface.writes.values(), *interface.params.values()]
        self.words = "\n".join(filter(None, [interface.description, *(f"{each.name} {each.doc}" for each in fields)]))


def lines(catalog: Catalog) -> list[Listing]:
    """Return all nodes, including shadowed and broken ones; then all saved flows."""
    listed = node_lines()
    for node_type in filter(None, [catalog.find(f"flow:{name}") for name in saved_flows()]):
        line = Listing(node_type)
        line.read()
        listed.append(line)
    return listed


def node_lines() -> list[Listing]:
    """Return all nodes, including shadowed and broken ones; files that have not changed are not read again."""
    listed = [*map(Listing, list_nodes())]
    cache = cache_directory()
    path = os.path.join(cache, "nodes.json") if cache else ""
    known = _rows(read_cached(path) or b"") if path else {}
    seen: dict[str, list[str]] = {}
    for line in [each for each in listed if each.is_there]:
        stamp = stamp_of(line.node_type)
        row = known.get(line.file)
        if row is not None and row[0] == stamp:
            for name, text in zip(Listing.FACTS, row[1:], strict=True):
                setattr(line, name, text)
        else:
            line.read()
            seen |= {line.file: [stamp, *(getattr(line, name) for name in Listing.FACTS)]} if stamp else {}
        line.fault = line.fault or interpreter_fault(line.interpreter)
    if path and seen:
        _save(path, {**known, **seen} if len(known) < _MOST else seen)
    modules = {each.file for each in listed if each.fault.endswith(NO_CLASS) or _is_module(each)}
    return [each for each in listed if modules.isdisjoint((each.file, each.behind))]


def _is_module(line: Listing) -> bool:
    """Return True for a file that a node beside it imports and none of whose classes can be a node."""
    if line.origin != PYTHON or not (line.fault and line.version):
        return False
    folder, name = os.path.split(line.file.removesuffix(".py"))
    beside = [os.path.join(folder, each) for each in os.listdir(folder) if each.endswith(".py")]
    texts = [result_of(read_header, each, otherwise=("", False))[0] for each in beside]
    words = [line.replace(",", " ").split() for text in texts for line in text.splitlines()]
    return any(each[:2] == ["from", name] or (each[:1] == ["import"] and name in each) for each in words)


def _rows(data: bytes) -> dict[str, list[str]]:
    known: Any = result_of(decode, data, of=(ValueError, RecursionError), otherwise=None)
    is_ours = isinstance(known, dict) and known.get("pflow") == _FORM
    return {file: row for file, row in known.items() if _is_row(row)} if is_ours else {}


def _is_row(row: Any) -> bool:
    return isinstance(row, list) and len(row) == len(Listing.FACTS) + 1 and set(map(type, row)) == {str}


def _save(path: str, rows: dict[str, list[str]]) -> None:
    from pflow.files.atomic import write_cached

    with Ignoring(UnicodeEncodeError):
        write_cached(path, compact({"pflow": _FORM, **rows}).encode())


def stamp_of(node_type: NodeType) -> str:
    """Return the stamp of a node's file and of the interface beside it; "" if one of them has changed just now."""
    try:
        both = [node_type.status or os.stat(node_type.file)]
    except OSError:
        return ""
    if os.path.exists(node_type.file + ".interface"):
        both.append(os.stat(node_type.file + ".interface"))
    stamps = [file_stamp(each, time.time_ns()) for each in both]
    # The pinned digest counts too: `pflow update --accept-changes` makes a changed file valid without writing it.
    pinned = node_type.pack.digest_of(node_type.file) if node_type.pack is not None else ""
    return " ".join([*stamps, pinned]).rstrip() if all(stamps) else ""


def cannot_read(file: str, error: BaseException) -> str:
    """Say why a file cannot be read, worded like other errors of pflow."""
    if isinstance(error, PflowError):
        return error.message
    why = reason_of(error) if isinstance(error, OSError) else in_words(error)
    return f"cannot read '{file}': {why}"


def about(listed: list[Listing], words: list[str]) -> list[Listing]:
    """Return the lines that contain all the words anywhere, those with the words in their names first."""
    ranked = [(_rank(line, [word.casefold() for word in words]), line) for line in listed]
    return [line for rank, line in sorted(ranked, key=lambda each: each[0]) if rank < _FAR]


_FAR = 1 << 30


def _rank(line: Listing, words: list[str]) -> int:
    """Return how far from the name the words were found; at least _FAR if one was not found."""
    places = [text.casefold() for text in (line.name, line.summary, f"{line.words}\n{line.fault}")]
    return sum(next((n for n, place in enumerate(places) if word in place), _FAR) for word in words)


def find(name: str, catalog: Catalog) -> NodeType:
    """Find the node in the file of this path, else the node or saved flow of this name. Raises PflowError (127)."""
    node_type = node_at(os.path.abspath(name)) if "/" in name and os.path.lexists(name) else None
    if node_type is not None and node_type.fault:
        raise PflowError(f"cannot use the node '{name}': {node_type.fault}", exit=NOT_FOUND)
    node_type = node_type or catalog.find(name) or catalog.find(f"flow:{name}")
    if node_type is not None:
        return node_type
    error, command = no_such_type(name), find_node(name)
    hint = f"{command.name} is a tool: pflow-{command.name} --help" if command is not None else error.hint
    raise PflowError(error.message, hint=hint, exit=NOT_FOUND)


def entry(node_type: NodeType) -> dict[str, Any]:
    """Return the account of a node's interface, with its `origin`, `file` and `fault`, if it has one.

    If the file cannot be read, the fault replaces the interface.
    """
    where: dict[str, Any] = {"origin": node_type.origin, "file": node_type.file, **pack_entry(node_type)}
    try:
        if not os.path.isfile(node_type.file):
            raise ValueError("it is not a file")
        interface = node_type.interface
        about = {"name": node_type.name, "version": node_type.version} | account_of(node_type.help_interface()) | where
        fault = interface.fault or node_type.class_fault or node_type.interpreter_fault
        return {**about, "fault": fault} if fault else about
    except UNREADABLE as error:
        return {"name": node_type.name, **where, "fault": cannot_read(node_type.file, error)}


def pack_entry(node_type: NodeType) -> dict[str, Any]:
    """Return the member `pack` of a node's entry; empty for a node that is not from a pack."""
    return {} if node_type.pack is None else {"pack": node_type.pack.about}


def line_entry(line: Listing) -> dict[str, Any]:
    """Return the entry of a line; if it is shadowed, with `shadowed_by`."""
    where = {"name": line.name, "origin": line.origin, "file": line.file, **pack_entry(line.node_type)}
    if line.behind:
        return {**where, "shadowed_by": line.behind}
    if line.fault and not line.version:
        return {**where, "fault": line.fault}
    return entry(line.node_type)
