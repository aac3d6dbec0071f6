"""Which files of a directory have changed since it was looked at."""

import os
from collections.abc import Iterator

from pflow.errors import PflowError
from pflow.kit.git.program import Git
from pflow.values.jsontext import text_or_bytes

_State = tuple[int, int, int]


class Snapshot:
    """The files below a directory, and when and how each was last written.

    In a git repository those that it ignores do not count, nor anywhere what is in a directory .git.
    """

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.states = {name: state for name in _names(directory) if (state := state_of(directory, name))}

    def changed_files(self) -> list[str | bytes]:
        """Those that are new, written or gone by now, as they are reached from our working directory."""
        now = Snapshot(self.directory).states
        names = sorted(name for name in {*self.states, *now} if self.states.get(name) != now.get(name))
        paths = (os.path.normpath(os.path.join(self.directory, name)) for name in names)
        return [text_or_bytes(os.fsencode(path)) for path in paths]


def state_of(directory: str, name: str) -> _State | None:
    """What changes when a file does; None where there is none."""
    try:
        found = os.lstat(os.path.join(directory, name))
    except (OSError, ValueError):
        return None
    return found.st_mode, found.st_size, found.st_mtime_ns


def _names(directory: str) -> Iterator[str]:
    try:
        git = Git(directory, "list files", reads=True)
        listed = git.run("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except PflowError:  # it is no repository, or there is no git
        for folder, folders, files in os.walk(directory):
            folders[:] = [name for name in folders if name != ".git"]
            yield from (os.path.relpath(os.path.join(folder, name), directory) for name in files)
        return
    yield from map(os.fsdecode, filter(None, listed.split(b"\0")))
