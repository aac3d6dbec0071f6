"""Every node and saved flow in a line each, as its file has it: read, remembered, never run."""

from __future__ import annotations

import os

from pflow.catalog.discovery import PROGRAM, PYTHON, Found, list_nodes
from pflow.catalog.flows import saved_flows
from pflow.catalog.header import interpreter_fault, program_interface
from pflow.catalog.kinds import Catalog, Kind, read_python
from pflow.catalog.remembered import Remembered, stamp
from pflow.catalog.source import in_words
from pflow.errors import PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.interface import Interface

_OPEN = "open"


class Line:
    """As much of a node or flow as a list needs.

    `touched` is what it has effects on, or `open`; `words` all that is said of it, to be searched. `fault` is what is
    wrong with it, `behind` the file that has its name.
    """

    __slots__ = ("behind", "fault", "file", "name", "origin", "summary", "touched", "version", "words")

    def __init__(self, name: str, origin: str, file: str) -> None:
        self.name = name
        self.origin = origin
        self.file = file
        self.version = self.summary = self.touched = self.words = self.fault = self.behind = ""

    @property
    def is_there(self) -> bool:
        """Whether its name finds it."""
        return not self.fault and not self.behind


def lines(catalog: Catalog) -> list[Line]:
    """All nodes, including shadowed and broken ones; then all saved flows."""
    listed = node_lines()
    flows = (catalog.find(f"flow:{name}") for name in saved_flows())
    return [*listed, *(_line_of_flow(kind) for kind in flows if kind is not None)]


def node_lines() -> list[Line]:
    """All nodes, including shadowed and broken ones."""
    remembered = Remembered(len(_Read.__slots__))
    listed = [_line(found, remembered) for found in list_nodes()]
    remembered.save()
    return listed


class _Read:
    """What is read of a node's file, as texts."""

    __slots__ = ("version", "summary", "touched", "words", "interpreter", "fault")  # noqa: RUF023 - their order there

    def __init__(self, *texts: str) -> None:
        self.version, self.summary, self.touched, self.words, self.interpreter, self.fault = texts or ("",) * 6

    def texts(self) -> list[str]:
        return [self.version, self.summary, self.touched, self.words, self.interpreter, self.fault]


def _line(found: Found, remembered: Remembered) -> Line:
    line = Line(found.name, found.origin, found.file)
    line.behind, line.fault = found.behind, found.fault
    if not line.is_there:
        return line
    try:
        read = _read(found, remembered)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        line.fault = cannot_read(found.file, error)
        return line
    line.version, line.summary, line.touched, line.words = read.version, read.summary, read.touched, read.words
    line.fault = read.fault or interpreter_fault(read.interpreter)
    return line


def _read(found: Found, remembered: Remembered) -> _Read:
    """What is known of a file, or else in it. Raises OSError and what a hostile file of Python makes of a parser."""
    status = found.status or os.stat(found.file)
    mark = stamp(status, _beside(found))
    texts = remembered.get(found.file, mark) if mark else None
    if texts is not None:
        return _Read(*texts)
    read = _Read()
    try:
        interface, read.interpreter = _interface(found)
        _take(read, interface)
        read.version = interface.version or "1.0.0" if found.origin == PROGRAM else _source_version(found.file)
    except PflowError as error:
        read.fault = error.message
    if mark:
        remembered.put(found.file, mark, read.texts())
    return read


def _beside(found: Found) -> os.stat_result | None:
    try:
        return os.stat(found.file + ".interface") if found.has_interface else None
    except OSError:  # a link to nowhere, or gone by now
        return None


def _interface(found: Found) -> tuple[Interface, str]:
    if found.origin == PROGRAM:
        return program_interface(found.file)
    if found.origin == PYTHON:
        return read_python(found.file), ""
    from pflow.catalog.source import read_interface

    return read_interface(found.file), ""


def _take(read: _Read | Line, interface: Interface) -> None:
    read.summary = interface.summary
    read.touched = _OPEN if interface.open else ", ".join(interface.effects)
    items = [*interface.reads.values(), *interface.writes.values(), *interface.params.values()]
    parts = [interface.description, *(f"{item.name} {item.doc}" for item in items)]
    read.words = "\n".join(part for part in parts if part)


def _source_version(file: str) -> str:
    from pflow.stage.main import source_version

    return source_version(file)


def _line_of_flow(kind: Kind) -> Line:
    line = Line(kind.name, kind.origin, kind.file)
    try:
        _take(line, kind.interface)
    except PflowError as error:
        line.fault = error.message
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        line.fault = cannot_read(kind.file, error)
    return line


def cannot_read(file: str, error: BaseException) -> str:
    why = (error.strerror or str(error)).lower() if isinstance(error, OSError) else in_words(error)
    return f"cannot read '{file}': {why}"


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
