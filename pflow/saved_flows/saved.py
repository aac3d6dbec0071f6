"""The saved flows: listing, reading, saving and removing them. Each is described from its file alone."""

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from shlex import quote
from typing import Any

from pflow.catalog import registry
from pflow.catalog.find import is_node_name
from pflow.catalog.packs import pack_of
from pflow.catalog.registry import (
    SUFFIX,
    data_directory,
    flow_name,
    is_flow_type,
    names_in,
    needed_directory,
    own_flow,
    saved_flow,
)
from pflow.errors import (
    BAD_DATA,
    CANNOT_WRITE,
    DENIED,
    Attempt,
    PflowError,
    not_written,
    reason_with_file,
    result_of,
    shorten,
)
from pflow.files.atomic import replace as write_file
from pflow.files.atomic import take_turn
from pflow.files.directories import make_private
from pflow.files.reading import Opened
from pflow.flow.flow import FlowSpec
from pflow.flow.ir import flow_to_ir, literal_secrets
from pflow.flow.load import load_file
from pflow.flow.lock import lock_of
from pflow.flow.subflow import FlowType, no_saved_flow
from pflow.flow.wiring import wire
from pflow.interface.source import in_words, plain
from pflow.terminal.messages import say
from pflow.values.fast_json import write_json

LONGEST = 100
"""The most letters of a name: so a file name has room for the suffixes of old versions and drafts too."""

MOST = 10
"""The number of older versions that are kept of a name."""
_OLD = re.compile(rf"(?P<name>[^.].*)\.(?P<number>[0-9]{{1,9}}){re.escape(SUFFIX)}")


@dataclass
class SavedFlow:
    """A saved flow, or a flow in a project's directory, as its file describes it; it is neither wired nor checked.

    `inputs` and `outputs` are the IR's members, `types` the types of its steps; `fault` says why it cannot be read.
    """

    name: str
    file: str
    description: str = ""
    inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    types: list[str] = field(default_factory=list)
    fault: str = ""

    @property
    def is_of_project(self) -> bool:
        """True if the flow is not saved, but in a file below the working directory; then the path is its name."""
        return self.name == self.file

    @property
    def command(self) -> str:
        """The command that runs the flow."""
        return f"pflow run {shlex.quote(self.file)}" if self.is_of_project else f"pflow {self.name}"


def list_saved() -> list[SavedFlow]:
    """Return the user's saved flows by name, then those of packs; unreadable flows are included.

    Unreadable packs are left out. Raises PflowError (77) if the directory of saved flows cannot be read.
    """
    folder = data_directory("flows")
    with Attempt(f"cannot list the saved flows in '{folder}'"):
        files = sorted(result_of(os.listdir, folder, of=FileNotFoundError, otherwise=[])) if folder else []
    found = {name: os.path.join(folder or "", name + SUFFIX) for name in map(flow_name, files) if name}
    found |= result_of(registry.pack_flows, found, of=PflowError, otherwise={})
    return [_read(name, file) for name, file in found.items()]


def list_project(saved: list[SavedFlow]) -> list[SavedFlow]:
    """Return the flows in the working directory and its flows/, named by their paths, except those that are `saved`."""
    known = {os.path.realpath(each.file) for each in saved}
    found = [file for folder in ("./", "flows/") for file in sorted(glob(f"{folder}*{SUFFIX}"))]
    return [_read(file, file) for file in found if os.path.realpath(file) not in known]


def readable(saved: list[SavedFlow], program: str) -> list[SavedFlow]:
    """Return the readable flows; print on stderr the faults of the others."""
    for each in saved:
        if each.fault:
            say(program, each.fault)
    return [each for each in saved if not each.fault]


def find_saved(name: str) -> str:
    """Return the file of a saved flow. Raises PflowError (127) if no flow has the name."""
    file = saved_flow(name)
    if file is None:
        raise no_saved_flow(name)
    return file


def check_is_own(file: str, act: str, hint: str = "") -> None:
    """Raise PflowError (77) for a pack's flow: only an update of the pack may change it."""
    if pack := pack_of(os.path.abspath(file)):
        whole = f"pflow uninstall {pack.name} removes the whole pack" if pack.tree else "its Python package has it"
        raise PflowError(f"{act}: it is a flow of the pack '{pack.name}'", hint=hint or whole, exit=DENIED)


