"""Which nodes there are, found by name in one order for everybody. No file is opened and nothing is run.

The order: the nodes and tools that come with pflow, then a user's own directories, then PATH; the first of a name wins.
Names that differ only in case, `-` and `_` are one name.
"""

from __future__ import annotations

import os
import stat

from pflow import TYPE_CHECKING
from pflow.catalog.registry import PACKAGE, bundled_names, data_directory, own_directories, tool_names
from pflow.source import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

BUNDLED, TOOL, PYTHON, PROGRAM = "bundled", "tool", "python", "program"

RUNS_FLOW = b"#!/bin/sh\n# Runs a saved flow: pflow save --command made this, "
"""How the executable of a saved flow begins: beside the flow itself, flow:NAME, it is no node of its own."""


class Found:
    """A file that is, or looks like, a node: its name, `origin` and path.

    `fault` says why it cannot be used, `behind` which file shadows it.
    """

    __slots__ = ("behind", "fault", "file", "has_interface", "name", "origin", "status")

    def __init__(self, name: str, origin: str, file: str, *, has_interface: bool = False) -> None:
        self.name = name
        self.origin = origin
        self.file = file
        self.has_interface = has_interface
        """Whether it has an .interface file beside it."""
        self.status: os.stat_result | None = None
        self.fault = ""
        self.behind = ""


def is_node_name(name: str) -> bool:
    """Whether a node may be called so: letters and digits of ASCII, with - and _ after the first."""
    return name.isascii() and name[:1].isalnum() and name.replace("-", "").replace("_", "").isalnum()


def find_node(name: str) -> Found | None:
    """The node or tool that a name, or a class's name, means; None where it means none."""
    wanted = plain(name)
    if not is_node_name(name):
        return None
    names = [wanted, wanted.removesuffix("node")] if wanted.endswith("node") else [wanted]
    return next((found for each in names if each for found in _candidates(each) if not found.fault), None)


def list_nodes() -> list[Found]:
    """All nodes, including shadowed and broken ones."""
    by_name: dict[str, list[Found]] = {}
    for found in _candidates():
        same = by_name.setdefault(plain(found.name), [])
        if not found.fault and same:
            if any(_is_same(other, found) for other in same):
                continue
            found.behind = next((other.file for other in same if not other.fault), "")
        same.append(found)
    return [found for same in by_name.values() for found in same if found.origin != TOOL]


def node_at(file: str) -> Found | None:
    """The node that a file is, wherever it lies, also a shadowed or broken one; None for any other file."""
    listed = next((found for found in list_nodes() if found.file == file), None)
    found = listed or _named(*os.path.split(file))
    return found if listed or (found and _is_meant(found)) else None


def fault_of(name: str) -> str:
    """Why a file that looks like this node cannot be used, with the file; empty where there is no such file."""
    faulty = (found for found in _candidates(plain(name)) if found.fault and plain(name))
    return next((f"'{found.file}': {found.fault}" for found in faulty), "")


def launcher(program: str) -> str | None:
    """An executable that comes with pflow, `pflow-llm`: where this very program is, or its Python."""
    for directory in _own_bin():
        file = os.path.join(directory, program)
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return None


def _own_bin() -> list[str]:
    import sys

    program = os.path.abspath(sys.argv[0])
    places = [program, os.path.realpath(program), sys.executable]
    return list(dict.fromkeys(os.path.dirname(place) for place in places if place))


def _candidates(wanted: str | None = None) -> Iterator[Found]:
    """The files of one plain name, or of all, in the order in which they are preferred."""
    for folder, origin, names in (("nodes", BUNDLED, bundled_names()), ("plumbing", TOOL, tool_names())):
        for name in names:
            if wanted is None or plain(name) == wanted:
                file = os.path.join(PACKAGE, folder, name.replace("-", "_") + ".py")
                yield Found(name, origin, file)
    for directory in own_places():
        yield from _in_own(directory, wanted)
    for directory in _there(os.environ.get("PATH", "").split(os.pathsep)):
        yield from _on_path(directory, wanted)


