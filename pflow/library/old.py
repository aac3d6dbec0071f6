"""Older versions of saved flows: what each was before it was replaced or removed, the last ten of a name.

They lie in `old/` beside the flows as NAME.N.pflow.json, where the highest N is the last. No flow is found there.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from pflow.atomic import replace
from pflow.catalog.flows import SUFFIX
from pflow.catalog.registry import data_directory
from pflow.library.lock import make_folder
from pflow.library.saved import library_folder
from pflow.source import plain

MOST = 10
"""How many versions of a name are kept."""

_FILE = re.compile(rf"(?P<name>[^.].*)\.(?P<number>[0-9]{{1,9}}){re.escape(SUFFIX)}")


def olds_of(name: str) -> list[str]:
    """The files of a name's older versions, the last one last."""
    library = data_directory("flows")
    folder = os.path.join(library or "", "old")
    try:
        files = os.listdir(folder) if library else []
    except OSError:
        return []
    matches = [match for match in map(_FILE.fullmatch, files) if match and plain(match["name"]) == plain(name)]
    return [os.path.join(folder, match[0]) for match in sorted(matches, key=lambda match: int(match["number"]))]


def copy_old(name: str, data: bytes) -> str:
    """Keep a flow's content, and return the file: the last version's where that is the same. Raises OSError."""
    before = olds_of(name)
    with suppress(OSError):
        if before and Path(before[-1]).read_bytes() == data:
            return before[-1]
    file = _next(name, before)
    replace(file, data, mode=0o600, overwrite=False)
    _drop_oldest(before)
    return file


def move_old(name: str, file: str) -> str:
    """Make a flow's file its last older version, and return the new file. Raises OSError."""
    if os.path.islink(file):  # what it links to belongs to its user
        kept = copy_old(name, Path(file).read_bytes())
        os.unlink(file)
        return kept
    before = olds_of(name)
    kept = _next(name, before)
    os.rename(file, kept)
    _drop_oldest(before)
    return kept


def _next(name: str, before: list[str]) -> str:
    folder = os.path.join(library_folder(), "old")
    make_folder(folder)
    last = _FILE.fullmatch(os.path.basename(before[-1])) if before else None
    return os.path.join(folder, f"{name}.{int(last['number']) + 1 if last else 1}{SUFFIX}")


def _drop_oldest(before: list[str]) -> None:
    for file in before[: max(len(before) + 1 - MOST, 0)]:
        with suppress(OSError):
            os.unlink(file)