def read_saved(name: str) -> SavedFlow:
    """Read one saved flow. Raises PflowError (127) if no flow has the name."""
    file = find_saved(name)
    return _read(name_of(file), file)


def name_of(file: str) -> str:
    return flow_name(os.path.basename(file))


def check_name(name: str) -> None:
    """Raise PflowError (65) for a name that no saved flow may have, or that pflow itself uses."""
    act = f"cannot call a flow '{shorten(name)}'"
    if not is_node_name(name):
        raise PflowError(act, hint="a name has letters, digits, - and _: fix-issue", exit=BAD_DATA)
    if len(name) > LONGEST:
        raise PflowError(f"{act}: it has {len(name)} letters", hint=f"a name has at most {LONGEST}", exit=BAD_DATA)
    if plain(name).startswith("pflow") and name[5:6] in ("", "-", "_"):
        hint = f"its name is what follows pflow-: {name[6:]}" if name[6:] else "choose another name"
        raise PflowError(act, hint=hint, exit=BAD_DATA)
    own = {"command": [*names_in("commands"), "flow"], "node": names_in("nodes"), "tool": names_in("store_commands")}
    for kind, names in own.items():
        if plain(name) in map(plain, names):
            raise PflowError(f"{act}: a {kind} of pflow's has this name", hint="choose another name", exit=BAD_DATA)


def flows_folder() -> str:
    """Return the directory of saved flows. Raises PflowError (78) if the environment names no directory."""
    return needed_directory("flows", "saved flows")


def file_for(name: str) -> str:
    """Return the file of the user's own flow of this name, which may be missing."""
    return registry.own_flow(name) or os.path.join(flows_folder(), name + SUFFIX)


def saved_name(type: str, directory: str) -> str:
    """Return the name of the saved flow in a step's type, which is `flow:NAME` or a path from `directory`; else ""."""
    if type.startswith("flow:"):
        return type.removeprefix("flow:")
    folder, file = os.path.split(os.path.abspath(os.path.join(directory, type)))
    return flow_name(file) if folder == os.path.abspath(flows_folder()) else ""


def users_of(name: str) -> list[SavedFlow]:
    """Return the saved flows that have this one as a step."""
    saved = [(user, [saved_name(type, os.path.dirname(user.file)) for type in user.types]) for user in list_saved()]
    return [user for user, names in saved if plain(name) in map(plain, names)]


def _read(name: str, file: str) -> SavedFlow:
    act = f"cannot read the flow '{file}'"
    if not name.isprintable():  # neither a list nor a model's prompt can show such a name
        return SavedFlow(name, file, fault=f"{act}: its name has characters that cannot be shown")
    if os.path.lexists(file) and not os.path.isfile(file):  # opening a FIFO would wait for its writer
        what = "not a file" if os.path.exists(file) else "a link to nowhere"
        return SavedFlow(name, file, fault=f"{act}: it is {what}")
    try:
        flow = load_file(file)
        if flow.findings:
            return SavedFlow(name, file, fault=f"{act}: {flow.findings[0]}")
        ir = flow_to_ir(flow)
    except PflowError as error:
        return SavedFlow(name, file, fault=error.message)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return SavedFlow(name, file, fault=f"{act}: {in_words(error)}")
    types = [step.type for step in flow.steps]
    return SavedFlow(name, file, ir.get("description", ""), ir.get("inputs", {}), ir.get("outputs", {}), types)


@dataclass
class SaveResult:
    """The result of saving: the flow's `file`, the file of the replaced version (`old`), and notes for the user.

    `is_changed` is False if the same flow was saved already.
    """

    file: str
    old: str | None
    notes: list[str]
    is_changed: bool = True

    @property
    def name(self) -> str:
        """The flow's name, spelled as in its first version."""
        return name_of(self.file)


class AlreadySaved(PflowError):
    """Another flow has the name (73); saving with `replace` would replace it."""


