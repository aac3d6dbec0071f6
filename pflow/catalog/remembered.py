"""What was read of nodes' files, kept from one run to the next: a file that has not changed is not read again.

`$XDG_CACHE_HOME/pflow/nodes.json`: a JSON object, a member a line, each a file's path with its stamp and what was read
of it, all of it text. Whatever cannot be understood there counts as not there.
"""

from __future__ import annotations

import os
import time

from pflow import __version__
from pflow.scanner import quote, scan
from pflow.xdg import cache_directory, read_cached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HEADER = f'{{"pflow":"nodes 1, pflow-shell {__version__}"'
_MOST = 10_000
_MOMENT = 100_000_000
"""Nanoseconds in which a file may change twice and have the same time."""


class Remembered:
    """Texts by file, `size` of them each. `save` when all files were asked for."""

    def __init__(self, size: int) -> None:
        self.size = size
        cache = cache_directory()
        self._path = os.path.join(cache, "nodes.json") if cache else None
        members = _members(read_cached(self._path) or b"") if self._path else {}
        self._known: dict[str, list[str]] = {file: row for file, row in members.items() if _is_row(row, size + 1)}
        self._seen: dict[str, list[str]] = {}
        self._is_changed = False

    def get(self, file: str, stamp: str) -> list[str] | None:
        """What was read of a file when it had this stamp."""
        row = self._known.get(file)
        if row is None or row[0] != stamp:
            return None
        self._seen[file] = row
        return row[1:]

    def put(self, file: str, stamp: str, texts: list[str]) -> None:
        self._seen[file] = [stamp, *texts]
        self._is_changed = True

    def save(self) -> None:
        """Keep it for the next run, where that can be done; and some of what another PATH may ask for."""
        if self._path is None or not self._is_changed:
            return
        folders = set(map(os.path.dirname, self._seen))
        others = {file: row for file, row in self._known.items() if os.path.dirname(file) not in folders}
        kept = {**others, **self._seen} if len(others) + len(self._seen) <= _MOST else self._seen
        try:
            data = _written(kept)
            os.makedirs(os.path.dirname(self._path), 0o700, exist_ok=True)
            from pflow.atomic import replace

            replace(self._path, data, mode=0o600)
        except (OSError, UnicodeEncodeError):
            return


def stamp(status: os.stat_result, beside: os.stat_result | None = None) -> str:
    """What changes when a file does, or the file beside it; empty where that is too fresh to be told from the next."""
    now = time.time_ns()
    both = [status, beside] if beside else [status]
    if any(abs(now - each.st_ctime_ns) < _MOMENT for each in both):
        return ""
    return " ".join([f"{each.st_size} {each.st_mtime_ns} {each.st_ctime_ns} {each.st_ino}" for each in both])


def _members(data: bytes) -> dict[str, Any]:
    try:
        text = str(data, "utf-8")
        value, _ = scan(text) if text.startswith(_HEADER + ",") else ({}, 0)
    except (ValueError, RecursionError):
        return {}
    value.pop("pflow", None)
    return dict(value)


def _is_row(row: Any, size: int) -> bool:
    return isinstance(row, list) and len(row) == size and set(map(type, row)) == {str}


def _written(rows: dict[str, list[str]]) -> bytes:
    lines = [f"{quote(file)}:[{','.join(map(quote, row))}]" for file, row in rows.items()]
    return (",\n".join([_HEADER, *lines]) + "}\n").encode()
