"""What TAB offers that changes from day to day: lists of names that normal runs keep fresh, for shells to read."""

from __future__ import annotations

import os
import stat

from pflow.xdg import pflow_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MODELS, NODES, FLOWS, RUNS = "models", "nodes", "flows", "runs"
"""The lists: each is a file of lines VALUE<TAB>DESCRIPTION in `$XDG_CACHE_HOME/pflow/completion/`; of two lines for one
value the later one counts."""

_LARGE = 1 << 16
"""What a list may grow to, in bytes."""
_LARGEST = 1 << 24
"""What is read of the cache at most."""


def offer(kind: str, names: Iterable[tuple[str, str]]) -> None:
    """Let TAB offer these, each with what is said of it. A list that cannot be written is left as it is."""
    path = offered_file(kind)
    data = b"".join(_line(value, about) for value, about in names)
    try:
        if path is not None and read_cached(path) != data:
            _replace(path, data)
    except OSError:
        pass


def offer_one(kind: str, value: str, about: str) -> None:
    """Let TAB offer one more, or say of it what is true by now. In a list that has grown large the oldest half goes."""
    path = offered_file(kind)
    line = _line(value, about)
    try:
        if path is None:
            return
        if not os.path.exists(path):
            _replace(path, line)
            return
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            os.write(fd, line)
            is_large = os.fstat(fd).st_size > _LARGE
        finally:
            os.close(fd)
        if is_large:
            lines = (read_cached(path) or line).splitlines(keepends=True)
            _replace(path, b"".join(lines[len(lines) // 2 :]))
    except OSError:
        pass


def offer_only(kind: str, values: Iterable[str]) -> None:
    """Let TAB offer no others than these any more."""
    path = offered_file(kind)
    old = read_cached(path) if path else None
    if path is None or old is None:
        return
    kept = {value.encode("utf-8", "replace") for value in values}
    data = b"".join([line for line in old.splitlines(keepends=True) if line.partition(b"\t")[0] in kept])
    try:
        if data != old:
            _replace(path, data)
    except OSError:
        pass


def offered_file(kind: str) -> str | None:
    """Where a list is kept; None where the environment names no place."""
    cache = cache_directory()
    return os.path.join(cache, "completion", kind) if cache else None


def cache_directory() -> str | None:
    """pflow's directory under XDG_CACHE_HOME; None where the environment names no place."""
    return pflow_directory("XDG_CACHE_HOME", ".cache")


def read_cached(path: str) -> bytes | None:
    """A file of the cache; None where there is none, none that is our own alone to write, or far too much."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022
        return os.read(fd, status.st_size) if is_ours and status.st_size <= _LARGEST else None
    except OSError:
        return None
    finally:
        os.close(fd)


def _line(value: str, about: str) -> bytes:
    """The line of a value; none where the value would not be one word on a line."""
    return f"{value}\t{_shown(about)}\n".encode("utf-8", "replace") if value.isprintable() else b""


def _replace(path: str, data: bytes) -> None:
    from pflow.atomic import replace

    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    replace(path, data, mode=0o600)


def _shown(text: str) -> str:
    """A description on one line, without what would move a terminal's cursor."""
    return text if text.isprintable() else "".join([each if each.isprintable() else " " for each in text])
