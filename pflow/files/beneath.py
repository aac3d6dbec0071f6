"""Paths beneath the allowed directories: the one module that opens the files which nodes and flows name.

Bounds are PFLOW_ROOT, or those of a plan under --yes. Without bounds the system resolves a path. Within bounds it is
walked here name by name, each directory opened below the one before and each link read and followed, so that no link
which another process makes meanwhile leads out.
"""

from __future__ import annotations

import errno
import os

from pflow import Any, Iterator, Sequence
from pflow.errors import DENIED, Ignoring, PflowError, reason_of, result_of, shorten

ROOT = "PFLOW_ROOT"
"""The variable that names the one directory that files must be in, as for calls of an MCP client."""

CONFINED = "PFLOW_CONFINED"
"""The variable that holds the `Bounds` of a run, as JSON: those of a plan under --yes."""

OWN = "pflow's or llm's own files are there"
"""The fault of a path that no run within bounds may write, whatever directories are allowed."""

# O_PATH, since a directory that we only pass through need not be readable.
_DIRECTORY = os.O_DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY)
_MOST_LINKS = 40


class Bounds:
    """The directories that a run's files must be in: `here`, except hidden names in it, and all `folders`.

    `here` may be None. The run must not write `programs`, the files that its steps start, nor anything below the
    directories in `shut`, which are pflow's and llm's own. All are real paths.
    """

    def __init__(
        self, here: str | None, folders: Sequence[str], programs: Sequence[str] = (), shut: Sequence[str] = ()
    ) -> None:
        self.here, self.folders, self.programs, self.shut = here, folders, programs, shut

    def fault_of(self, real: str, *, writes: bool = False) -> str:
        """Return why a real path is out of bounds; empty if it is allowed."""
        if writes and real in self.programs:
            return "a step of this run starts it"
        if writes and any(is_below(real, folder) for folder in self.shut):
            return OWN
        if any(is_below(real, folder) for folder in self.folders):
            return ""
        if self.here is None or not is_below(real, self.here):
            return "it is not below a directory that is allowed"
        return "it is hidden" if "/." in real[len(self.here) :] else ""


class Location:
    """A name in an open directory, which was reached by following every link; `real` is its path without links."""

    __slots__ = ("folder", "name", "real")

    def __init__(self, folder: int, name: str, real: str) -> None:
        self.folder, self.name, self.real = folder, name, real

    def __enter__(self) -> Location:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.folder)

    def status(self) -> os.stat_result:
        """Return the status of the file or link with this name. Raises OSError."""
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)

    def link(self) -> str | None:
        """Return the target of a link; None for anything else."""
        return _link_in(self.folder, self.name)


def is_confined() -> bool:
    """Return True if there are bounds."""
    return bool(os.environ.get(ROOT) or os.environ.get(CONFINED))


def locate(
    path: str, *, follow: bool = True, make: bool = False, writes: bool = True, is_own: bool = False
) -> Location:
    """Open the directory that holds a path; with `make`, make it if it is missing.

    With `follow` a link at the end of the path is followed too. Bounds do not apply to pflow's own files (`is_own`).
    Raises PflowError (77) for a path out of bounds, OSError.
    """
    if not is_own and is_confined():
        return _walk(path, follow=follow, make=make, writes=writes)
    real = os.path.realpath(path) if follow else path
    folder, name = os.path.split(real)
    if make:
        from pflow.files.directories import make_private

        make_private(folder or ".", 0o755 if is_own else 0o777)
    return Location(os.open(folder or ".", _DIRECTORY), name or ".", real)


def open_file(path: str, flags: int = os.O_RDONLY) -> int:
    """Open an existing file. Raises PflowError (77) for a path out of bounds, OSError."""
    if not is_confined():
        return os.open(path, flags)
    with locate(path, writes=bool(flags & (os.O_WRONLY | os.O_RDWR))) as place:
        return os.open(place.name, flags | os.O_NOFOLLOW, dir_fd=place.folder)


def status(path: str, *, follow: bool = True) -> os.stat_result:
    """Return the status of a file. Raises PflowError (77) for a path out of bounds, OSError."""
    if not is_confined():
        return os.stat(path, follow_symlinks=follow)
    with locate(path, follow=follow, writes=False) as place:
        return place.status()


def mode_of(path: str, *, follow: bool = True) -> int:
    """Return the mode of a file, with its type; 0 if it is missing or out of bounds."""
    return result_of(lambda: status(path, follow=follow).st_mode, of=(OSError, ValueError, PflowError), otherwise=0)


