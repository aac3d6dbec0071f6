"""Directories: pflow's own, as XDG names them, with the user's key; and the root that limits file access."""

from __future__ import annotations

import os
import stat

from pflow import Any
from pflow.errors import BAD_CONFIG, CANNOT_WRITE, DENIED, PflowError, reason_of, shorten

ROOT = "PFLOW_ROOT"
"""The variable that names the directory which file access is limited to, as for calls of an MCP client."""

_KEY_SIZE = 32
_LARGEST_CACHED = 1 << 24
"""The most bytes read from a file of the cache."""


def pflow_directory(variable: str, default: str) -> str | None:
    """Return pflow's directory below an XDG variable's, else below `default` at home; None if neither is set.

    A relative path in the variable is ignored, as the XDG specification says.
    """
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.join(os.environ.get("HOME", ""), default)
    return os.path.join(base, "pflow") if os.path.isabs(base) else None


def cache_directory() -> str | None:
    """Return pflow's directory under XDG_CACHE_HOME; None if the environment names no place."""
    return pflow_directory("XDG_CACHE_HOME", ".cache")


def state_directory() -> str | None:
    """Return pflow's directory under XDG_STATE_HOME; None if the environment names no place."""
    return pflow_directory("XDG_STATE_HOME", ".local/state")


def make_private(folder: str) -> None:
    """Make a directory and its missing parents, only for their owner. Raises OSError."""
    if not os.path.isdir(above := os.path.dirname(folder)):
        make_private(above)
    os.makedirs(folder, 0o700, exist_ok=True)


def read_cached(path: str, largest: int = _LARGEST_CACHED) -> bytes | None:
    """Read a file of the cache; None unless it is a regular file of at most `largest` bytes that only this user may
    write.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022
        return os.read(fd, status.st_size) if is_ours and status.st_size <= largest else None
    except OSError:
        return None
    finally:
        os.close(fd)


def state_key() -> bytes:
    """Return this user's 32 random bytes, made on the first call: digests with them reveal nothing to other users.

    Raises PflowError: 78 if the environment names no place for them, 73 if they cannot be written.
    """
    directory = state_directory()
    if directory is None:
        hint = "set HOME or XDG_STATE_HOME"
        raise PflowError("cannot record this run: its directory is unknown", hint=hint, exit=BAD_CONFIG)
    path = os.path.join(directory, "key")
    try:
        key = _read_key(path) or _make_key(path)
    except OSError as error:
        raise PflowError(f"cannot keep a key in '{path}': {reason_of(error)}", exit=CANNOT_WRITE) from error
    if len(key) != _KEY_SIZE:
        hint = "delete it for a new key; unfinished runs cannot be resumed then"
        raise PflowError(f"cannot use '{path}': it does not hold a key", hint=hint, exit=BAD_CONFIG)
    return key


def _read_key(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(_KEY_SIZE + 1) or b"\0"
    except FileNotFoundError:
        return b""


def _make_key(path: str) -> bytes:
    from pflow.files.atomic import replace

    make_private(os.path.dirname(path))
    try:
        replace(path, os.urandom(_KEY_SIZE), mode=0o600, overwrite=False)
    except FileExistsError:
        pass  # another process was faster
    return _read_key(path)


def is_below(real: str, folder: str) -> bool:
    """Return True if a path is the folder or in it; both are real paths."""
    return real == folder or real.startswith(folder.rstrip("/") + "/")


def fault_of(path: str) -> str:
    """Say why a path is out of bounds; empty if it is allowed, or there is no root.

    With links followed, it leads out of the root, or to files that decide which code runs, such as settings and hooks
    in a .git, which may also hold keys.
    """
    root = os.environ.get(ROOT)
    if not root:
        return ""
    try:
        real, root = os.path.realpath(path), os.path.realpath(root)
    except ValueError:  # a NUL in it
        return "it contains NUL"
    if not is_below(real, root):
        return f"it is not below {os.environ[ROOT]}"
    if ".git" in real[len(root) :].lower().split("/"):
        return "it belongs to git"
    data = pflow_directory("XDG_DATA_HOME", ".local/share")
    runs = [os.path.realpath(os.path.join(data, name)) for name in ("flows", "nodes")] if data else []
    return "pflow runs the files there" if any(is_below(real, folder) for folder in runs) else ""


def hold_below_root(path: Any) -> None:
    """Refuse a path, also in a list, that is out of bounds. Raises PflowError (77)."""
    if isinstance(path, list):
        for each in path:
            hold_below_root(each)
    elif isinstance(path, str | bytes) and path and (fault := fault_of(os.fsdecode(path))):
        raise PflowError(f"cannot use '{shorten(os.fsdecode(path))}': {fault}", exit=DENIED)
