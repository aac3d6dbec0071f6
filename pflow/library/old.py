"""Older versions of saved flows: what each was before it was replaced or removed, the last few of a name.

They lie in `old/` beside the flows, as NAME.N.pflow.json, the highest N the last. Nothing finds them as flows.
"""

from __future__ import annotations

import os

from pflow.catalog.flows import SUFFIX, flow_name
from pflow.catalog.registry import data_directory
from pflow.catalog.source import plain
from pflow.library.held import make_folder
from pflow.library.names import library_folder

MOST = 10
"""How many are kept of a name."""


def olds_of(name: str) -> list[str]:
    """The files of a name's older versions, the last one last."""
    library = data_directory("flows")
    folder = os.path.join(library or "", "old")
    try:
        files = os.listdir(folder) if library else []
    except OSError:
        return []
    numbered = [(_number(file), file) for file in files if _is_of(file, name)]
    return [os.path.join(folder, file) for _, file in sorted(numbered)]


def copy_old(name: str, data: bytes) -> str:
    """Keep what a flow is, and give the file; the last one's where that is the same. Raises OSError."""
    from pflow.atomic import replace

    before = olds_of(name)
    if before and _holds(before[-1], data):
        return before[-1]
    file = _next(name, before)
    replace(file, data, mode=0o600, overwrite=False)
    _forget(before)
    return file


def move_old(name: str, file: str) -> str:
    """Make a flow's file its last older version, and give that file. Raises OSError."""
    if os.path.islink(file):  # what it links to is somebody's
        with open(file, "rb") as opened:
            kept = copy_old(name, opened.read())
        os.unlink(file)
        return kept
    before = olds_of(name)
    kept = _next(name, before)
    os.rename(file, kept)
    _forget(before)
    return kept


def _next(name: str, before: list[str]) -> str:
    folder = os.path.join(library_folder(), "old")
    make_folder(folder)
    number = _number(os.path.basename(before[-1])) + 1 if before else 1
    return os.path.join(folder, f"{name}.{number}{SUFFIX}")


def _forget(before: list[str]) -> None:
    """Remove the oldest of those that were there before one more came."""
    for file in before[: max(len(before) + 1 - MOST, 0)]:
        try:
            os.unlink(file)
        except OSError:
            continue


def _is_of(file: str, name: str) -> bool:
    return plain(flow_name(file).rpartition(".")[0]) == plain(name) and _number(file) > 0


def _number(file: str) -> int:
    number = flow_name(file).rpartition(".")[2]
    return int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else 0


def _holds(file: str, data: bytes) -> bool:
    try:
        with open(file, "rb") as opened:
            return opened.read() == data
    except OSError:
        return False
