"""The files that match a pattern, in one directory or at any depth below it."""

from __future__ import annotations

import os

from pflow import Callable, Iterator
from pflow.errors import reason_of
from pflow.files.directories import fault_of

_ANY_DEPTH = "**"
_KINDS: dict[str, Callable[[str], bool]] = {
    "files": os.path.isfile,
    "directories": os.path.isdir,
    "all": os.path.lexists,
}


def list_paths(
    pattern: str, directory: str, *, hidden: bool = False, kind: str = "files", is_told: bool = True
) -> list[str]:  # fmt: skip
    """Return the matching paths, sorted by their bytes. A directory that is left out is told on stderr if `is_told`.

    Raises OSError if `directory` cannot be listed.
    """
    os.scandir(directory).close()
    base = "" if directory == "." else os.path.join(directory, "")
    found = (base + path for path in _Search(base, pattern, hidden, is_told).run())
    return sorted(filter(_KINDS[kind], found), key=os.fsencode)


class _Search:
    """A walk below `base` along the segments of a pattern."""

    def __init__(self, base: str, pattern: str, hidden: bool, is_told: bool) -> None:
        self.base = base
        self.hidden = hidden
        self.is_told = is_told
        self.closed: set[str] = set()
        self.segments = [segment for segment in pattern.split("/") if segment]
        if self.segments and self.segments[-1] == _ANY_DEPTH:
            self.segments.append("*")

    def run(self) -> set[str]:
        """Return the matching paths, relative to the base."""
        todo, seen = [("", 0)], {("", 0)}
        while todo:
            path, matched = todo.pop()
            if matched < len(self.segments):
                new = set(self._steps(path, self.segments[matched], matched)) - seen
                seen |= new
                todo += new
        return {path for path, matched in seen if matched == len(self.segments)} - {""}

    def _steps(self, folder: str, segment: str, matched: int) -> Iterator[tuple[str, int]]:
        """Yield the paths that one more segment leads to, with the number of segments matched by then."""
        if fault := fault_of(self.base + folder or "."):
            self._leave_out(folder, fault)
        elif segment == _ANY_DEPTH:
            yield folder, matched + 1
            for entry in self._entries(folder):
                if self._shows(entry.name, "") and _is_folder(entry, follow=False):
                    yield os.path.join(folder, entry.name), matched
        elif not set(segment) & set("*?["):
            path = os.path.join(folder, segment)
            if os.path.lexists(self.base + path):
                yield path, matched + 1
        else:
            is_last = matched + 1 == len(self.segments)
            for entry in self._entries(folder):
                if self._shows(entry.name, segment) and (is_last or _is_folder(entry, follow=True)):
                    yield os.path.join(folder, entry.name), matched + 1

    def _shows(self, name: str, segment: str) -> bool:
        from fnmatch import fnmatchcase

        is_shown = self.hidden or not name.startswith(".") or segment.startswith(".")
        return is_shown and (not segment or fnmatchcase(name, segment))

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.base + folder or ".") as entries:
                return list(entries)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:  # list the rest
            self._leave_out(folder, reason_of(error))
            return []

    def _leave_out(self, folder: str, reason: str) -> None:
        if self.is_told and folder not in self.closed:
            os.write(2, os.fsencode(f"cannot list '{self.base + folder}': {reason}, left out\n"))
        self.closed.add(folder)


def _is_folder(entry: os.DirEntry[str], *, follow: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow)
    except OSError:
        return False
