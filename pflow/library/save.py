"""Saving a flow under a name, and removing it; each earlier version is kept."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pflow.atomic import replace as write_file
from pflow.catalog.flows import saved_flow
from pflow.errors import BAD_DATA, CANNOT_WRITE, PflowError
from pflow.flow.flow import Flow
from pflow.flow.unload import canonical_json, flow_to_ir
from pflow.library.lock import locked
from pflow.library.old import copy_old, move_old
from pflow.library.portable import portable
from pflow.library.saved import check_name, file_for, find_saved, library_folder, name_of


@dataclass
class Outcome:
    """What saving did: the flow's `file`, the file of the version that it replaced (`old`), notes for its user.

    `is_changed` is false where the same flow was there already.
    """

    file: str
    old: str | None
    notes: list[str]
    is_changed: bool = True

    @property
    def name(self) -> str:
        """The flow's name; one that was there in another spelling keeps its own."""
        return name_of(self.file)


class AlreadySaved(PflowError):
    """Another flow has the name (73): saving with `replace` would replace it."""

    def __init__(self, name: str, file: str) -> None:
        hint = f"--force replaces it, pflow show {name} shows it"
        super().__init__(f"cannot save '{name}': another flow has this name", hint=hint, exit=CANNOT_WRITE)
        self.name = name
        self.file = file


def save_flow(name: str, flow: Flow, *, replace: bool = False) -> Outcome:
    """Save a flow, which the caller has checked; `flow` itself stays as it is.

    Raises PflowError: 65 for a bad name, a secret in the flow, and a flow that would contain itself; AlreadySaved (73)
    for another flow of the name without `replace`; 73, 77 and 78 where it cannot be written.
    """
    check_name(name)
    act = f"cannot save '{name}'"
    with locked(library_folder(), act):
        there = saved_flow(name)
        file = file_for(name)
        saved, notes = portable(flow, name_of(file), file)
        data = _encoded(saved, act)
        if there is None and os.path.lexists(file):
            raise PflowError(f"{act}: '{file}' is not a file", hint="move it away", exit=CANNOT_WRITE)
        before = _content(there) if there else None
        if before == data:
            return Outcome(file, None, notes, is_changed=False)
        if before is not None and not replace:
            raise AlreadySaved(name, file)
        old = copy_old(name_of(file), before) if before is not None else None
        write_file(file, data, mode=0o600, overwrite=before is not None)
    return Outcome(file, old, notes)


def remove_flow(name: str) -> str:
    """Remove a saved flow, and return the file where it is kept. Raises PflowError (127, 73, 77)."""
    with locked(library_folder(), f"cannot remove '{name}'"):
        file = find_saved(name)
        return move_old(name_of(file), file)


def _encoded(flow: Flow, act: str) -> bytes:
    try:
        return canonical_json(flow_to_ir(flow)).encode()
    except PflowError:
        hint = "its description, or the path of a subflow"
        raise PflowError(f"{act}: not all of it is UTF-8", hint=hint, exit=BAD_DATA) from None


def _content(file: str) -> bytes:
    with open(file, "rb") as opened:
        return opened.read()
