"""Install and remove packs, and pin them for a project. A change is atomic; the next one removes what a kill left.

The lock file decides which packs are installed. A pack's files are put in place before the lock file names them, and
removed after it names them no more. The executables of nodes are made last and removed first, so each has its node.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from pflow.catalog.find import NodeType, find_node, forget_types, is_node_name, nodes_of
from pflow.catalog.packs import (
    MARK,
    VERSION,
    Pack,
    faults_of,
    installed_distributions,
    installed_packs,
    lock_file,
    packs_directory,
    read_packs,
)
from pflow.catalog.registry import flows_of, names_in, saved_flow
from pflow.errors import (
    BAD_CONFIG,
    BAD_DATA,
    CANNOT_WRITE,
    DENIED,
    MISSING,
    NOT_FOUND,
    TRY_AGAIN,
    Attempt,
    PflowError,
    not_written,
    result_of,
    shorten,
)
from pflow.files.atomic import move, replace
from pflow.files.directories import make_private, required_directory
from pflow.files.reading import Opened
from pflow.packs.account import declare, name_key, owners
from pflow.packs.address import Address, parse_address
from pflow.packs.source import Fetched, fetch
from pflow.process.signals import Interrupted, catch_signals, die_of, stop_catching
from pflow.saved_flows.executables import (
    Script,
    executables_of,
    make_executable,
    pack_script,
    path_fault,
    remove_executables,
)
from pflow.saved_flows.saved import LONGEST, file_failure, lock_folder
from pflow.text.printable import clean
from pflow.values.digest import bytes_digest
from pflow.values.fast_json import write_json

_STAGING = ".staging-"


@dataclass
class Staged:
    """A pack that is ready to be installed. Its files are in a staging `folder`; if that is empty, they are in place.

    `before` is the installed version. `left_out` has each path that will not be installed, with the reason.
    """

    pack: Pack
    folder: str
    before: Pack | None
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def is_new(self) -> bool:
        """True if the pack is not installed, or is installed with other files."""
        before = self.before
        return before is None or before.tree != self.pack.tree or before.files.keys() != self.pack.files.keys()


@contextmanager
def staging(act: str) -> Iterator[str]:
    """Yield a new staging directory. A lock on it keeps other processes from clearing it."""
    try:
        catch_signals()
        with changing(act):
            folder = tempfile.mkdtemp(prefix=_STAGING, dir=packs_directory())
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            with Opened(fd), Attempt(act, file_failure):
                yield folder
        finally:
            with changing(act):  # at its end it removes the staging directory, whose lock we have released
                stop_catching()
    except Interrupted as interrupted:
        die_of(interrupted.signal)


def stage_new(text: str, name: str, folder: str) -> Staged:
    """Stage the pack at an address. Raises PflowError: 73 if another pack or version of this name is installed."""
    address = parse_address(text)
    name = name or address.name
    before = _check_name(name, address)
    fetched = fetch(address)
    if before and before.tree != fetched.tree:
        hint = f"pflow update {name}" + f"@{address.asked}" * bool(address.asked)
        why = f"cannot install '{name}': its version {before.version} is installed"
        raise PflowError(why, hint=hint, exit=CANNOT_WRITE)
    return stage(name, fetched, folder)


def stage_frozen(folder: str) -> list[Staged]:
    """Stage the packs that the project's lock file pins. Raises PflowError: 73 as `stage_new`, 78 for other files."""
    staged = []
    for name, pinned in read_project().items():
        before = _check_name(name, address_of(pinned))
        if before and not (Staged(pinned, "", before).is_new or faults_of(before)):
            staged.append(Staged(before, "", before))
            continue
        staged.append(stage(name, fetch_exact(pinned), folder, pinned))
    _check_owners(staged, installed_packs())
    return staged


