"""The processes that read a pipe, and whether they are programs of pflow."""

from __future__ import annotations

import os
import stat
import time

from pflow import Iterator
from pflow.errors import Ignoring
from pflow.process.children import processes

_TAKES, _NEW, _OTHER = "takes", "new", "other"
_FORKED = 0x40
"""The flag of a process that was forked and has not begun a program of its own (proc_pid_stat(5))."""


def feeds_pflow(fd: int) -> bool:
    """Return True if a pipe is the stdin of programs of pflow and of nothing but what runs them; False without /proc.

    One with -n does not count: the loop of a shell that runs it may read the pipe. What is about to become a program
    is waited for, a second at most.
    """
    kinds: dict[int, str] = {}
    for _ in range(100 if stat.S_ISFIFO(os.fstat(fd).st_mode) and os.path.isdir("/proc") else 0):
        readers = [*_readers(fd)]
        kinds, parents = {pid: kind for pid, _, kind in readers}, {pid: parent for pid, parent, _ in readers}
        if _NEW not in kinds.values():
            break
        time.sleep(0.01)
    known = {pid for pid, kind in kinds.items() if kind == _TAKES}
    while more := kinds.keys() & {parents[pid] for pid in known} - known:
        known |= more
    return bool(known) and known == kinds.keys()


def _readers(fd: int) -> Iterator[tuple[int, int, str]]:
    """Yield each process whose stdin is a pipe, its parent and its kind."""
    about = os.fstat(fd)
    for pid, name, fields in processes():
        with Ignoring(OSError):  # it has ended, or belongs to another user
            if os.path.samestat(os.stat(f"/proc/{pid}/fd/0"), about):
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")[1:]
                yield pid, int(fields[1]), _kind_of(name, words, fields)


def _kind_of(name: bytes, words: list[bytes], fields: list[bytes]) -> str:
    if name.startswith(b"python"):
        name = os.path.basename(next((word for word in words if not word.startswith(b"-")), name))
    if words and (name.startswith(b"pflow-") or name.partition(b".")[0] == b"pflow"):
        letters = [word for word in words if word.startswith(b"-") and not word.startswith(b"--")]
        return _OTHER if b"--no-stdin" in words or any(b"n" in word for word in letters) else _TAKES
    is_forked = int(fields[6]) & _FORKED and fields[0] in (b"R", b"D")
    return _NEW if is_forked or not words else _OTHER
