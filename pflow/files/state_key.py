"""The key of this user's state: with it, digests of secrets and items say nothing of them to anybody else."""

from __future__ import annotations

import os

from pflow.errors import BAD_CONFIG, CANNOT_WRITE, PflowError, reason_of
from pflow.files.atomic import replace
from pflow.files.xdg import make_private, state_directory

_SIZE = 32


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
        key = _read(path) or _make(path)
    except OSError as error:
        raise PflowError(f"cannot keep a key in '{path}': {reason_of(error)}", exit=CANNOT_WRITE) from error
    if len(key) != _SIZE:
        hint = "without it another is made, which no unfinished run knows"
        raise PflowError(f"cannot use '{path}': it holds no key", hint=hint, exit=BAD_CONFIG)
    return key


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(_SIZE + 1) or b"\0"
    except FileNotFoundError:
        return b""


def _make(path: str) -> bytes:
    make_private(os.path.dirname(path))
    try:
        replace(path, os.urandom(_SIZE), mode=0o600, overwrite=False)
    except FileExistsError:
        pass  # another process was faster
    return _read(path)
