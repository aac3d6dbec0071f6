"""Choose the files of a pack from a directory or commit, within limits, and refuse links and clashing names."""

import errno
import os
import stat
from dataclasses import dataclass
from typing import NoReturn
from unicodedata import normalize

from pflow.catalog.registry import SUFFIX
from pflow.errors import BAD_DATA, Attempt, PflowError, shorten
from pflow.files.reading import Opened
from pflow.text.printable import clean

MOST, LARGEST, MOST_BYTES = 1_000, 8_000_000, 32_000_000
"""The most files and directories of a pack, the most bytes of a file, and of all files."""

_LONGEST_NAME, _LONGEST_PATH = 200, 800
"""The most bytes of a name and of a path: every file system takes these below the directory of packs."""

_FOLDERS, _TEXTS = ("nodes", "flows"), ("README", "LICENSE")
_LFS = b"version https://git-lfs.github.com/spec/"
_OUTSIDE = {"", ".", ".."}
_MAY_RUN = 0o100
_SPECIAL = {stat.S_IFLNK: "is a link", 0o160000: "is a submodule"}


@dataclass(frozen=True)
class PackFile:
    data: bytes
    is_program: bool


class Contents:
    """Chooses the files of a pack. Modes are those of stat(2); `act` begins the error messages."""

    def __init__(self, act: str) -> None:
        self.act = act
        self.files: dict[str, PackFile] = {}
        self._paths: dict[str, str] = {}
        self._size = 0

    def roots(self, modes: dict[str, int]) -> dict[str, str]:
        """Return the entries of the top directory that belong to the pack, each with its path in the pack.

        Raises PflowError (65) if there is neither nodes/ nor flows/, nor a single file that is a node or flow.
        """
        files = [name for name, mode in modes.items() if not (stat.S_ISDIR(mode) or name.startswith("."))]
        found = [name for name in modes if name in _FOLDERS]
        nodes = [name for name in files if name.endswith((".py", SUFFIX)) or name.startswith("pflow-")]
        if not found and len(nodes) != 1:
            hint = "a pack has nodes/ or flows/, or is one node or flow: see docs/sharing.md"
            raise PflowError(f"{self.act}: it has neither nodes/ nor flows/", hint=hint, exit=BAD_DATA)
        singles = {} if found else {name: f"{'flows' if name.endswith(SUFFIX) else 'nodes'}/{name}" for name in nodes}
        return {name: name for name in {*found, *(each for each in files if each.startswith(_TEXTS))}} | singles

    def admits(self, path: str, mode: int, size: int) -> bool:
        """Return True for a file of the pack, False for a directory or a file that is left out.

        Raises PflowError (65) for a file that no pack may have.
        """
        parts = path.split("/")
        if _OUTSIDE & {*parts}:
            self._refuse(path, "leads out of it")
        if path.endswith(".pyc") or any(part.startswith(".") or part == "__pycache__" for part in parts):
            return False
        if not path.isprintable():
            self._refuse(path, "has control characters in its name, or is not UTF-8")
        if len(path.encode()) > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_NAME for part in parts):
            self._refuse(path, "has too long a name")
        # Some file systems treat names as one that differ only in case or in how an umlaut is encoded. There, one file
        # would overwrite another that was shown and checked.
        other = self._paths.setdefault(normalize("NFKC", normalize("NFKC", path).casefold()), path)
        if other != path:
            self._refuse(path, f"and '{other}' are the same name on some systems")
        if len(self._paths) > MOST:
            raise PflowError(f"{self.act}: it has more than {MOST:,} files and directories", exit=BAD_DATA)
        if stat.S_ISDIR(mode):
            return False
        if not stat.S_ISREG(mode) or path in _FOLDERS:
            self._refuse(path, _SPECIAL.get(stat.S_IFMT(mode), "is not a regular file"))
        self._size += size
        if size > LARGEST or self._size > MOST_BYTES:
            least = f"it has more than {LARGEST:,} bytes" if size > LARGEST else f"all have more than {MOST_BYTES:,}"
            self._refuse(path, f"is too large: {least}")
        return True

    def add(self, path: str, mode: int, data: bytes) -> None:
        """Take an admitted file."""
        if data.startswith(_LFS) and "/" in path:
            self._refuse(path, "is a pointer of Git LFS, not the file itself")
        self.files[path] = PackFile(data, bool(mode & _MAY_RUN))

    def _refuse(self, path: str, why: str) -> NoReturn:
        raise PflowError(f"{self.act}: '{shorten(clean(path), 120)}' {clean(why)}", exit=BAD_DATA)


def read_place(place: str, directory: str, act: str) -> dict[str, PackFile]:
    """Read a pack from a directory, or a single file, without following a link in it.

    Raises PflowError: 65 for a file that no pack may have; 66 and 77 if the place cannot be read.
    """
    contents, top = Contents(act), os.path.join(place, directory) if directory else place
    if os.path.realpath(top) != top:
        raise PflowError(f"{act}: '{clean(directory)}' is a link, or in one", exit=BAD_DATA)
    with Attempt(act):
        top, names = (top, os.listdir(top)) if os.path.isdir(top) else (os.path.dirname(top), [os.path.basename(top)])
        with Opened(os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
            modes = {name: os.lstat(os.path.join(top, name)).st_mode for name in names}
            for name, path in contents.roots(modes).items():
                _take(contents, fd, name, path)
                if stat.S_ISDIR(modes[name]):
                    _walk(contents, fd, name)
    return dict(sorted(contents.files.items()))


def _walk(contents: Contents, fd: int, root: str) -> None:
    for path, folders, files, folder in os.fwalk(root, dir_fd=fd, onerror=_fail):
        folders[:] = [name for name in sorted(folders) if name[0] != "." and name != "__pycache__"]
        for name in folders + sorted(files):
            _take(contents, folder, name, f"{path}/{name}")


def _take(contents: Contents, folder: int, name: str, path: str) -> None:
    about = os.lstat(name, dir_fd=folder)
    if not contents.admits(path, about.st_mode, about.st_size):
        return
    # Between lstat and open, somebody may put a link or a pipe in its place.
    with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
        if not os.path.samestat(about, os.fstat(file.fileno())):
            raise OSError(errno.ESTALE, "it changes while it is read", path)
        contents.add(path, about.st_mode, file.read(about.st_size))


def _fail(error: OSError) -> NoReturn:
    raise error