def save_flow(name: str, flow: FlowSpec, *, replace: bool = False) -> SaveResult:
    """Save a flow that the caller has checked; `flow` itself is not changed.

    Raises PflowError: 65 for a bad name, a secret in the flow, and a flow that would contain itself; AlreadySaved (73)
    for another flow of the name without `replace`; 73, 77 and 78 if it cannot be written.
    """
    check_name(name)
    act = f"cannot save '{name}'"
    with lock_folder(flows_folder(), act):
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
    """Save a checked flow into the directory of a pack that the user is writing. Raises as `save_flow`."""
    check_name(name)
    act, flows = f"cannot save '{name}'", os.path.join(folder, "flows")
    there = result_of(os.listdir, flows, otherwise=[])
    name = next((known for each in there if plain(known := flow_name(each)) == plain(name)), name)
    file = os.path.join(flows, name + SUFFIX)
    saved, notes = portable(flow, name, file, pack=folder)
    data = _encoded(saved, act)
    with Attempt(act, file_failure):
        before = Path(file).read_bytes() if os.path.lexists(file) else None
        if before not in (None, data) and not replace:
            raise AlreadySaved(f"{act}: '{file}' is another flow", hint="--force replaces it", exit=CANNOT_WRITE)
        write_file(file, data)
    return SaveResult(file, None, notes, is_changed=before != data)


def remove_flow(name: str) -> str:
    """Remove a saved flow, and return the file of its old version. Raises PflowError (127, 73, 77)."""
    with lock_folder(flows_folder(), f"cannot remove '{name}'"):
        file = find_saved(name)
        old = _keep_old(name_of(file), Path(file).read_bytes())
        os.unlink(file)
        with suppress(OSError):
            os.unlink(lock_of(file))
        return old


def older_versions(name: str) -> list[str]:
    """Return the files of a name's older versions, oldest first."""
    folder = os.path.join(data_directory("flows") or "", "old")
    files = os.listdir(folder) if os.path.isdir(folder) and os.path.isabs(folder) else []
    matches = [match for match in map(_OLD.fullmatch, files) if match and plain(match["name"]) == plain(name)]
    return [os.path.join(folder, match[0]) for match in sorted(matches, key=lambda match: int(match["number"]))]


def file_failure(act: str, error: OSError) -> PflowError:
    """Return the failure of `act`, which names a file."""
    return PflowError(f"{act}: {reason_with_file(error)}", exit=not_written(act, error).exit)


@contextmanager
def lock_folder(folder: str, act: str) -> Iterator[None]:
    """Lock a directory of saved flows, so that other processes wait. Raises PflowError (73, 77) for any OSError."""
    with Attempt(act, file_failure):
        make_private(folder)
        with Opened(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
            take_turn(fd)
            yield


def _keep_old(name: str, data: bytes) -> str:
    """Keep a flow's content as an old version, unless the newest one is the same; return its file. Raises OSError."""
    before = older_versions(name)
    with suppress(OSError):
        if before and Path(before[-1]).read_bytes() == data:
            return before[-1]
    folder = os.path.join(flows_folder(), "old")
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
    """Return the flow under its new name, with paths to its subflows that work from everywhere, and notes for the user.

    `file` is the flow's future file. The paths are absolute, or in a `pack` relative. Raises PflowError (65) for a
    secret in the flow, a flow that would contain itself, and a path that leads out of the pack.
    """
    wired = wire(flow)
    act = f"cannot save '{name}'"
    for place, remedy in literal_secrets(wired):
        what = f"'{place[-1]}' of '{place[1]}'" if len(place) > 3 else f"the default of the input '{place[1]}'"
        raise PflowError(f"{act}: {what} is a secret, and the flow contains it", hint=remedy, exit=BAD_DATA)
    subflows = [step.node_type.file for step in wired.all_steps() if isinstance(step.node_type, FlowType)]
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
    """Return a file's path relative to the pack's flows. Raises PflowError (65) for a file outside the pack."""
    path = os.path.relpath(os.path.realpath(file), os.path.realpath(os.path.join(pack, "flows")))
    if path.startswith("../") and not path.startswith("../nodes/"):
        hint = f"pflow save NAME {quote(file)} --to={quote(pack)} brings it"
        raise PflowError(f"{act} runs the flow '{file}', which is not in '{pack}'", hint=hint, exit=BAD_DATA)
    return path if is_flow_type(path) else f"./{path}"
