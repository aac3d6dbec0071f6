"""The list-files node: list files that match a pattern."""

import os

from pflow.errors import BAD_DATA, MISSING, USAGE, Attempt, PflowError
from pflow.files.file_paths import read_failure
from pflow.files.listing import list_paths
from pflow.node import Node, Shared
from pflow.values.jsontext import path_value


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
        with Attempt(f"cannot list '{directory}'", read_failure):
            found = list_paths(pattern, directory, hidden=self.params["hidden"], kind=self.params["kind"])
        return [path_value(path) for path in found]

    def post(self, shared: Shared, prepared: object, files: list[str | bytes]) -> None:
        shared["files"] = files

    def looks_at(self, reads: Shared) -> list[list[str | bool]]:
        return [[*self.prep(reads), self.params["hidden"], self.params["kind"]]]
