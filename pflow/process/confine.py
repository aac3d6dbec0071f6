"""A run within its bounds: held by our file layer and, where the kernel has Landlock, in what it starts too."""

import _thread
import ctypes
import os
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from fcntl import F_GETFL, fcntl

from pflow.errors import BAD_CONFIG, Attempt
from pflow.files.atomic import open_private
from pflow.files.beneath import CONFINED, Bounds, bounds_of, is_below
from pflow.files.directories import cache_directory, make_private, own_directories
from pflow.files.reading import Opened

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_OF_FILES = 1 << 1 | 1 << 14  # write and truncate
_OF_DIRECTORIES = _OF_FILES | sum(1 << bit for bit in range(4, 14))  # remove, make, link and rename too
_TCP, _SIGNALS = 1 << 0 | 1 << 1, 1 << 1
"""To bind and connect, since the fourth version; to signal what is outside, since the sixth."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/fd/1", "/dev/fd/2")

_rulesets: dict[str, int] = {}
"""The descriptors of rules, by the text of their bounds."""

_thread_state = _thread._local()
"""Its `is_restricted` is True in a thread that is confined."""


def has_landlock() -> bool:
    """Return True if the kernel can confine all that a process writes: Landlock's third version, of Linux 6.2."""
    try:
        return sys.platform == "linux" and _call(_CREATE_RULESET, None, 0, _VERSION) >= 3
    except OSError:
        return False


def confine(text: str) -> None:
    """Hold the files that this process opens to bounds (pflow.files.beneath), and confine to them all that it starts.

    The process itself goes on writing its log, its journal and the cache. With Landlock, its programs and the steps of
    nodes that are not ours write only within the bounds, into temporary files of their own, and into the files that
    they have open. Reads, modes and times are free: Landlock's writes are of content and names.
    """
    os.environ[CONFINED] = text
    if has_landlock() and (cache := cache_directory()):
        os.environ["TMPDIR"] = os.path.join(cache, "tmp")


def restrict() -> None:
    """Confine this thread and all that it starts, once and for good, if there are bounds. Raises PflowError (78)."""
    text = os.environ.get(CONFINED)
    if not text or getattr(_thread_state, "is_restricted", False) or not has_landlock():
        return
    act = "cannot confine the run to the directories that it may write"
    with Attempt(act, hint="--allow=paths does not confine it", exit=BAD_CONFIG):
        if text not in _rulesets:
            _rulesets[text] = _make_ruleset(bounds_of(text))
        ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _call(_RESTRICT_SELF, _rulesets[text], 0)
    _thread_state.is_restricted = True


def shut_own_files() -> None:
    """Put /dev/null in place of pflow's own files that this process has open for writing: Landlock leaves them open."""
    null, own = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC), own_directories()
    for fd in map(int, os.listdir("/proc/self/fd")):
        with suppress(OSError):  # the listing's own is gone
            path = os.readlink(f"/proc/self/fd/{fd}")
            if fcntl(fd, F_GETFL) & os.O_ACCMODE and any(is_below(path, os.path.realpath(each)) for each in own):
                os.dup2(null, fd)
    os.close(null)


def restrict_to(folders: Sequence[str], *, has_network: bool) -> None:
    """Confine this thread and all that it starts to writing below these folders. Raises OSError.

    Where the kernel can, they have no TCP either unless they may have it, and signal nothing that is not confined so.
    """
    version = _call(_CREATE_RULESET, None, 0, _VERSION)
    parts = [_OF_DIRECTORIES, *[0 if has_network else _TCP] * (version >= 4), *[_SIGNALS] * (version >= 6)]
    rules = struct.pack(f"{len(parts)}Q", *parts)
    with Opened(_call(_CREATE_RULESET, rules, len(rules), 0)) as ruleset:
        for path in [*folders, *_DEVICES[:4]]:
            _allow(ruleset, path)
        ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _call(_RESTRICT_SELF, ruleset, 0)


def start_restricted(start: Callable[[], int], restrict: Callable[[], None] = restrict) -> int:
    """Start a program in a thread that is confined: so is the program then, and it cannot trace this process."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        thread.submit(restrict).result()
        return thread.submit(start).result()


def _make_ruleset(bounds: Bounds) -> int:
    cache, trace = cache_directory(), os.environ.get("PFLOW_TRACE", "")
    ruleset = _call(_CREATE_RULESET, struct.pack("Q", _OF_DIRECTORIES), 8, 0)
    for path in filter(None, [bounds.here, *bounds.folders]):
        folder = os.path.dirname(path) if os.path.isfile(path) else path
        _allow_around(ruleset, folder, bounds.shut, hides=path == bounds.here)
    if cache:
        _allow(ruleset, os.path.join(cache, "tmp"), make_private)
    for path in _DEVICES:
        _allow(ruleset, path)
    if trace not in ("", "0", "1"):
        _allow(ruleset, trace, lambda path: os.close(open_private(path)))
    return ruleset


def _allow_around(ruleset: int, folder: str, shut: Sequence[str], *, hides: bool) -> None:
    """Let processes write below a directory, but not below those that are `shut`.

    Landlock takes nothing back below what it allows. So a directory that holds a shut one gets no new entries, and each
    of its other entries is allowed: with `hides` only those whose names are not hidden.
    """
    if any(is_below(folder, each) for each in shut):
        return
    if not any(is_below(each, folder) for each in shut):
        _allow(ruleset, folder, make_private)
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_symlink() and not (hides and entry.name[0] == "."):
                _allow_around(ruleset, entry.path, shut, hides=hides)


def _allow(ruleset: int, path: str, make: Callable[[str], None] | None = None) -> None:
    """Let processes write to a file or below a directory; if it is missing, `make` it first."""
    with suppress(OSError):  # a pipe needs no rule, and what cannot be made cannot be written
        if make and not os.path.lexists(path):
            make(path)
        with Opened(os.open(path, os.O_PATH | os.O_CLOEXEC)) as fd:
            rights = _OF_DIRECTORIES if os.path.isdir(path) else _OF_FILES
            _call(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", rights, fd), 0)


def _call(number: int, *arguments: int | bytes | None) -> int:
    """Make a system call. Raises OSError."""
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *words))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
