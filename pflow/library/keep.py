"""Saving a flow under a name, and taking it away; what it was before is kept."""

from __future__ import annotations

import os

from pflow.catalog.flows import flow_name, saved_flow
from pflow.errors import BAD_DATA, CANNOT_WRITE, PflowError
from pflow.library.held import held
from pflow.library.names import check_name, file_of, library_folder
from pflow.library.old import copy_old, move_old

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pflow.flow.flow import Flow


class Kept:
    """What was done: the flow's `file`, and where the flow is that had its name before (`old`; None for none).

    `name` is the one that it goes by: a flow of that name in another spelling keeps its own. `is_changed` is false
    where the same flow was there already. `notes` are what its user has to know.
    """

    def __init__(self, file: str, old: str | None, *, is_changed: bool = True, notes: list[str] | None = None) -> None:
        self.file = file
        self.old = old
        self.is_changed = is_changed
        self.notes = notes or []

    @property
    def name(self) -> str:
        return flow_name(os.path.basename(self.file))


class AlreadySaved(PflowError):
    """Another flow has the name (73): `keep` with `replace` would take its place."""

    def __init__(self, name: str, file: str) -> None:
        super().__init__(
            f"cannot save '{name}': another flow has this name",
            hint=f"--force replaces it, pflow show {name} shows it",
            exit=CANNOT_WRITE,
        )
        self.name = name
        self.file = file


def keep(name: str, flow: Flow, *, replace: bool = False) -> Kept:
    """Save a flow. That it breaks no rule is for its caller to see to; `flow` itself stays as it is.

    Raises PflowError: 65 for a name that is none, for a secret in the flow and for one that would hold itself;
    AlreadySaved (73) where another is there and `replace` is not set; 73, 77 and 78 where it cannot be written.
    """
    check_name(name)
    with held(library_folder(), f"cannot save '{name}'"):
        there = saved_flow(name)
        file = there or file_of(name)
        data, notes = _data(flow, flow_name(os.path.basename(file)), file)
        if there is None and os.path.lexists(file):
            raise PflowError(f"cannot save '{name}': '{file}' is no file", hint="move it away", exit=CANNOT_WRITE)
        if there is None:
            _write(file, data, is_new=True)
            kept = Kept(file, None, notes=notes)
        else:
            kept = _replace(name, there, data, notes, replace=replace)
    if kept.is_changed:
        _tell_others()
    return kept


def remove_flow(name: str) -> str:
    """Take a saved flow away, and give the file that it is kept in. Raises PflowError: 127 where there is none."""
    with held(library_folder(), f"cannot remove '{name}'"):
        file = saved_flow(name)
        if file is None:
            from pflow.flow.take import no_saved_flow

            raise no_saved_flow(name)
        old = move_old(flow_name(os.path.basename(file)), file)
    _tell_others()
    return old


def _data(flow: Flow, name: str, file: str) -> tuple[bytes, list[str]]:
    from pflow.flow.unload import canonical_json, flow_to_ir
    from pflow.library.portable import portable

    saved, notes = portable(flow, name, file)
    try:
        return canonical_json(flow_to_ir(saved)).encode(), notes
    except PflowError:  # nothing else is left that JSON could not hold
        hint = "its description, or the path of a subflow"
        raise PflowError(f"cannot save '{name}': not all of it is UTF-8", hint=hint, exit=BAD_DATA) from None


def _replace(name: str, file: str, data: bytes, notes: list[str], *, replace: bool) -> Kept:
    """Put a flow in another's place; where it is the same one, nothing is done."""
    with open(file, "rb") as opened:
        before = opened.read()
    if before == data:
        return Kept(file, None, is_changed=False, notes=notes)
    if not replace:
        raise AlreadySaved(name, file)
    old = copy_old(flow_name(os.path.basename(file)), before)
    _write(file, data, is_new=False)
    return Kept(file, old, notes=notes)


def _write(file: str, data: bytes, *, is_new: bool) -> None:
    from pflow.atomic import replace

    replace(file, data, mode=0o600, overwrite=not is_new)


def _tell_others() -> None:
    """What TAB offers is old now."""
    from pflow.library.library import offer_saved

    offer_saved()
