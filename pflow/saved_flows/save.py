"""Saving a flow under a name, and removing it. The last ten older versions of each name are kept.

They lie in `old/` beside the flows as NAME.N.pflow.json; the highest N is the last. The catalog does not look there.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from pflow.catalog.registry import SUFFIX, data_directory, flow_name, is_flow_type, own_flow
from pflow.errors import (
    BAD_DATA,
    CANNOT_WRITE,
    Attempt,
    PflowError,
    not_written,
    reason_with_file,
    result_of,
)
from pflow.files.atomic import replace as write_file
from pflow.files.atomic import take_turn
from pflow.files.directories import make_private
from pflow.files.reading import Opened
from pflow.flow.flow import FlowSpec
from pflow.flow.lock import lock_of
from pflow.flow.secrets import literal_secrets
from pflow.flow.subflow import FlowKind
from pflow.flow.unload import flow_to_ir
from pflow.flow.wiring import wire
from pflow.interface.source import plain
from pflow.saved_flows.saved import check_name, file_for, find_saved, library_folder, name_of, saved_name
from pflow.values.fast_json import write_json

MOST = 10
"""Older versions of a name that are kept."""

_OLD = re.compile(rf"(?P<name>[^.].*)\.(?P<number>[0-9]{{1,9}}){re.escape(SUFFIX)}")


@dataclass
class SaveResult:
    """The result of saving: the flow's `file`, the file of the version that it replaced (`old`), notes for its user.

    `is_changed` is false if the same flow was there already.
    """

    file: str
    old: str | None
    notes: list[str]
    is_changed: bool = True

    @property
    def name(self) -> str:
        """The flow's name, in the spelling that it was first saved under."""
        return name_of(self.file)


class AlreadySaved(PflowError):
    """Failure to save because another flow has the name (73); saving with `replace` would replace it."""


def save_flow(name: str, flow: FlowSpec, *, replace: bool = False) -> SaveResult:
    """Save a flow that the caller has checked; `flow` itself is not changed.

    Raises PflowError: 65 for a bad name, a secret in the flow, and a flow that would contain itself; AlreadySaved (73)
    for another flow of the name without `replace`; 73, 77 and 78 if it cannot be written.
    """
    check_name(name)
    act = f"cannot save '{name}'"
    with locked(library_folder(), act):
        there = own_flow(name)
        file = file_for(name)
        saved, notes = portable(flow, name_of(file), file)
        data = _encoded(saved, act)
        if there is None and os.path.lexists(file):
            raise PflowError(f"{act}: '{file}' is not a file", hint="move it away", exit=CANNOT_WRITE)
        before = Path(there).read_bytes() if there else None
        if before == data:
            return SaveResult(file, None, notes, is_changed=False)
        if before is not None and not replace:
            hint = f"--force replaces it, pflow show {name} shows it"
            raise AlreadySaved(f"{act}: another flow has this name", hint=hint, exit=CANNOT_WRITE)
        old = _keep_old(name_of(file), before) if before is not None else None
        write_file(file, data, mode=0o600, overwrite=before is not None)
    return SaveResult(file, old, notes)


def save_in_pack(name: str, flow: FlowSpec, folder: str, *, replace: bool = False) -> SaveResult:
    """Save a checked flow into the directory of a pack that the user makes. Raises as `save_flow`."""
    check_name(name)
    act, flows = f"cannot save '{name}'", os.path.join(folder, "flows")
    there = result_of(os.listdir, flows, otherwise=[])
    name = next((known for each in there if plain(known := flow_name(each)) == plain(name)), name)
    file = os.path.join(flows, name + SUFFIX)
    saved, notes = portable(flow, name, file, pack=folder)
    data = _encoded(saved, act)
    with Attempt(act, as_error):
        before = Path(file).read_bytes() if os.path.lexists(file) else None
        if before not in (None, data) and not replace:
            raise AlreadySaved(f"{act}: '{file}' is another flow", hint="--force replaces it", exit=CANNOT_WRITE)
        write_file(file, data)
    return SaveResult(file, None, notes, is_changed=before != data)


def remove_flow(name: str) -> str:
    """Remove a saved flow, and return the file of its kept version. Raises PflowError (127, 73, 77)."""
    with locked(library_folder(), f"cannot remove '{name}'"):
        file = find_saved(name)
        old = _keep_old(name_of(file), Path(file).read_bytes())
        os.unlink(file)
        with suppress(OSError):
            os.unlink(lock_of(file))
        return old


