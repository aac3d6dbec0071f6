"""Write lock files of packs, and read a project's: pflow-packs.lock, which is committed with the project."""

import os
from collections.abc import Iterable

from pflow.catalog.packs import MARK, VERSION, Pack, read_packs
from pflow.errors import BAD_CONFIG, DENIED, MISSING, Attempt, PflowError, not_written
from pflow.files.atomic import replace
from pflow.packs.address import Address
from pflow.packs.source import Fetched, fetch
from pflow.text.printable import clean
from pflow.values.digest import bytes_digest
from pflow.values.fast_json import write_json

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

    A directory below this one is recorded by its relative path, because a colleague has the project elsewhere.
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
    """Return the address of a pinned pack. Raises PflowError (2, 77) for one that git must not be given."""
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
