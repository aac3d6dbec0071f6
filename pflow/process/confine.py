"""Confine processes with Landlock, where the kernel has it: to the bounds of a run, or to what a node declares."""

from __future__ import annotations

import _thread
import ctypes
import os
import struct
import sys
from fcntl import F_GETFL, fcntl

from pflow import Callable, Mapping, Sequence
from pflow.errors import BAD_CONFIG, Attempt, Ignoring, result_of
from pflow.files.beneath import CONFINED, Bounds, bounds_of, is_below
from pflow.files.directories import cache_directory, llm_directory, make_private, own_directories
from pflow.files.reading import Opened

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_EXECUTE = 1
_TCP = 1 << 0 | 1 << 1  # bind and connect, since the fourth version
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1  # to processes outside, since the sixth version
_OF_FILES = 1 << 1 | 1 << 14  # write and truncate
_OF_DIRECTORIES = _OF_FILES | sum(1 << bit for bit in range(4, 14))  # remove, make, link and rename too
_CAPABILITIES_VERSION, _DROP_CAPABILITY = 0x20080522, 24
_TO_READ_OTHERS = (19, 21, 38)
"""CAP_SYS_PTRACE, CAP_SYS_ADMIN and CAP_PERFMON: each lets a process read others, the last since Linux 6.13."""

_CALLS = {"x86_64": (0xC000003E, 16, 41), "aarch64": (0xC00000B7, 29, 198), "riscv64": (0xC00000F3, 29, 198)}
"""For each kind of processor, its mark in seccomp(2) and its numbers of the calls ioctl and socket."""
_SECCOMP, _FILTER, _IO_URING, _OTHER_NUMBERS, _UNIX, _TERMINAL_INPUT = 22, 2, 425, 1 << 30, 1, (0x5412, 0x541C)
_LOAD, _IF_EQUAL, _IF_LEAST, _END, _REFUSE, _GRANT = 0x20, 0x15, 0x35, 0x06, 0x5000D, 0x7FFF0000

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/fd/1", "/dev/fd/2")

_rulesets: dict[str, int] = {}
"""The descriptors of rules, by the text of their bounds."""

_thread_state = _thread._local()
"""Its `is_restricted` is True in a confined thread. A set of thread numbers would not do: the system reuses them."""


def has_landlock() -> bool:
    """Return True if the kernel can confine all that a process writes: Landlock's third version, of Linux 6.2."""
    return _landlock_version() >= 3


def _landlock_version() -> int:
    return result_of(_call, _CREATE_RULESET, None, 0, _VERSION, otherwise=0) if sys.platform == "linux" else 0


