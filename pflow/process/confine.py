"""A run within its bounds: held by our file layer and, where the kernel has Landlock, in all its processes too."""

import ctypes
import os
import struct
import sys
from collections.abc import Callable
from contextlib import suppress

from pflow.errors import BAD_CONFIG, PflowError, reason_of
from pflow.files.atomic import open_private
from pflow.files.beneath import CONFINED, bounds_of
from pflow.files.directories import cache_directory, make_private, state_directory

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_OF_FILES = 1 << 1 | 1 << 14  # write and truncate
_OF_DIRECTORIES = _OF_FILES | sum(1 << bit for bit in range(4, 14))  # remove, make, link and rename too
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/fd/1", "/dev/fd/2")


def has_landlock() -> bool:
    """Return True if the kernel can confine all that a process writes: Landlock's third version, of Linux 6.2."""
    try:
        return sys.platform == "linux" and _call(_CREATE_RULESET, None, 0, _VERSION) >= 3
    except OSError:
        return False


def confine(text: str) -> None:
    """Confine this process, and all that it starts from now on, to bounds (pflow.files.beneath), for good.

    With Landlock they write only there, in pflow's own directories and llm's, and into the files that they have open;
    temporary files are pflow's own then. Reads, modes and times are free: Landlock's writes are of content and names.
    Raises PflowError (78) if the kernel does not do it.
    """
    os.environ[CONFINED] = text
    if not has_landlock():
        return
    bounds, cache, trace = bounds_of(text), cache_directory(), os.environ.get("PFLOW_TRACE", "")
    if cache:
        os.environ["TMPDIR"] = os.path.join(cache, "tmp")
    own = [*bounds.own, state_directory(), cache, cache and os.environ["TMPDIR"]]
    folders = [*filter(None, [bounds.here, *bounds.folders])]
    try:
        ruleset = _call(_CREATE_RULESET, struct.pack("Q", _OF_DIRECTORIES), 8, 0)
        for path in folders:
            _allow(ruleset, os.path.dirname(path) if os.path.isfile(path) else path, os.makedirs)
        for path in filter(None, own):
            _allow(ruleset, path, make_private)
        for path in _DEVICES:
            _allow(ruleset, path)
        if trace not in ("", "0", "1"):
            _allow(ruleset, trace, lambda path: os.close(open_private(path)))
        ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _call(_RESTRICT_SELF, ruleset, 0)
        os.close(ruleset)
    except OSError as error:
        what = f"cannot confine the run to the directories that it may write: {reason_of(error)}"
        raise PflowError(what, hint="--allow=paths does not confine it", exit=BAD_CONFIG) from error


def _allow(ruleset: int, path: str, make: Callable[[str], None] | None = None) -> None:
    """Let processes write to a file or below a directory; if it is missing, `make` it first."""
    with suppress(OSError):  # a pipe needs no rule, and what cannot be made cannot be written
        if make and not os.path.lexists(path):
            make(path)
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rights = _OF_DIRECTORIES if os.path.isdir(path) else _OF_FILES
            _call(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", rights, fd), 0)
        finally:
            os.close(fd)


def _call(number: int, *arguments: int | bytes | None) -> int:
    """Make a system call. Raises OSError."""
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *words))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
