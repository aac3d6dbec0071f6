"""Every node and saved flow in a line each, as its file has it: read, remembered, never run.

What was read is kept in `$XDG_CACHE_HOME/pflow/nodes.json`, a JSON object with a file's stamp and facts a member: a
file that has not changed is not read again. What cannot be understood there is ignored.
"""

from __future__ import annotations

import os
import time

from pflow import TYPE_CHECKING, __version__
from pflow.catalog.discovery import PROGRAM, PYTHON, Found, list_nodes
from pflow.catalog.flows import saved_flows
from pflow.catalog.interfaces import interpreter_fault, program_interface
from pflow.catalog.kinds import Catalog, Kind
from pflow.errors import PflowError
from pflow.jsontext import quote, scan
from pflow.source import in_words, read_interface, read_python, source_version
from pflow.xdg import cache_directory, read_cached

if TYPE_CHECKING:
    from typing import Any

    from pflow.interface import Interface

_HEADER = f'{{"pflow":"nodes 1, pflow-shell {__version__}"'
_MOST = 10_000
_MOMENT = 100_000_000
"""Nanoseconds in which a file may change twice and have the same time."""


class Line:
    """As much of a node or flow as a list needs.

    `touched` is what it has effects on, or `open`; `words` all that is said of it, to be searched. `fault` is what is
    wrong with it, `behind` the file that has its name.
    """

    __slots__ = ("behind", "fault", "file", "interpreter", "name", "origin", "summary", "touched", "version", "words")
    FACTS = ("version", "summary", "touched", "words", "interpreter", "fault")
    """What its file says, as texts."""

    def __init__(self, name: str, origin: str, file: str) -> None:
        self.name = name
        self.origin = origin
        self.file = file
        self.version = self.summary = self.touched = self.words = self.interpreter = self.fault = self.behind = ""

    @property
    def is_there(self) -> bool:
        """Whether its name finds it."""
        return not self.fault and not self.behind

    def take(self, interface: Interface) -> None:
        """Take what an interface says."""
        self.summary = interface.summary
        self.touched = "open" if interface.open else ", ".join(interface.effects)
        items = [*interface.reads.values(), *interface.writes.values(), *interface.params.values()]
        self.words = "\n".join(filter(None, [interface.description, *(f"{item.name} {item.doc}" for item in items)]))


def lines(catalog: Catalog) -> list[Line]:
    """All nodes, including shadowed and broken ones; then all saved flows."""
    flows = (catalog.find(f"flow:{name}") for name in saved_flows())
    return [*node_lines(), *(_line_of_flow(kind) for kind in flows if kind is not None)]


def node_lines() -> list[Line]:
    """All nodes, including shadowed and broken ones."""
    memory = _Memory()
    listed = [_line(found, memory) for found in list_nodes()]
    memory.save()
    return listed


def _line(found: Found, memory: _Memory) -> Line:
    line = Line(found.name, found.origin, found.file)
    line.behind, line.fault = found.behind, found.fault
    if not line.is_there:
        return line
    try:
        stamp = stamp_of(found)
        if not memory.recall(line, stamp):
            _read(line)
            memory.keep(line, stamp)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        line.fault = cannot_read(found.file, error)
    line.fault = line.fault or interpreter_fault(line.interpreter)
    return line


def _read(line: Line) -> None:
    """Read a file. Raises OSError, and what a hostile file of Python makes of a parser."""
    try:
        if line.origin == PROGRAM:
            interface, line.interpreter = program_interface(line.file)
        else:
            interface = (read_python if line.origin == PYTHON else read_interface)(line.file)
        line.take(interface)
        line.version = interface.version or "1.0.0" if line.origin == PROGRAM else source_version(line.file)
    except PflowError as error:
        line.fault = error.message


def _line_of_flow(kind: Kind) -> Line:
    line = Line(kind.name, kind.origin, kind.file)
    try:
        line.take(kind.interface)
    except PflowError as error:
        line.fault = error.message
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        line.fault = cannot_read(kind.file, error)
    return line


def cannot_read(file: str, error: BaseException) -> str:
    why = (error.strerror or str(error)).lower() if isinstance(error, OSError) else in_words(error)
    return f"cannot read '{file}': {why}"


class _Memory:
    """The facts of files. `save` when all files were asked for."""

    def __init__(self) -> None:
        cache = cache_directory()
        self._path = os.path.join(cache, "nodes.json") if cache else None
        self._known = _rows(read_cached(self._path) or b"") if self._path else {}
        self._seen: dict[str, list[str]] = {}
        self._is_changed = False

    def recall(self, line: Line, stamp: str) -> bool:
        """Give a line what is known of its file, if that has this stamp; whether anything is."""
        row = self._known.get(line.file)
        if row is None or not stamp or row[0] != stamp:
            return False
        self._seen[line.file] = row
        for name, text in zip(Line.FACTS, row[1:], strict=True):
            setattr(line, name, text)
        return True

    def keep(self, line: Line, stamp: str) -> None:
        if stamp:
            self._seen[line.file] = [stamp, *(getattr(line, name) for name in Line.FACTS)]
            self._is_changed = True

    def save(self) -> None:
        """Keep it for the next run, where that can be done; and some of what another PATH may ask for."""
        if self._path is None or not self._is_changed:
            return
        folders = set(map(os.path.dirname, self._seen))
        others = {file: row for file, row in self._known.items() if os.path.dirname(file) not in folders}
        kept = {**others, **self._seen} if len(others) + len(self._seen) <= _MOST else self._seen
        rows = [f"{quote(file)}:[{','.join(map(quote, row))}]" for file, row in kept.items()]
        try:
            data = (",\n".join([_HEADER, *rows]) + "}\n").encode()
            os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
            from pflow.atomic import replace

            replace(self._path, data, mode=0o600)
        except (OSError, UnicodeEncodeError):
            return


def _rows(data: bytes) -> dict[str, list[str]]:
    try:
        text = str(data, "utf-8")
        value, _ = scan(text) if text.startswith(_HEADER + ",") else ({}, 0)
    except (ValueError, RecursionError):
        return {}
    return {file: row for file, row in value.items() if _is_row(row)}


def _is_row(row: Any) -> bool:
    return isinstance(row, list) and len(row) == len(Line.FACTS) + 1 and set(map(type, row)) == {str}


def stamp_of(found: Found) -> str:
    """What changes when a file does, or the file beside it; empty where that is too fresh to be told from the next."""
    both = [found.status or os.stat(found.file)]
    if found.has_interface and os.path.exists(found.file + ".interface"):
        both.append(os.stat(found.file + ".interface"))
    if any(abs(time.time_ns() - each.st_ctime_ns) < _MOMENT for each in both):
        return ""
    return " ".join([f"{each.st_size} {each.st_mtime_ns} {each.st_ctime_ns} {each.st_ino}" for each in both])


def about(listed: list[Line], words: list[str]) -> list[Line]:
    """Those of which all the words are said, wherever: first those that have them in their names."""
    ranked = [(_rank(line, [word.casefold() for word in words]), line) for line in listed]
    return [line for _, line in sorted((each for each in ranked if each[0] is not None), key=lambda each: each[0] or 0)]


def _rank(line: Line, words: list[str]) -> int | None:
    """How far from the name the words stand; None where one does not."""
    places = [text.casefold() for text in (line.name, line.summary, f"{line.words}\n{line.fault}")]
    found = [next((n for n, place in enumerate(places) if word in place), None) for word in words]
    ranks = [rank for rank in found if rank is not None]
    return sum(ranks) if len(ranks) == len(words) else None