def confine(text: str) -> None:
    """Check the files that this process opens against the bounds (pflow.files.beneath), and confine all that it starts.

    The process itself goes on writing its log, its journal and the cache. It does not enter Landlock: the programs that
    it starts could then write all that its rules allow, such as wider bounds into the journal. These programs, and the
    steps of nodes that are not ours, write only within the bounds, into temporary files of their own, and into files
    that they have open. They may still read anything and set modes and times: Landlock limits only the writing of
    content and names.
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
        _enter(_rulesets[text])
    _thread_state.is_restricted = True


def _enter(ruleset: int) -> None:
    # Only root may confine a setuid program; the kernel takes rules from others once setuid has no effect.
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _call(_RESTRICT_SELF, ruleset, 0)


def _enter_as_stranger(ruleset: int, *, has_network: bool) -> None:
    """Enter the rules, after dropping the capabilities by which root reads other processes in spite of Landlock."""
    libc, header, held = ctypes.CDLL(None), struct.pack("Ii", _CAPABILITIES_VERSION, 0), ctypes.create_string_buffer(24)
    for capability in _TO_READ_OTHERS:
        libc.prctl(_DROP_CAPABILITY, capability, 0, 0, 0)
    libc.capget(header, held)
    kept = [~sum(1 << each for each in _TO_READ_OTHERS) >> 32 * high & 0xFFFFFFFF for high in (0, 0, 0, 1, 1, 1)]
    libc.capset(
        header, struct.pack("6I", *(word & mask for word, mask in zip(struct.unpack("6I", held), kept, strict=True)))
    )
    _enter(ruleset)
    if calls := _CALLS.get(os.uname().machine):
        rules = _call_rules(*calls, has_network=has_network)
        data = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in rules))
        program = struct.pack("HP", len(rules), ctypes.addressof(data))
        libc.prctl(_SECCOMP, _FILTER, program, 0, 0)


def _call_rules(mark: int, ioctl: int, socket: int, *, has_network: bool) -> list[tuple[int, int, int, int]]:
    """Return a program for seccomp(2) that refuses what Landlock does not.

    A node could type commands into the terminal (TIOCSTI, TIOCLINUX), which the user's shell would run. Without the
    network, it gets only Unix sockets: Landlock does not see connections by UDP, Multipath TCP or TCP Fast Open. Each
    instruction has a code, the number of instructions to skip if its test holds, that number if not, and an operand.
    """
    closed = [] if has_network else [(_IF_EQUAL, 9, 0, _IO_URING), (_IF_EQUAL, 6, 0, socket)]
    return [
        *((_LOAD, 0, 0, 4), (_IF_EQUAL, 0, 10 + len(closed), mark)),
        *((_LOAD, 0, 0, 0), (_IF_LEAST, 8 + len(closed), 0, _OTHER_NUMBERS)),
        *closed,
        *((_IF_EQUAL, 1, 0, ioctl), (_END, 0, 0, _GRANT)),
        *((_LOAD, 0, 0, 24), *((_IF_EQUAL, 4 - at, 0, each) for at, each in enumerate(_TERMINAL_INPUT))),
        *((_END, 0, 0, _GRANT), (_LOAD, 0, 0, 16), (_IF_EQUAL, 1, 0, _UNIX)),
        *((_END, 0, 0, _REFUSE), (_END, 0, 0, _GRANT)),
    ]


class Declared:
    """The effects that an installed node declares. The kernel forbids all others, as far as it can.

    The node writes below the directories of these `paths` (None: nowhere), starts only these `programs` (None: any),
    and uses the internet if it `has_network`. A node that `may_all` is not confined.
    """

    def __init__(
        self, paths: Sequence[str] | None, programs: Sequence[str] | None, *, has_network: bool, may_all: bool
    ) -> None:
        self.paths, self.programs, self.has_network, self.may_all = paths, programs, has_network, may_all

    def restrict(self) -> None:
        """Confine this thread and all it starts for good, and to the bounds of a run too. Raises PflowError (78)."""
        restrict()
        if self.may_all or not has_landlock():
            return
        with (
            Attempt("cannot confine the node to what it declares", exit=BAD_CONFIG),
            Opened(self._make_ruleset()) as ruleset,
        ):
            _enter_as_stranger(ruleset, has_network=self.has_network)

    def temporary_directory(self) -> str | None:
        """Return pflow's directory for temporary files if the node's writes are confined; None for the usual one."""
        cache = cache_directory() if self.paths is not None and not self.may_all and has_landlock() else None
        return cache and os.path.join(cache, "tmp")

    def _make_ruleset(self) -> int:
        files = _OF_DIRECTORIES | (_EXECUTE if self.programs is not None else 0)
        scopes = (0 if self.has_network else _ABSTRACT_SOCKETS) | (0 if self.programs is None else _SIGNALS)
        ruleset = _new_ruleset(files, 0 if self.has_network else _TCP, scopes)
        if self.paths is not None:
            shut = [os.path.realpath(each) for each in [*own_directories(), llm_directory()]]
            for path in map(os.path.abspath, self.paths):
                folder = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path))
                _allow_around(ruleset, folder, shut, hides=True, mode=0o777)
            _allow_temporary(ruleset)
        for program in self.programs or ():
            _allow(ruleset, program, rights=_EXECUTE)
        _allow_open(ruleset)
        return ruleset


def set_environment(kept: Mapping[str, str]) -> None:
    """Remove all other variables from this process, and overwrite them in the memory that /proc/PID/environ shows."""
    for name in os.environ.keys() - kept.keys():
        del os.environ[name]
    os.environ.update(kept)
    with Ignoring(OSError), open("/proc/self/stat", "rb") as stat, open("/proc/self/environ", "rb") as environ:
        at = int(stat.read().rpartition(b") ")[2].split()[47])  # env_start of proc_pid_stat(5)
        for entry in environ.read().split(b"\0"):
            if entry and os.fsdecode(entry.partition(b"=")[0]) not in kept:
                ctypes.memset(at, 0, len(entry))
            at += len(entry) + 1


def shut_files(but: int | None = None) -> None:
    """Replace what this process has open for writing by /dev/null, except descriptors below 3 and `but`.

    Without `but`, replace only inherited descriptors: a stage keeps its own. This is needed because Landlock does not
    touch what is already open: pflow's log and journal, connections of other processes, files of whoever started us.
    """
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for fd in open_for_writing(are_inherited=but is None):
        if fd not in (but, null):
            os.dup2(null, fd)
    os.close(null)


def open_for_writing(*, are_inherited: bool = True) -> list[int]:
    """Return the descriptors above 2 that are open for writing: only the inheritable ones, or all of them."""
    found = []
    for fd in map(int, os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ()):
        with Ignoring(OSError):  # the listing's own descriptor is closed by now
            if fd > 2 and fcntl(fd, F_GETFL) & os.O_ACCMODE and (os.get_inheritable(fd) or not are_inherited):
                found.append(fd)
    return found


def restrict_to(folders: Sequence[str], *, has_network: bool) -> None:
    """Confine this thread and all that it starts to writing below these folders. Raises OSError.

    Where the kernel supports it, they have no network unless `has_network`, and cannot signal processes outside.
    """
    with Opened(_new_ruleset(_OF_DIRECTORIES, 0 if has_network else _TCP, _SIGNALS)) as ruleset:
        for path in [*folders, *_DEVICES[:4]]:
            _allow(ruleset, path)
        _enter_as_stranger(ruleset, has_network=has_network)


def start_restricted(start: Callable[[], int], restrict: Callable[[], None] = restrict) -> int:
    """Start a program from a confined thread. It inherits the thread's limits, and cannot trace this process either.

    Landlock confines only the thread that enters it and all that this thread starts; other threads stay free.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        thread.submit(restrict).result()
        return thread.submit(start).result()


