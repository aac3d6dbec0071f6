"""What holds as long as certain files stay as they were, remembered in the cache."""

from __future__ import annotations

import os
import time

from pflow import TYPE_CHECKING
from pflow.cache.place import directory, save, touch
from pflow.errors import PflowError
from pflow.files.xdg import read_cached
from pflow.values.digest import digest_of, file_digest, file_stamp
from pflow.values.jsontext import decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_LARGE = 1 << 16
"""Bytes of a file that take longer to digest than to look up."""
_LATER = 1 << 63
"""A time for which no file is too fresh."""


def remembered(question: list[str], find: Callable[[], tuple[Any, Iterable[str]]]) -> Any:
    """The JSON that `find` gives, or gave, while the files that it names have stayed as they were.

    A cache that cannot be used remembers nothing.
    """
    try:
        file = os.path.join(directory("digests"), digest_of(question))
    except PflowError:
        file = ""
    try:
        known = decode(read_cached(file) or b"")
        if all(_stamp_of(path, _LATER) == stamp for path, stamp in known["files"].items()):
            touch(file)
            return known["answer"]
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # nothing is there, or nothing of ours
    now = time.time_ns()
    answer, paths = find()
    stamps = {path: _stamp_of(path, now) for path in paths}
    if file and all(stamps.values()):
        try:
            save(file, encode({"answer": answer, "files": stamps}, escape=False))
        except PflowError:
            pass
    return answer


def _stamp_of(path: str, now: int) -> str:
    try:
        return file_stamp(os.stat(path), now)
    except OSError:
        return "missing"


def digest_of_file(path: str) -> str:
    """SHA-256 of what a file holds, found once for a large one that stays as it is. Raises OSError."""
    if os.stat(path).st_size < _LARGE:
        return file_digest(path)
    full = os.path.abspath(path)
    return str(remembered(["file", full], lambda: (file_digest(full), [full])))