def names_taken(staged: Staged, packs: Iterable[Pack]) -> dict[str, str]:
    """Return the paths of nodes and flows whose name another pack already has, each with that owner.

    The pack that was installed first keeps the name. If the order of packs' names decided, a new pack could replace a
    trusted node.
    """
    theirs = owners(each for each in packs if each.name != staged.pack.name)
    own = owners([staged.before] if staged.before else [])
    files = [(path, about["declares"]) for path, about in staged.pack.files.items() if about.get("declares")]
    keys = {path: name_key(each["kind"], each["name"]) for path, each in files}
    return {path: theirs[key] for path, key in keys.items() if key in theirs and key not in own}


def _check_owners(staged: Sequence[Staged], packs: dict[str, Pack]) -> None:
    """Raise PflowError (73) if a node or flow has a name that another pack has."""
    for each in staged:
        for path, why in names_taken(each, packs.values()).items():
            raise PflowError(f"cannot install '{path}' of '{each.pack.name}': {why}", exit=CANNOT_WRITE)


def stage(name: str, fetched: Fetched, folder: str, pinned: Pack | None = None) -> Staged:
    """Put a fetched pack into a staging directory; of a `pinned` pack, only the files that it pins count.

    Raises PflowError (65) if it has no node and no flow.
    """
    paths = [path for path in fetched.files if not pinned or path in pinned.files]
    files: dict[str, dict[str, Any]] = {path: {"digest": bytes_digest(fetched.files[path].data)} for path in paths}
    folder = os.path.join(folder, name)
    fetched.put(folder)
    declared = declare(folder, paths)
    if not declared:
        hint = "a pack has them in nodes/ and flows/; #DIR behind the address names another directory"
        raise PflowError(f"cannot install '{name}': it has no node and no flow", hint=hint, exit=BAD_DATA)
    for path, about in declared.items():
        files[path]["declares"] = about
    address = fetched.address
    pack = Pack(name, address.place, address.asked, address.directory, fetched.commit, fetched.tree, files)
    return Staged(pack, folder, installed_packs().get(name))


def _check_name(name: str, address: Address) -> Pack | None:
    """Return the installed pack of this name. Raises PflowError: 65 for a bad name, 73 if it has another address."""
    if not (is_node_name(name.replace(".", "-")) and len(name) <= LONGEST):
        hint = "--name=NAME gives it one, of letters, digits, - and _"
        raise PflowError(f"cannot call a pack '{shorten(name)}'", hint=hint, exit=BAD_DATA)
    before = installed_packs().get(name)
    if before and (before.address, before.directory) != (address.place, address.directory):
        why = f"cannot install '{name}': the pack of this name is from '{before.address}'"
        hint = f"--name=NAME gives this one another name, and pflow uninstall {name} takes that one away"
        raise PflowError(why, hint=hint, exit=CANNOT_WRITE)
    return before


def commit(staged: Sequence[Staged], act: str) -> list[str]:
    """Install packs, all or none; return notes about their executables.

    Raises PflowError (73, 77, 78; 75 if another process has changed one of them since it was staged).
    """
    with changing(act) as packs:
        for each in staged:
            now, name = packs.get(each.pack.name), each.pack.name
            if now and now.tree not in (each.pack.tree, each.before and each.before.tree):
                why = f"{act}: another process has changed '{name}' meanwhile"
                raise PflowError(why, hint="try again", exit=TRY_AGAIN)
            if each.folder:
                _put(each)
        _check_owners(staged, packs | {each.pack.name: each.pack for each in staged})
        _replace(packs, packs | {each.pack.name: each.pack for each in staged}, act)
        return [note for each in staged for note in make_commands(each.pack)]


def uninstall(names: Iterable[str]) -> dict[str, Pack]:
    """Remove packs, all or none; return them by name. Raises PflowError (127 for an unknown one)."""
    act = "cannot uninstall"
    with changing(act) as packs:
        gone = {name: find_pack(name, packs, "uninstall") for name in names}
        _replace(packs, {name: pack for name, pack in packs.items() if name not in gone}, act)
    return gone


