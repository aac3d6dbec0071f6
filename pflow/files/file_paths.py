"""Paths given to nodes: checking them, reading and writing their files, and the reasons for failures."""

from __future__ import annotations

import errno
import os
import stat

from pflow import Any, Callable
from pflow.errors import (
    BAD_DATA,
    CANNOT_WRITE,
    DENIED,
    MISSING,
    PflowError,
    exit_code,
    lone_surrogate,
    no_memory,
    not_written,
    reason_of,
    result_of,
)
from pflow.files.beneath import is_confined, mode_of, open_file, status
from pflow.files.reading import read_to_end

HINTS: dict[int | None, str] = {
    errno.EACCES: "its directory must be writable, and to be replaced the file too",
    errno.EBUSY: "a mount point (docker -v FILE) cannot be replaced: mount its directory, or use write-file --append",
    errno.EPERM: "lsattr shows if it is immutable or append-only; in a directory like /tmp only its owner replaces it",
}
"""Hints for errors of replacing or deleting a file."""

_DESCRIPTORS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


def checked_path(value: str | bytes, act: str) -> str:
    """Check the path of a file that may exist; `act` is a verb such as "read". Raises PflowError."""
    path = os.fsdecode(value)
    if not path:
        raise PflowError(f"cannot {act} '': the path is empty", exit=MISSING)
    if "\0" in path:
        raise PflowError(f"cannot {act} {path!r}: a path cannot contain NUL", exit=BAD_DATA)
    return path


def checked_target(value: str | bytes) -> str:
    """Check the path of a file that may be made. Raises PflowError."""
    path = checked_path(value, "write")
    if os.path.basename(path) in ("", ".", ".."):
        hint = "add the name of the file"
        raise PflowError(f"cannot write '{path}': it names a directory", hint=hint, exit=CANNOT_WRITE)
    if path.startswith("~/") and not os.path.lexists("~"):
        hint = 'write "$HOME"/… for your home, ./~/… for a directory of that name'
        raise PflowError(f"cannot write '{path}': the shell did not expand the ~", hint=hint, exit=CANNOT_WRITE)
    return path


def target_in(destination: str, path: str) -> str:
    """Return the path of a file to be made: `destination`, or its name inside that if it is a directory or ends in /.

    Raises PflowError.
    """
    if destination.endswith("/") or stat.S_ISDIR(mode_of(destination)):
        destination = os.path.join(destination, os.path.basename(path))
    return checked_target(destination)


def claim_file(claim: Callable[[str], None] | None, path: str, *, follow: bool = True) -> None:
    """Claim the real path of a file before it is written; with `follow`, the path that a link leads to.

    `claim` is the node's: None outside of a batch and a map. Raises PflowError (73) if another item has written it.
    """
    if claim is not None:
        folder, name = os.path.split(path)
        claim(os.path.realpath(path) if follow else os.path.join(os.path.realpath(folder), name))


def check_kind(path: str, act: str, *, follow: bool) -> None:
    """Refuse a directory or a device or, with `follow`, a link to one. Raises PflowError and OSError."""
    mode = status(path, follow=follow).st_mode
    if stat.S_ISDIR(mode):
        hint = "pflow-list-files --hidden 'DIRECTORY/**' names the files in it"
        raise PflowError(f"cannot {act} '{path}': it is a directory", hint=hint, exit=MISSING)
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise PflowError(f"cannot {act} '{path}': it is a device", exit=DENIED)


def read_whole(path: str, decode: Callable[[bytes], Any]) -> Any:
    """Read a whole file and decode it. Raises PflowError."""
    act = f"cannot read '{path}'"
    try:
        with open(open_file(path), "rb", buffering=0) as file:
            return decode(read_to_end(file.fileno(), act))
    except OSError as error:
        raise read_failure(act, error) from error
    except MemoryError as error:
        raise no_memory(act, error, os.path.getsize(path)) from error


def write_whole(
    path: str, data: str | bytes, *, claim: Callable[[str], None] | None = None, adds: bool = False,
    overwrite: bool = True, instead: str = "",
) -> None:  # fmt: skip
    """Claim a file and replace its content, or append to it; write to a stream directly.

    Raises PflowError: 73, 77 if that is not allowed, 65 for a lone surrogate.
    """
    from pflow.files.atomic import append, replace  # a stage that only reads saves their import

    act = f"cannot write '{path}'"
    try:
        if is_stream(path):
            write_stream(path, _encoded(data))
        elif adds:
            append(path, _encoded(data))
        else:
            claim_file(claim, path)
            replace(path, data, overwrite=overwrite, is_own=False)
    except UnicodeEncodeError:
        raise lone_surrogate(act) from None
    except OSError as error:
        raise write_failure(act, error, instead=instead) from error


def _encoded(data: str | bytes) -> bytes:
    return data if isinstance(data, bytes) else data.encode()


def read_failure(act: str, error: OSError) -> PflowError:
    exit = MISSING if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG) else exit_code(error)
    is_line = isinstance(error, FileNotFoundError) and act.endswith("\n'")
    hint = "it names a file that ends with a newline; printf %s prints a name without one" if is_line else ""
    return PflowError(f"{act}: {reason_of(error)}", hint=hint, exit=exit)


def write_failure(act: str, error: OSError, *, instead: str = "--overwrite replaces it") -> PflowError:
    """Return the failure of a write; `instead` is the hint if the file exists."""
    if isinstance(error, FileExistsError):
        return PflowError(f"{act}: it is there already", hint=instead, exit=CANNOT_WRITE)
    if isinstance(error, IsADirectoryError):
        return PflowError(f"{act}: it is a directory", hint="add the name of the file", exit=CANNOT_WRITE)
    return not_written(act, error, HINTS.get(error.errno, ""))


def is_stream(path: str) -> bool:
    """Return True for a pipe, a device or an open file, which cannot be replaced. Raises PflowError (77), OSError."""
    if _descriptor(path) is not None:
        return True
    return result_of(lambda: not stat.S_ISREG(status(path).st_mode), of=FileNotFoundError, otherwise=False)


def _descriptor(path: str) -> int | None:
    folder, _, number = path.rpartition("/")
    if is_confined():
        return None
    if folder in ("/dev/fd", "/proc/self/fd") and number.isdecimal() and len(number) < 10:  # more overflows a C int
        return int(number)
    return _DESCRIPTORS.get(path)


def write_stream(path: str, data: bytes) -> None:
    """Write to a pipe, a device or an open file. Raises OSError."""
    from pflow.files.atomic import write_all

    descriptor = _descriptor(path)
    # Opening it again would write `>> log` from the beginning of the file, and fails for a socket.
    fd = os.dup(descriptor) if descriptor is not None else open_file(path, os.O_WRONLY | os.O_NOCTTY)
    with open(fd, "wb", buffering=0):
        write_all(fd, data)
