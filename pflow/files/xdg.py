"""Where the XDG base directories are, and pflow's own in them; and what is read of the cache."""

from __future__ import annotations

import os
import stat

from pflow.errors import BAD_CONFIG, CANNOT_WRITE, PflowError, reason_of

_KEY_SIZE = 32
_LARGEST_CACHED = 1 << 24
"""Bytes that are read of a file of the cache at most."""


def pflow_directory(variable: str, default: str) -> str | None:
    """pflow's directory below that of an XDG variable, else below `default` at home; None where neither names a place.

    A relative path in the variable counts as none, as the XDG specification has it.
    """
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):
        base = os.path.join(os.environ.get("HOME", ""), default)
    return os.path.join(base, "pflow") if os.path.isabs(base) else None


def cache_directory() -> str | None:
    """pflow's directory under XDG_CACHE_HOME; None where the environment names no place."""
    return pflow_directory("XDG_CACHE_HOME", ".cache")


def state_directory() -> str | None:
    """pflow's directory under XDG_STATE_HOME; None where the environment names no place."""
    return pflow_directory("XDG_STATE_HOME", ".local/state")


def make_private(folder: str) -> None:
    """Make a directory, and those that are missing above it, for their owner alone. Raises OSError."""
    if not os.path.isdir(above := os.path.dirname(folder)):
        make_private(above)
    os.makedirs(folder, 0o700, exist_ok=True)


def read_cached(path: str, largest: int = _LARGEST_CACHED) -> bytes | None:
    """The bytes of a file of the cache; None unless it is a regular file that only its owner, the user, may write.

    One of more bytes than the `largest` is not read.
    """
    found = read_own(path, largest)
    return None if found is None else found[0]


def read_own(path: str, largest: int) -> tuple[bytes, float] | None:
    """The same, and when the file was written or touched, in seconds."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022
        return (os.read(fd, status.st_size), status.st_mtime) if is_ours and status.st_size <= largest else None
    except OSError:
        return None
    finally:
        os.close(fd)


def state_key() -> bytes:
    """32 random bytes, made by the first call of all.

    Raises PflowError: 78 where the environment names no place for them, 73 where they cannot be kept.
    """
    directory = state_directory()
    if directory is None:
        hint = "HOME or XDG_STATE_HOME names the place"
        raise PflowError("cannot keep anything of this run: there is no place for it", hint=hint, exit=BAD_CONFIG)
    path = os.path.join(directory, "key")
    try:
        key = _read_key(path) or _make_key(path)
    except OSError as error:
        raise PflowError(f"cannot keep a key in '{path}': {reason_of(error)}", exit=CANNOT_WRITE) from error
    if len(key) != _KEY_SIZE:
        hint = "without it another is made, which no unfinished run knows"
        raise PflowError(f"cannot use '{path}': it holds no key", hint=hint, exit=BAD_CONFIG)
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