def find_pack(name: str, packs: dict[str, Pack], act: str) -> Pack:
    """Return an installed pack. Raises PflowError (127) if no pack, or only a Python distribution, has the name."""
    if name not in packs:
        if name in [each.name for each in installed_distributions()]:
            hint = f"pip {act.replace('update', 'install --upgrade')} {name}"
            raise PflowError(f"cannot {act} '{name}': it is a Python package", hint=hint, exit=NOT_FOUND)
        hint = "installed: " + ", ".join(packs) if packs else "pflow install ADDRESS installs one"
        raise PflowError(f"cannot {act} '{name}': no such pack is installed", hint=hint, exit=NOT_FOUND)
    return packs[name]


def nodes_found(pack: Pack) -> list[NodeType]:
    """Return the nodes of a pack that their names find, because no other node shadows them."""
    return [each for each in nodes_of(pack) if (found := find_node(each.name)) and found.file == each.file]


def make_commands(pack: Pack) -> list[str]:
    """Make an executable for each node that its name finds; return warnings about PATH and about failures."""
    notes, made = [], ""
    for node_type in nodes_found(pack):
        try:
            script = _script(pack, node_type)
            made = made if executables_of(node_type.name, script) else make_executable(node_type.name, script)
        except PflowError as error:
            notes.append(f"warning: {error.message}; pflow {node_type.name} works all the same")
    if made and (fault := path_fault(os.path.dirname(made))):
        notes.append(f"{fault}; in flows, and as pflow NODE, the nodes work")
    return notes


def _script(pack: Pack, node_type: NodeType) -> Script:
    return pack_script(pack.name, node_type.file.removeprefix(f"{pack.folder}/"), node_type.name)


def how_to_run(pack: Pack) -> list[str]:
    """Return the commands that run the nodes and flows of an installed pack, if their names find them."""
    names = [node_type.name for node_type in nodes_found(pack)]
    nodes = [f"pflow-{name}" if name in names_in("commands") else f"pflow {name}" for name in names]
    return nodes + [f"pflow run flow:{name}" for name, file in flows_of(pack).items() if saved_flow(name) == file]


@contextmanager
def changing(act: str) -> Iterator[dict[str, Pack]]:
    """Lock the packs and yield the installed ones. At the end, remove the files that the lock file does not name."""
    folder = required_directory(packs_directory(), act, "XDG_DATA_HOME")
    data = os.path.dirname(folder)
    # The lock is on the directory above: our own directory goes with the last pack, while others wait for the lock.
    with lock_folder(os.path.dirname(data), act):
        make_private(folder)
        forget_types()
        try:
            yield dict(installed_packs())
        finally:
            forget_types()
            with suppress(PflowError):
                _clear(folder, installed_packs())
            with suppress(OSError):
                os.rmdir(folder)
                os.rmdir(data)


def _put(staged: Staged) -> None:
    """Move the files of a pack into place, and sync them to disk. Raises OSError."""
    place = staged.pack.folder
    for path in staged.pack.files:
        os.makedirs(os.path.dirname(os.path.join(place, path)), 0o700, exist_ok=True)
        os.rename(os.path.join(staged.folder, path), os.path.join(place, path))
    written = [os.path.join(folder, name) for folder, _, names in os.walk(place) for name in ("", *names)]
    for each in (*written, os.path.dirname(place), packs_directory() or ""):
        with Opened(os.open(each, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)) as fd:
            os.fsync(fd)


def _replace(before: dict[str, Pack], after: dict[str, Pack], act: str) -> None:
    """Remove the executables of removed nodes, then replace the lock file, or remove it if no pack is left.

    Raises OSError.
    """
    for name, pack in before.items():
        later = after.get(name)
        kept = [_script(later, node_type) for node_type in nodes_of(later)] if later else []
        for node_type in nodes_of(pack):
            if (script := _script(pack, node_type)) not in kept:
                remove_executables(node_type.name, script)
    file = required_directory(lock_file(), act, "XDG_DATA_HOME")
    if after:
        draft = os.path.join(packs_directory() or "", ".lock")  # where `_clear` finds it if we are killed here
        replace(draft, lock_text(after), mode=0o600)
        move(draft, file)
    else:
        os.unlink(file)
    forget_types()


