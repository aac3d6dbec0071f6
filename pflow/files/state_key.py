"""The user's key: random bytes in pflow's state directory. A digest made with them reveals nothing to others."""

import os

from pflow.errors import BAD_CONFIG, CANNOT_WRITE, Attempt, Ignoring, PflowError
from pflow.files.atomic import replace
from pflow.files.directories import make_private, required_directory, state_directory
from pflow.files.reading import read_regular

_KEY_SIZE = 32


def state_key() -> bytes:
    """Return this user's key of 32 random bytes; the first call makes it.

    Raises PflowError: 78 if the environment names no place for the key, 73 if it cannot be written.
    """
    path = os.path.join(required_directory(state_directory(), "cannot record this run", "XDG_STATE_HOME"), "key")
    with Attempt(f"cannot keep a key in '{path}'", exit=CANNOT_WRITE):
        key = _read_key(path) or _make_key(path)
    if len(key) != _KEY_SIZE:
        hint = "delete it for a new key; unfinished runs cannot be resumed then"
        raise PflowError(f"cannot use '{path}': it does not hold a key", hint=hint, exit=BAD_CONFIG)
    return key


def _read_key(path: str) -> bytes:
    try:
        os.chmod(path, 0o600)  # a confined command may have opened it to others: Landlock does not stop chmod
    except FileNotFoundError:
        return b""
    except PermissionError:
        pass  # another user's file: only its owner may chmod
    return read_regular(path)[: _KEY_SIZE + 1] or b"\0"


def _make_key(path: str) -> bytes:
    make_private(os.path.dirname(path))
    with Ignoring(FileExistsError):  # two first runs raced: the key of the faster one counts
        replace(path, os.urandom(_KEY_SIZE), mode=0o600, overwrite=False)
    return _read_key(path)