def olds_of(name: str) -> list[str]:
    """Return the files of a name's older versions, oldest first."""
    folder = os.path.join(data_directory("flows") or "", "old")
    files = os.listdir(folder) if os.path.isdir(folder) and os.path.isabs(folder) else []
    matches = [match for match in map(_OLD.fullmatch, files) if match and plain(match["name"]) == plain(name)]
    return [os.path.join(folder, match[0]) for match in sorted(matches, key=lambda match: int(match["number"]))]


def as_error(act: str, error: OSError) -> PflowError:
    """Return the PflowError for an OSError, with its file."""
    return PflowError(f"{act}: {reason_with_file(error)}", exit=not_written(act, error).exit)


@contextmanager
def locked(folder: str, act: str) -> Iterator[None]:
    """Lock a directory of the library, so that another process waits. Raises PflowError (73, 77) for any OSError."""
    with Attempt(act, as_error):
        make_private(folder)
        with Opened(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
            take_turn(fd)
            yield


def _keep_old(name: str, data: bytes) -> str:
    """Keep a flow's content, and return the file: the last version's if that is the same. Raises OSError."""
    before = olds_of(name)
    with suppress(OSError):
        if before and Path(before[-1]).read_bytes() == data:
            return before[-1]
    folder = os.path.join(library_folder(), "old")
    make_private(folder)
    last = _OLD.fullmatch(os.path.basename(before[-1])) if before else None
    file = os.path.join(folder, f"{name}.{int(last['number']) + 1 if last else 1}{SUFFIX}")
    write_file(file, data, mode=0o600, overwrite=False)
    for oldest in before[: max(len(before) + 1 - MOST, 0)]:
        with suppress(OSError):
            os.unlink(oldest)
    return file


def _encoded(flow: FlowSpec, act: str) -> bytes:
    try:
        return write_json(flow_to_ir(flow)).encode()
    except PflowError:
        hint = "its description, or the path of a subflow"
        raise PflowError(f"{act}: not all of it is UTF-8", hint=hint, exit=BAD_DATA) from None


def portable(flow: FlowSpec, name: str, file: str, pack: str = "") -> tuple[FlowSpec, list[str]]:
    """Return the flow under its new name, with absolute paths to its subflows, and notes for its user.

    `file` is its future place, in a `pack` or in the library; in a pack paths are relative. Raises PflowError (65) for
    a secret in it, if it would contain itself, and for a path that leads out of the pack.
    """
    wired = wire(flow)
    act = f"cannot save '{name}'"
    for place, remedy in literal_secrets(wired):
        what = f"'{place[-1]}' of '{place[1]}'" if len(place) > 3 else f"the default of the input '{place[1]}'"
        raise PflowError(f"{act}: {what} is a secret, and the flow contains it", hint=remedy, exit=BAD_DATA)
    subflows = [step.kind.file for step in wired.all_steps() if isinstance(step.kind, FlowKind)]
    if os.path.realpath(file) in map(os.path.realpath, subflows):
        raise PflowError(f"{act}: it would contain itself", hint="choose another name", exit=BAD_DATA)
    saved = flow.copied()
    saved.name = name
    for _, step in saved.all_steps():
        if is_flow_type(step.type):
            known = saved_name(step.type, flow.directory)
            there = os.path.abspath(os.path.join(flow.directory, step.type))
            step.type = f"flow:{known}" if known else _path_in(pack, there, f"{act}: '{step.id}'") if pack else there
    outside = [step for _, step in saved.all_steps() if os.path.isabs(step.type)]
    advice = "if that may move, save it too, and name it flow:NAME"
    return saved, [f"'{step.id}' runs the flow in '{step.type}': {advice}" for step in outside]


def _path_in(pack: str, file: str, act: str) -> str:
    """Return a file's path as the pack's flows write it. Raises PflowError (65) for a file outside the pack."""
    path = os.path.relpath(os.path.realpath(file), os.path.realpath(os.path.join(pack, "flows")))
    if path.startswith("../") and not path.startswith("../nodes/"):
        hint = f"pflow save NAME {quote(file)} --to={quote(pack)} brings it"
        raise PflowError(f"{act} runs the flow '{file}', which is not in '{pack}'", hint=hint, exit=BAD_DATA)
    return path if is_flow_type(path) else f"./{path}"