def _clear(place: str, packs: dict[str, Pack]) -> None:
    """Remove all that the lock file does not name, except staging directories in use."""
    versions = {pack.folder for pack in packs.values()}
    kept = {*versions, *map(os.path.dirname, versions)}
    for folder in [place, *(kept - versions)]:
        for file in [os.path.join(folder, name) for name in result_of(os.listdir, folder, otherwise=[])]:
            if file not in kept:
                _remove(file)


def _remove(file: str) -> None:
    """Remove a file or directory if possible, unless another process has it locked for staging."""
    with suppress(OSError):
        if os.path.islink(file) or not os.path.isdir(file):
            os.unlink(file)
            return
        with Opened(os.open(file, os.O_RDONLY | os.O_DIRECTORY)) as fd:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError: another process is staging there
            shutil.rmtree(file, ignore_errors=True)


PROJECT_LOCK = "pflow-packs.lock"
"""The name of the project's lock file, in the working directory."""


def lock_text(packs: dict[str, Pack]) -> str:
    """Return the text of a lock file: canonical JSON, so that equal packs make equal files."""
    return write_json({MARK: VERSION, "packs": {name: pack.members() for name, pack in packs.items()}}, sort=True)


def read_project() -> dict[str, Pack]:
    """Read the packs of this directory's project. Raises PflowError: 66 without a lock file, 78 for a damaged one."""
    if not os.path.lexists(PROJECT_LOCK):
        hint = "pflow install --lock writes it"
        raise PflowError(f"cannot read '{PROJECT_LOCK}': no such file", hint=hint, exit=MISSING)
    packs = read_packs(PROJECT_LOCK, "restore it from your repository, or remove it, then pflow install --lock")
    for pack in packs.values():
        if pack.address.partition("/")[0] == ".":
            pack.address = os.path.realpath(pack.address)
    return packs


def recorded_before() -> dict[str, Pack]:
    """Return the packs in the project's lock file, if it exists. Raises PflowError: 78 as above, 77 if not writable."""
    if not os.access(".", os.W_OK | os.X_OK):
        raise PflowError(f"cannot write '{PROJECT_LOCK}': permission denied", exit=DENIED)
    return read_project() if os.path.lexists(PROJECT_LOCK) else {}


def write_project(packs: Iterable[Pack], done: str = "") -> None:
    """Record exactly these packs in this directory's lock file. Raises PflowError (73, 77); `done` begins the message.

    A directory below this one is recorded by its relative path, because a colleague's copy of the project is elsewhere.
    """
    known, here = {}, os.path.realpath(".")
    for pack in packs:
        members = pack.members()
        if members["address"] == here or members["address"].startswith(f"{here}/"):
            members["address"] = os.path.join(".", os.path.relpath(members["address"], here))
        known[pack.name] = Pack(pack.name, **members)
    with Attempt(f"{done}cannot write '{PROJECT_LOCK}'", not_written):
        replace(PROJECT_LOCK, lock_text(known))


def address_of(pack: Pack) -> Address:
    """Return the address of a pinned pack. Raises PflowError (2, 77) for an address that git must not get."""
    return Address(pack.address, pack.asked, pack.directory, is_git=bool(pack.commit))


def fetch_exact(pack: Pack) -> Fetched:
    """Fetch a pack exactly as it is pinned. Raises PflowError (78) if the files differ, and as `fetch` does."""
    fault = ""
    try:
        fetched = fetch(address_of(pack), pack.commit)
        digests = {path: bytes_digest(file.data) for path, file in fetched.files.items()}
        wrong = next((path for path, about in pack.files.items() if digests.get(path) != about.get("digest")), "")
        if wrong or (fetched.commit, fetched.tree) != (pack.commit, pack.tree):
            fault = f"'{clean(wrong)}' is not as it was pinned" if wrong else "its files are not those that were pinned"
    except PflowError as error:
        if error.exit != MISSING or not pack.commit:
            raise
        fault = f"its commit {pack.commit[:12]} is no longer at '{pack.address}'"
    if fault:
        hint = f"pflow install --lock, where it is installed as it should be, writes '{PROJECT_LOCK}' anew"
        raise PflowError(f"cannot install '{pack.name}': {fault}", hint=hint, exit=BAD_CONFIG)
    return fetched
