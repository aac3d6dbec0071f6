"""The directories that a pattern of files looks into, links among them too."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 5_000
_SIGNS = frozenset("*?[")


def folders_of(pattern: str) -> list[str | None]:
    """Where the fixed part of a pattern leads, and every directory that its wildcards reach now.

    None stands for more than can be looked at, and for a way up behind a wildcard.
    """
    parts = pattern.split("/")
    first = next((at for at, part in enumerate(parts) if _SIGNS & set(part)), len(parts) - 1)
    if first == len(parts) - 1 and not _SIGNS & set(parts[-1]):
        return [pattern]
    fixed = "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")
    if ".." in parts[first:]:
        return [None]
    found: list[str | None] = [fixed]
    for folder in _walk(fixed, parts[first:-1]):
        found.append(folder)
        if len(found) > _MOST:
            return [*found[:1], None]
    return found


def _walk(folder: str, parts: list[str]) -> Iterator[str]:
    """The directories below one that the parts of a pattern lead to; ** goes through no link."""
    import fnmatch

    if not parts:
        return
    part, rest = parts[0], parts[1:]
    if part == "**":
        yield from _walk(folder, rest)
    for entry in _directories(folder):
        if part == "**":
            if not entry.is_symlink():
                yield entry.path
                yield from _walk(entry.path, parts)
        elif fnmatch.fnmatchcase(entry.name, part):
            yield entry.path
            yield from _walk(entry.path, rest)


def _directories(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if entry.is_dir()]
    except (OSError, ValueError):
        return []
