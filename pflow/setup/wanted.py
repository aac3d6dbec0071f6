"""What is to be put in place: the pages and completions that come with pflow, and those of the user's own nodes."""

from __future__ import annotations

import os

from pflow.errors import MISSING, PflowError
from pflow.setup.places import FOLDERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from pflow.help.usage import Usage

_PACKAGE = os.path.dirname(os.path.dirname(__file__))


class Wanted:
    """The files, by their names below share/; and for each node that gets none, why."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.left_out: list[str] = []


def find_wanted() -> Wanted:
    """Raises PflowError (66) where pflow came without its pages."""
    wanted = Wanted()
    for usage in _own_usages(wanted):
        wanted.files.update(_files_of(usage))
    wanted.files.update(_bundled())  # what comes with pflow is never another's
    return wanted


def _bundled() -> dict[str, bytes]:
    """What an installation has in pflow/share/, and a checkout at its top."""
    share = os.path.join(_PACKAGE, "share")
    root = share if os.path.isdir(share) else os.path.dirname(_PACKAGE)
    files = dict(_below(os.path.join(root, "man"), FOLDERS["man"]))
    for shell in ("bash", "zsh", "fish"):
        files.update(_below(os.path.join(root, "completions", shell), FOLDERS[shell]))
    if not files:
        raise PflowError(f"cannot find the man pages and completions in '{root}'", hint="make generate", exit=MISSING)
    return files


def _below(folder: str, name: str) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder, as one below `name`."""
    for directory, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            path = os.path.join(directory, file)
            with open(path, "rb") as source:
                yield os.path.join(name, os.path.relpath(path, folder)), source.read()


def _own_usages(wanted: Wanted) -> Iterator[Usage]:
    """How each of the user's own nodes is used; none whose interface is not known."""
    from pflow.catalog.kinds import PROGRAM, PYTHON, list_kinds
    from pflow.help.node import usage_of_node

    for kind in list_kinds():
        if kind.origin not in (PYTHON, PROGRAM):
            continue
        try:
            interface = kind.interface
        except PflowError as error:
            wanted.left_out.append(f"'{kind.name}' is left out: {error.message}")
            continue
        if interface.open:
            wanted.left_out.append(f"'{kind.name}' is left out: {interface.fault or 'it has no interface'}")
            continue
        yield usage_of_node(kind.name, interface)


def _files_of(usage: Usage) -> dict[str, bytes]:
    """The page and the completions of one node."""
    from pflow.docs.completion import bash, fish, zsh
    from pflow.docs.man import pages

    made = {
        "man/man1": pages.files([usage]),
        FOLDERS["bash"]: bash.files([usage]),
        FOLDERS["zsh"]: zsh.files([usage]),
        FOLDERS["fish"]: fish.files([usage]),
    }
    return {
        f"{folder}/{name}": text.encode("utf-8", "replace")
        for folder, files in made.items()
        for name, text in files.items()
    }