def check_link(old: Location, new: Location, path: str) -> None:
    """Refuse to move a link that would lead out of bounds from its new place. Raises PflowError (77)."""
    link = old.link()
    if link is not None and (fault := fault_of(os.path.join(os.path.dirname(new.real), link))):
        raise PflowError(f"cannot move '{shorten(path)}', a link to '{shorten(link)}': {fault}", exit=DENIED)


def _walk(path: str, *, follow: bool, make: bool, writes: bool) -> Location:
    names: list[str] = []
    todo = [*_parts(path), *([] if path.startswith("/") else _parts(os.getcwd()))]
    links, fd = 0, os.open("/", _DIRECTORY)

    def enter(name: str) -> None:
        nonlocal fd
        before, fd = fd, os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
        os.close(before)

    try:
        while True:
            name = todo.pop() if todo else "."
            if name == "..":
                todo += [*names[-2::-1], "/"]  # start again at the root: the directory may have been moved meanwhile
            elif name == "/":
                enter(name)
                names.clear()
            elif (todo or follow) and (link := _link_in(fd, name)) is not None:
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                todo += _parts(link)
            elif not todo:
                real = _joined(names, [name])
                _refuse(path, _fault_of_real(real, writes=writes))
                return Location(fd, name, real)
            else:
                if make and not _fault_of_real(_joined(names, [name])):
                    with Ignoring(FileExistsError):
                        os.mkdir(name, dir_fd=fd)
                enter(name)
                names += [name] * (name != ".")
    except BaseException as error:
        os.close(fd)
        if isinstance(error, OSError):
            _refuse(path, _fault_of_real(_joined(names, [name, *todo[::-1]])))
            error.filename = path
        raise


def _parts(path: str) -> list[str]:
    """Return the names in a path in reverse: . for a final slash, which asks for a directory, and / for the root."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    is_folder = path.endswith(("/", "/.", "/..")) or path in (".", "..")
    return ["."] * is_folder + parts[::-1] + ["/"] * path.startswith("/")


def _link_in(folder: int, name: str) -> str | None:
    return result_of(lambda: os.readlink(name, dir_fd=folder), otherwise=None)


def _joined(names: list[str], more: list[str]) -> str:
    return os.path.normpath("/" + "/".join([*names, *more]))


def _refuse(path: str, fault: str) -> None:
    if fault:
        hint = "--allow=DIR or --allow=paths allows it" if os.environ.get(CONFINED) else ""
        raise PflowError(f"cannot use '{shorten(path)}': {fault}", hint=hint, exit=DENIED)


def is_below(real: str, folder: str) -> bool:
    """Return True if a path is the folder or below it; both are real paths."""
    return real == folder or real.startswith(folder.rstrip("/") + "/")


def fault_of(path: str) -> str:
    """Return why a path is out of bounds once its links are followed; empty if it is allowed or there are no bounds."""
    if not is_confined():
        return ""
    try:
        return _fault_of_real(os.path.realpath(path))
    except ValueError:
        return "it contains NUL"
    except OSError as error:  # another process replaced a link while it was followed
        return reason_of(error)


def _fault_of_real(real: str, *, writes: bool = False) -> str:
    root, confined = os.environ.get(ROOT), os.environ.get(CONFINED)
    return (_fault_below_root(real, root) if root else "") or (
        bounds_of(confined).fault_of(real, writes=writes) if confined else ""
    )


def bounds_of(text: str) -> Bounds:
    """Return the bounds in the text of CONFINED."""
    import json

    return Bounds(**json.loads(text))


def _fault_below_root(real: str, root: str) -> str:
    """Return why a path is not allowed below the root; empty if it is.

    A client must not change which code runs here: not the hooks and settings in a .git, which may hold keys too, nor
    pflow's own nodes and flows.
    """
    from pflow.files.directories import pflow_directory

    top = os.path.realpath(root)
    if not is_below(real, top):
        return f"it is not below {root}"
    if ".git" in real[len(top) :].lower().split("/"):
        return "it belongs to git"
    data = pflow_directory("XDG_DATA_HOME", ".local/share")
    runs = [os.path.realpath(os.path.join(data, name)) for name in ("flows", "nodes")] if data else []
    return "pflow runs the files there" if any(is_below(real, folder) for folder in runs) else ""


def check_in_bounds(value: Any) -> None:
    """Refuse a path that is out of bounds, also in a list, before it is used. Raises PflowError (77)."""
    for path in paths_in(value):
        _refuse(path, fault_of(path))


def paths_in(value: Any) -> Iterator[str]:
    """Yield the paths in the value of a read or param that takes paths: the value itself, or those in its lists."""
    if isinstance(value, list):
        for each in value:
            yield from paths_in(each)
    elif isinstance(value, str | bytes) and value:
        yield os.fsdecode(value)
