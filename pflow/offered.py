"""What TAB offers that changes from day to day: lists of names that normal runs keep fresh, for shells to read."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MODELS, NODES, FLOWS, RUNS = "models", "nodes", "flows", "runs"
"""The lists: each is a file of lines VALUE<TAB>DESCRIPTION in `$XDG_CACHE_HOME/pflow/completion/`."""


def offer(kind: str, names: Iterable[tuple[str, str]]) -> None:
    """Let TAB offer these, each with what is said of it. A list that cannot be written is left as it is."""
    path = offered_file(kind)
    if path is None:
        return
    text = "".join(f"{value}\t{_shown(about)}\n" for value, about in names if value.isprintable())
    data = text.encode("utf-8", "replace")
    try:
        if _read(path) == data:
            return
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        from pflow.atomic import replace

        replace(path, data, mode=0o600)
    except OSError:
        return


def offered_file(kind: str) -> str | None:
    """Where a list is kept; None where the environment names no place."""
    cache = cache_directory()
    return os.path.join(cache, "completion", kind) if cache else None


def cache_directory() -> str | None:
    """pflow's directory under XDG_CACHE_HOME; None where the environment names no place."""
    home = os.environ.get("HOME", "")
    cache = os.environ.get("XDG_CACHE_HOME") or (os.path.join(home, ".cache") if home else "")
    return os.path.join(cache, "pflow") if os.path.isabs(cache) else None


def _shown(text: str) -> str:
    """A description on one line, without what would move a terminal's cursor."""
    return "".join(each if each.isprintable() else " " for each in text)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