def own_places() -> list[str]:
    """A user's own directories, as the files in them are found."""
    return list(_there(own_directories()))


def _there(directories: list[str]) -> Iterator[str]:
    """The directories that exist, each once, also where /bin is a link to /usr/bin."""
    seen = set()
    for directory in directories:
        try:
            status, absolute = os.stat(directory), os.path.abspath(directory)
        except (OSError, ValueError):  # it is not there, or relative to what is not
            continue
        if (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            yield absolute


def _in_own(directory: str, wanted: str | None) -> Iterator[Found]:
    """The nodes of a user's own directory: classes in Python, then programs."""
    files = set(_listed(directory))
    for file in sorted(files, key=lambda file: (not file.endswith(".py"), file)):
        found = _named(directory, file)
        if found is not None and wanted in (None, plain(found.name)) and _is_meant(found):
            found.has_interface = f"{file}.interface" in files
            yield found


def _named(directory: str, file: str) -> Found | None:
    """What a file would be by its name."""
    if file.endswith(".py") and not file.startswith(("_", ".", "pflow-")):
        return Found(file[:-3].replace("_", "-"), PYTHON, f"{directory}/{file}")
    if file.startswith("pflow-") and not file.endswith(".interface"):
        return Found(file[6:], PROGRAM, f"{directory}/{file}")
    return None


def _is_meant(found: Found) -> bool:
    """Whether a file in a user's own directory looks like a node; `fault` says why it cannot be used."""
    if not _look(found):
        return False
    may_run = bool(found.fault) or found.origin == PYTHON or os.access(found.file, os.X_OK)
    if not is_node_name(found.name):
        found.fault = "a node's name has letters, digits, - and _ only"
        return may_run  # else it is pflow-x.c, of which pflow-x is made
    if not may_run:
        found.fault = "it may not be executed (chmod +x)"
    return True


def _on_path(directory: str, wanted: str | None) -> Iterator[Found]:
    """The nodes of a directory on PATH: as a shell would find them, and links to nowhere."""
    files = {file for file in _listed(directory) if file.startswith("pflow-")}
    for file in sorted(files):
        if is_node_name(file[6:]) and (wanted is None or plain(file[6:]) == wanted):
            has_interface = f"{file}.interface" in files
            found = Found(file[6:], PROGRAM, f"{directory}/{file}", has_interface=has_interface)
            if _look(found) and (found.fault or os.access(found.file, os.X_OK)) and not _runs_saved_flow(found):
                yield found


def _runs_saved_flow(found: Found) -> bool:
    """Whether it is the executable of the saved flow of its name."""
    folder = data_directory("flows")
    if folder is None or not os.path.isfile(f"{folder}/{found.name}.pflow.json"):
        return False
    try:
        with open(found.file, "rb") as program:
            return program.read(len(RUNS_FLOW)) == RUNS_FLOW
    except OSError:
        return False


def _listed(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _look(found: Found) -> bool:
    """Whether it is a regular file, or a broken one: then `fault` says why."""
    try:
        found.status = os.stat(found.file)
    except FileNotFoundError:
        found.fault = "it is a link to nowhere"
        return os.path.islink(found.file)  # else it is gone since it was listed
    except OSError as error:
        found.fault = f"it cannot be looked at: {(error.strerror or str(error)).lower()}"
        return True
    return stat.S_ISREG(found.status.st_mode)


def _is_same(other: Found, found: Found) -> bool:
    """Whether two files are one, or the second starts what the first is."""
    if other.origin in (BUNDLED, TOOL):
        directories = set(map(os.path.realpath, _own_bin()))
        return any(os.path.dirname(path) in directories for path in (found.file, os.path.realpath(found.file)))
    return bool(other.status and found.status and os.path.samestat(other.status, found.status))