def _new_ruleset(files: int, tcp: int = 0, scopes: int = 0) -> int:
    """Make rules that forbid these rights, as far as this kernel's version of Landlock knows them."""
    version = _landlock_version()
    # An older kernel refuses a structure with members that it does not know (E2BIG).
    about = [files, tcp, scopes][: 3 if version >= 6 else 2 if version >= 4 else 1]
    return _call(_CREATE_RULESET, struct.pack(f"{len(about)}Q", *about), 8 * len(about), 0)


def _make_ruleset(bounds: Bounds) -> int:
    ruleset = _new_ruleset(_OF_DIRECTORIES)
    for path in filter(None, [bounds.here, *bounds.folders]):
        folder = os.path.dirname(path) if os.path.isfile(path) else path
        _allow_around(ruleset, folder, bounds.shut, hides=path == bounds.here)
    _allow_temporary(ruleset)
    _allow_open(ruleset)
    return ruleset


def _allow_temporary(ruleset: int) -> None:
    if cache := cache_directory():
        _allow(ruleset, os.path.join(cache, "tmp"), make_private)


def _allow_open(ruleset: int) -> None:
    """Let processes reopen the files to which they may write already: their own devices, and the trace."""
    for path in _DEVICES:
        _allow(ruleset, path)
    trace = os.environ.get("PFLOW_TRACE", "")
    if trace not in ("", "0", "1"):
        from pflow.files.atomic import open_private

        _allow(ruleset, trace, lambda path: os.close(open_private(path)))


def _allow_around(ruleset: int, folder: str, shut: Sequence[str], *, hides: bool, mode: int = 0o700) -> None:
    """Let processes write below a directory, but not below those that are `shut`.

    Landlock cannot forbid part of a directory that it allows. If a directory holds a shut one, allow each of its other
    entries instead, but with `hides` no hidden one. No new entry can be made in such a directory.
    """
    if any(is_below(folder, each) for each in shut):
        return
    if not any(is_below(each, folder) for each in shut):
        _allow(ruleset, folder, lambda path: make_private(path, mode))
        return
    with Ignoring(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_symlink() and not (hides and entry.name[0] == "."):
                _allow_around(ruleset, entry.path, shut, hides=hides)


def _allow(ruleset: int, path: str, make: Callable[[str], None] | None = None, rights: int = 0) -> None:
    """Let processes write to a file or below a directory, or have other `rights`; if it is missing, `make` it first."""
    with Ignoring(OSError):  # a pipe needs no rule, and what cannot be made cannot be written
        if make and not os.path.lexists(path):
            make(path)
        with Opened(os.open(path, os.O_PATH | os.O_CLOEXEC)) as fd:
            rights = rights or (_OF_DIRECTORIES if os.path.isdir(path) else _OF_FILES)
            _call(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", rights, fd), 0)


def _call(number: int, *arguments: int | bytes | None) -> int:
    """Make a system call. Raises OSError."""
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *words))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
