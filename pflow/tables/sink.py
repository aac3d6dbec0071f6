"""The file that a node for data writes: whole or not at all."""

from __future__ import annotations

import os
from typing import Any

from pflow.atomic import replace
from pflow.errors import BAD_DATA, CANNOT_WRITE, DENIED, MISSING, PflowError


def target(path: Any) -> str:
    """The file that a path names. Raises PflowError where it names none."""
    name = os.fsdecode(path)
    if not name:
        raise PflowError("cannot write '': the path is empty", exit=MISSING)
    if "\0" in name:
        raise PflowError(f"cannot write {name!r}: a path holds no NUL", exit=BAD_DATA)
    if os.path.basename(name) in ("", ".", "..") or os.path.isdir(name):
        hint = "add the file's name to it"
        raise PflowError(f"cannot write '{name}': it is a directory", hint=hint, exit=CANNOT_WRITE)
    return name


def save(path: str, data: str | bytes) -> None:
    """Make `data` all that a file holds. Raises PflowError: 73, 77 where that is not allowed, 65 for no text."""
    try:
        replace(path, data)
    except UnicodeEncodeError:
        raise PflowError(f"cannot write '{path}': a lone surrogate is no character", exit=BAD_DATA) from None
    except OSError as error:
        exit = DENIED if isinstance(error, PermissionError) else CANNOT_WRITE
        raise PflowError(f"cannot write '{path}': {(error.strerror or str(error)).lower()}", exit=exit) from error
