"""The list-files node: list files that match a pattern."""

from __future__ import annotations

import os
import stat

from pflow import Callable, Iterator
from pflow.errors import BAD_DATA, MISSING, USAGE, PflowError, reason_of
from pflow.files.beneath import fault_of, mode_of, open_file
from pflow.files.file_paths import read_failure
from pflow.node import Node, Shared
from pflow.values.jsontext import path_value

_ANY_DEPTH = "**"


class ListFiles(Node):
    """List the files that match a pattern, sorted by the bytes of their paths.

    * matches any characters of a name, ? one character, [ab] one of these, ** between slashes any depth of directories.
    A link counts as its target, but ** does not follow it. Without a match the list is empty.

    Interface:
    - Reads: shared["pattern"]: path [explicit] [word]  # the pattern: *.txt, docs/**/*.md
    - Reads: shared["directory"]: path = "." [explicit]  # the directory to search; the paths begin with it
    - Writes: shared["files"]: list[path] [pipe]  # their paths
    - Params: hidden: bool = false  # let wildcards match names that begin with a dot
    - Params: kind: files|directories|all = "files"  # what to list
    - Effects: reads files

    Examples:
        pflow-list-files --pattern='*.txt' --directory=examples
        pflow-list-files 'examples/**/*.txt'
        pflow-list-files --pattern='**' --hidden -j
    """

    def prep(self, shared: Shared) -> tuple[str, str]:
        pattern, directory = os.fsdecode(shared["pattern"]), os.fsdecode(shared.get("directory", "."))
        for name, value in (("pattern", pattern), ("directory", directory)):
            if not value:
                raise PflowError(f"cannot list files: the {name} is empty", exit=MISSING)
            if "\0" in value:
                raise PflowError(f"cannot list {value!r}: a {name} cannot contain NUL", exit=BAD_DATA)
        if not pattern.startswith("/"):
            return pattern, directory
        if directory != ".":
            raise PflowError(
                f"cannot list '{pattern}' in '{directory}': it begins with /", hint="omit the first /", exit=USAGE
            )
        return pattern, "/"

    def exec(self, prepared: tuple[str, str]) -> list[str | bytes]:
        pattern, directory = prepared
        try:
            os.close(open_file(directory, os.O_RDONLY | os.O_DIRECTORY))
        except OSError as error:
            raise read_failure(f"cannot list '{directory}'", error) from error
        base = "" if directory == "." else os.path.join(directory, "")
        is_wanted = _KINDS[self.params["kind"]]
        found = (base + path for path in _Search(base, pattern, self.params["hidden"]).run())
        return [path_value(path) for path in sorted(filter(is_wanted, found), key=os.fsencode)]

    def post(self, shared: Shared, prepared: object, files: list[str | bytes]) -> None:
        shared["files"] = files


_KINDS: dict[str, Callable[[str], bool]] = {
    "files": lambda path: stat.S_ISREG(mode_of(path)),
    "directories": lambda path: stat.S_ISDIR(mode_of(path)),
    "all": lambda path: mode_of(path, follow=False) != 0,
}


class _Search:
    """A walk below `base` along the segments of a pattern."""

    def __init__(self, base: str, pattern: str, hidden: bool) -> None:
        self.base = base
        self.hidden = hidden
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
        """Return the names in a directory, and for each True if it is a directory itself."""
        try:
            fd = open_file(self.base + folder or ".", os.O_RDONLY | os.O_DIRECTORY)
            try:
                with os.scandir(fd) as entries:
                    return [(each.name, _is_folder(each, follow=follow)) for each in entries]
            finally:
                os.close(fd)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:  # list the rest
            self._leave_out(folder, reason_of(error))
            return []

    def _leave_out(self, folder: str, reason: str) -> None:
        if folder not in self.closed:
            os.write(2, os.fsencode(f"cannot list '{self.base + folder}': {reason}, left out\n"))
        self.closed.add(folder)


def _is_folder(entry: os.DirEntry[str], *, follow: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow)
    except OSError:
        return False
