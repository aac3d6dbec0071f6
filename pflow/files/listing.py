"""The files that match a pattern, in one directory or at any depth below it."""

from __future__ import annotations

import os
import stat

from pflow import Callable, Iterator
from pflow.errors import reason_of, result_of
from pflow.files.beneath import fault_of, mode_of, open_file
from pflow.files.reading import Opened
from pflow.text.printable import message_line

_ANY_DEPTH = "**"
_KINDS: dict[str, Callable[[str], bool]] = {
    "files": lambda path: stat.S_ISREG(mode_of(path)),
    "directories": lambda path: stat.S_ISDIR(mode_of(path)),
    "all": lambda path: mode_of(path, follow=False) != 0,
}


def list_paths(
    pattern: str, directory: str, *, hidden: bool = False, kind: str = "files", is_told: bool = True
) -> list[str]:  # fmt: skip
    """Return the matching paths, sorted by their bytes. If `is_told`, stderr names directories that cannot be listed.

    Raises OSError if `directory` cannot be listed.
    """
    os.close(open_file(directory, os.O_RDONLY | os.O_DIRECTORY))  # this one must be there; those below may vanish
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
        """Yield the paths that match one more segment, each with the number of segments matched so far."""
        if fault := fault_of(self.base + folder or "."):
            self._leave_out(folder, fault)
        elif segment == _ANY_DEPTH:
            yield folder, matched + 1
            for name, is_folder in self._entries(folder, follow=False):
                if is_folder and self._shows(name, ""):
                    yield os.path.join(folder, name), matched
        elif not set(segment) & set("*?["):
            path = os.path.join(folder, segment)
            if mode_of(self.base + path, follow=False):
                yield path, matched + 1
        else:
            is_last = matched + 1 == len(self.segments)
            for name, is_folder in self._entries(folder, follow=not is_last):
                if (is_last or is_folder) and self._shows(name, segment):
                    yield os.path.join(folder, name), matched + 1

    def _shows(self, name: str, segment: str) -> bool:
        from fnmatch import fnmatchcase

        is_shown = self.hidden or not name.startswith(".") or segment.startswith(".")
        return is_shown and (not segment or fnmatchcase(name, segment))

    def _entries(self, folder: str, *, follow: bool) -> list[tuple[str, bool]]:
        """Return the names in a directory, each with True for a directory or, with `follow`, a link to one."""
        try:
            opened = Opened(open_file(self.base + folder or ".", os.O_RDONLY | os.O_DIRECTORY))
            with opened as fd, os.scandir(fd) as entries:
                return [(each.name, _is_folder(each, follow=follow)) for each in entries]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:  # one closed directory must not hide all others
            self._leave_out(folder, reason_of(error))
            return []

    def _leave_out(self, folder: str, reason: str) -> None:
        if self.is_told and folder not in self.closed:
            said = message_line(f"cannot list '{self.base + folder}': {reason}, left out")
            os.write(2, f"{said}\n".encode())
        self.closed.add(folder)


def _is_folder(entry: os.DirEntry[str], *, follow: bool) -> bool:
    return result_of(lambda: entry.is_dir(follow_symlinks=follow), otherwise=False)
