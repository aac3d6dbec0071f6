"""Saving a flow under a name, and removing it; what it was before is kept, the last ten versions of a name.

Older versions lie in `old/` beside the flows as NAME.N.pflow.json, where the highest N is the last. No flow is found
there.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pflow.atomic import replace as write_file
from pflow.catalog.registry import SUFFIX, data_directory, saved_flow
from pflow.errors import BAD_DATA, CANNOT_WRITE, DENIED, PflowError
from pflow.flow.flow import Flow
from pflow.flow.unload import canonical_json, flow_to_ir
from pflow.library.portable import portable
from pflow.library.saved import check_name, file_for, find_saved, library_folder, name_of
from pflow.source import plain

MOST = 10
"""How many versions of a name are kept."""

_OLD = re.compile(rf"(?P<name>[^.].*)\.(?P<number>[0-9]{{1,9}}){re.escape(SUFFIX)}")


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
    with _locked(act):
        there = saved_flow(name)
        file = file_for(name)
        saved, notes = portable(flow, name_of(file), file)
        data = _encoded(saved, act)
        if there is None and os.path.lexists(file):
            raise PflowError(f"{act}: '{file}' is not a file", hint="move it away", exit=CANNOT_WRITE)
        before = Path(there).read_bytes() if there else None
        if before == data:
            return Outcome(file, None, notes, is_changed=False)
        if before is not None and not replace:
            raise AlreadySaved(name, file)
        old = _keep_old(name_of(file), before) if before is not None else None
        write_file(file, data, mode=0o600, overwrite=before is not None)
    return Outcome(file, old, notes)


def remove_flow(name: str) -> str:
    """Remove a saved flow, and return the file where it is kept. Raises PflowError (127, 73, 77)."""
    with _locked(f"cannot remove '{name}'"):
        file = find_saved(name)
        old = _keep_old(name_of(file), Path(file).read_bytes())
        os.unlink(file)
        return old


def olds_of(name: str) -> list[str]:
    """The files of a name's older versions, the last one last."""
    folder = os.path.join(data_directory("flows") or "", "old")
    files = os.listdir(folder) if os.path.isdir(folder) and os.path.isabs(folder) else []
    matches = [match for match in map(_OLD.fullmatch, files) if match and plain(match["name"]) == plain(name)]
    return [os.path.join(folder, match[0]) for match in sorted(matches, key=lambda match: int(match["number"]))]


def as_error(act: str, error: OSError) -> PflowError:
    """What the system refused, with the file, or for a draft the directory that it was to be in."""
    file = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    is_draft = os.path.basename(file).startswith(".pflow-")
    where = f" '{os.path.dirname(file) if is_draft else file}'" if file else ""
    exit = DENIED if isinstance(error, PermissionError) else CANNOT_WRITE
    return PflowError(f"{act}: {(error.strerror or str(error)).lower()}{where}", exit=exit)


@contextmanager
def _locked(act: str) -> Iterator[None]:
    """Hold the library's lock: another process that saves waits. Raises PflowError (73, 77) for any OSError."""
    try:
        folder = library_folder()
        for each in (os.path.dirname(folder), folder):
            os.makedirs(each, 0o700, exist_ok=True)
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)
    except OSError as error:
        raise as_error(act, error) from None


def _keep_old(name: str, data: bytes) -> str:
    """Keep a flow's content, and return the file: the last version's where that is the same. Raises OSError."""
    before = olds_of(name)
    with suppress(OSError):
        if before and Path(before[-1]).read_bytes() == data:
            return before[-1]
    folder = os.path.join(library_folder(), "old")
    os.makedirs(folder, 0o700, exist_ok=True)
    last = _OLD.fullmatch(os.path.basename(before[-1])) if before else None
    file = os.path.join(folder, f"{name}.{int(last['number']) + 1 if last else 1}{SUFFIX}")
    write_file(file, data, mode=0o600, overwrite=False)
    for oldest in before[: max(len(before) + 1 - MOST, 0)]:
        with suppress(OSError):
            os.unlink(oldest)
    return file


def _encoded(flow: Flow, act: str) -> bytes:
    try:
        return canonical_json(flow_to_ir(flow)).encode()
    except PflowError:
        hint = "its description, or the path of a subflow"
        raise PflowError(f"{act}: not all of it is UTF-8", hint=hint, exit=BAD_DATA) from None
