"""What --allow says: commands, any path, anything, or the files below a directory."""

from __future__ import annotations

import os

from pflow.errors import USAGE, PflowError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS, PATHS, ANYTHING = "commands", "paths", "anything"


class Allowed:
    """What may be done unasked: run commands, touch any path, do anything; and files below the `folders`."""

    def __init__(self, words: Sequence[str], directory: str | None) -> None:
        """`directory` is the working directory, None where it is gone.

        Raises PflowError (2) for a word that is none.
        """
        self.directory = directory
        self.words = {word for word in words if not _is_directory(word)}
        unknown = next((word for word in words if word in self.words - {COMMANDS, PATHS, ANYTHING}), None)
        if unknown is not None:
            hint = f"it takes {COMMANDS}, {PATHS}, {ANYTHING} or a directory: ./{unknown}"
            raise PflowError(f"cannot allow '{unknown}': it is no such word", hint=hint, exit=USAGE)
        given = [os.path.expanduser(word) for word in words if _is_directory(word)]
        here = self.real_path(".")
        self.folders = [real for each in given if (real := self.real_path(each)) is not None]
        if here is not None and here != "/":  # where services start, and all there is lies below
            self.folders.append(here)

    def allows(self, word: str) -> bool:
        return word in self.words or ANYTHING in self.words

    def real_path(self, path: str) -> str | None:
        """Where a path leads once every link is followed; None where that cannot be told."""
        if not os.path.isabs(path) and self.directory is None:
            return None
        try:
            return os.path.realpath(os.path.join(self.directory or "/", path))
        except (OSError, ValueError):  # a NUL in it
            return None

    def allows_path(self, path: str) -> bool:
        """Whether a path stays below a directory that is allowed, taken as it is and as a shell would take its ~."""
        ways = {path, os.path.expanduser(path)} if path.startswith("~") else {path}
        return all(self._is_below(self.real_path(way)) for way in ways)

    def _is_below(self, real: str | None) -> bool:
        return real is not None and any(
            real == folder or real.startswith(folder.rstrip("/") + "/") for folder in self.folders
        )


def _is_directory(word: str) -> bool:
    return "/" in word or word in (".", "..", "~")


def working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None
