"""The processes that read a pipe, and whether they are programs of pflow."""

from __future__ import annotations

import os
import stat
import time

from pflow import Iterator
from pflow.errors import Ignoring
from pflow.process.children import processes

_FORKED = 0x40
"""The flag of a process that was forked and has not begun a program of its own (proc_pid_stat(5))."""


def feeds_pflow(fd: int) -> bool:
    """Return True if a pipe is the stdin of programs of pflow and of nothing but what runs them; False without /proc.

    One with -n does not count: the loop of a shell that runs it may read the pipe. What is about to become a program
    is waited for, a second at most.
    """
    about, known = os.fstat(fd), set[int]()
    readers: dict[int, tuple[int, bool | None]] = {}
    for _ in range(100 if stat.S_ISFIFO(about.st_mode) else 0):
        readers = dict(_readers(about))
        if all(takes is not None for _, takes in readers.values()):
            break
        time.sleep(0.01)
    for pid in [pid for pid, (_, takes) in readers.items() if takes]:
        while pid in readers:
            known.add(pid)
            pid = readers[pid][0]
    return bool(known) and known == readers.keys()


def _readers(pipe: os.stat_result) -> Iterator[tuple[int, tuple[int, bool | None]]]:
    """Yield each process whose stdin is a pipe, its parent, and if it is pflow's and takes it; None if that is open."""
    for pid, name, fields in processes():
        with Ignoring(OSError):  # it has ended, or belongs to another user
            if os.path.samestat(os.stat(f"/proc/{pid}/fd/0"), pipe):
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    yield pid, (int(fields[1]), _takes_stdin(name, file.read().split(b"\0")[1:], fields))


def _takes_stdin(name: bytes, words: list[bytes], fields: list[bytes]) -> bool | None:
    if name.startswith(b"python"):  # as a stage starts itself again, with -X utf8
        name = os.path.basename(next((word for word in words if not word.startswith(b"-") and word != b"utf8"), name))
    if words and (name.startswith(b"pflow-") or name.partition(b".")[0] == b"pflow"):
        letters = [word for word in words if word.startswith(b"-") and not word.startswith(b"--")]
        return b"--no-stdin" not in words and not any(b"n" in word for word in letters)
    is_forked = int(fields[6]) & _FORKED and fields[0] in (b"R", b"D")
    return None if is_forked or not words else False
