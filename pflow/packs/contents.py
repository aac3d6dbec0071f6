"""The files of a pack: which of a directory or commit they are, within limits, without links or clashing names."""

import errno
import os
import stat
from dataclasses import dataclass
from typing import NoReturn
from unicodedata import normalize

from pflow.catalog.registry import SUFFIX
from pflow.errors import BAD_DATA, Attempt, PflowError, shorten
from pflow.files.reading import Opened
from pflow.terminal.messages import say
from pflow.words.printable import clean, counted

MOST, LARGEST, MOST_BYTES = 1_000, 8_000_000, 32_000_000
"""How many files and directories a pack may have, and how many bytes: each file, and all of them."""

_LONGEST_PART, _LONGEST_PATH = 200, 800
"""Bytes of a name and of a path, which a system takes below the directory of packs."""

_TEXTS = ("README", "LICENSE")
_POINTER = b"version https://git-lfs.github.com/spec/"
_SUBMODULE = 0o160000
_IS_PROGRAM = 0o100


@dataclass(frozen=True)
class PackFile:
    data: bytes
    is_program: bool


class Contents:
    """Chooses the files of a pack; `act` begins the errors."""

    def __init__(self, act: str) -> None:
        self.act = act
        self.files: dict[str, PackFile] = {}
        self.paths: dict[str, str] = {}
        self.size = 0
        self.left_out: list[str] = []

    def roots(self, modes: dict[str, int]) -> dict[str, str]:
        """Return which entries of the top directory belong to the pack, and the path of each in it.

        Raises PflowError (65) if there is neither nodes/ nor flows/, nor a single file that is a node or flow.
        """
        texts = {name: name for name in modes if name.startswith(_TEXTS) and not stat.S_ISDIR(modes[name])}
        folders = {name: name for name in modes if name in ("nodes", "flows")}
        singles = [name for name, mode in modes.items() if not folders and _is_single(name, mode)]
        if not folders and len(singles) != 1:
            hint = "a pack has nodes/ or flows/, or is one node or flow: see docs/sharing.md"
            why = f"it has {len(singles)} nodes and flows at its top" if singles else "it has no nodes and no flows"
            raise PflowError(f"{self.act}: {why}", hint=hint, exit=BAD_DATA)
        for name in folders:
            if stat.S_ISREG(modes[name]):
                self.refuse(name, "is not a directory")
        return texts | (folders or {name: _place_of(name) for name in singles})

    def admits(self, path: str, mode: int, size: int) -> bool:
        """Return True for a file of the pack; False for a directory, and for what is left out.

        Raises PflowError (65) for what no pack may have, hidden or not.
        """
        parts = path.split("/")
        if {"", ".", ".."} & {*parts}:
            self.refuse(path, "leads out of it")
        if path.endswith(".pyc") or any(part.startswith(".") or part == "__pycache__" for part in parts):
            return False
        if not path.isprintable():
            self.refuse(path, "has control characters in its name, or is not UTF-8")
        if len(path.encode()) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_PART for part in parts):
            self.refuse(path, "has too long a name")
        # Some file systems take names for the same that differ in case only, or in how an umlaut is encoded.
        other = self.paths.setdefault(normalize("NFKC", normalize("NFKC", path).casefold()), path)
        if other != path or len(self.paths) > MOST:
            self.check_count(len(self.paths))
            self.refuse(path, f"and '{clean(other)}' are the same name on some systems")
        if stat.S_ISLNK(mode) or mode == _SUBMODULE:
            self.refuse(path, "is a link" if stat.S_ISLNK(mode) else "is a submodule")
        return not stat.S_ISDIR(mode) and self._admits_file(path, mode, size)

    def _admits_file(self, path: str, mode: int, size: int) -> bool:
        if not stat.S_ISREG(mode):
            self.refuse(path, "is not a regular file")
        if path.startswith("flows/") and not path.endswith(SUFFIX):
            self.left_out.append(path)
            return False
        self.size += size
        if size > LARGEST:
            self.refuse(path, f"has more than {LARGEST:,} bytes")
        if self.size > MOST_BYTES:
            raise PflowError(f"{self.act}: it has more than {MOST_BYTES:,} bytes", exit=BAD_DATA)
        return True

    def check_count(self, number: int) -> None:
        if number > MOST:
            raise PflowError(f"{self.act}: it has more than {MOST:,} files and directories", exit=BAD_DATA)

    def add(self, path: str, mode: int, data: bytes) -> None:
        """Take an admitted file."""
        if data.startswith(_POINTER) and "/" in path:
            self.refuse(path, "is a pointer of Git LFS, not the file itself")
        self.files[path] = PackFile(data, bool(mode & _IS_PROGRAM))

    def finish(self) -> dict[str, PackFile]:
        """Return the files by path. Raises PflowError (65) if there are only texts."""
        if not any("/" in path for path in self.files):
            raise PflowError(f"{self.act}: it has no nodes and no flows", exit=BAD_DATA)
        if self.left_out:
            number = counted(len(self.left_out), "file")
            say("warning", f"left out {number} in flows/ that {'is' if number[:2] == '1 ' else 'are'} not *{SUFFIX}")
        return {path: self.files[path] for path in sorted(self.files)}

    def refuse(self, path: str, why: str) -> NoReturn:
        raise PflowError(f"{self.act}: '{shorten(clean(path), 120)}' {why}", exit=BAD_DATA)


def _is_single(name: str, mode: int) -> bool:
    is_node = name.endswith((".py", SUFFIX)) or name.startswith("pflow-")
    return is_node and not name.startswith(".") and not stat.S_ISDIR(mode)


def _place_of(name: str) -> str:
    return f"{'flows' if name.endswith(SUFFIX) else 'nodes'}/{name}"


def read_place(place: str, directory: str, act: str) -> dict[str, PackFile]:
    """Read a pack from a directory, or a single file, without following a link in it.

    Raises PflowError: 65 for what no pack may have; 66 and 77 if it cannot be read.
    """
    contents, top = Contents(act), os.path.join(place, directory) if directory else place
    if os.path.realpath(top) != top:
        contents.refuse(directory or place, "is a link, or in one")
    with Attempt(act):
        if not os.path.isdir(top):
            top, name = os.path.split(top)
            modes = {name: os.lstat(os.path.join(top, name)).st_mode}
        else:
            with os.scandir(top) as entries:
                modes = {entry.name: entry.stat(follow_symlinks=False).st_mode for entry in entries}
        with Opened(os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
            for name, path in contents.roots(modes).items():
                _take(contents, fd, name, path)
                if stat.S_ISDIR(modes[name]):
                    _walk(contents, fd, name)
    return contents.finish()


def _walk(contents: Contents, fd: int, root: str) -> None:
    for path, folders, files, folder in os.fwalk(root, dir_fd=fd, onerror=_fail):
        for name in sorted(folders + files):
            is_left_out = not _take(contents, folder, name, f"{path}/{name}")
            if is_left_out and name in folders and (name[0] == "." or name == "__pycache__"):
                folders.remove(name)


def _take(contents: Contents, folder: int, name: str, path: str) -> bool:
    about = os.lstat(name, dir_fd=folder)
    if not contents.admits(path, about.st_mode, about.st_size):
        return False
    with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
        if not os.path.samestat(about, os.fstat(file.fileno())):
            raise OSError(errno.ESTALE, "it changes while it is read", path)
        contents.add(path, about.st_mode, file.read(about.st_size))
    return True


def _fail(error: OSError) -> NoReturn:
    raise error
