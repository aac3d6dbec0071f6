"""The processes of a session: which groups of it still run, and a signal to all of them."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_DEAD = (b"Z", b"X")


def running_groups(session: int) -> set[int]:
    """The process groups of a session in which something runs: its leader's, and those that `timeout` and job control
    made. A zombie that nobody has collected yet does not run.
    """
    if os.path.exists("/proc/self/stat"):
        return {group for state, group, other in _processes() if other == session and state not in _DEAD}
    return {session} if _signal_group(session, 0) else set()


def signal_session(session: int, *signums: int) -> None:
    for group in running_groups(session):
        for signum in signums:
            _signal_group(group, signum)


def _processes() -> Iterator[tuple[bytes, int, int]]:
    """Each process's state, group and session (proc_pid_stat(5)); its name, in brackets, may hold anything."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, _, group, session = file.read().rpartition(b")")[2].split()[:4]
            except (OSError, ValueError):
                continue  # it ended meanwhile
            yield state, int(group), int(session)


def _signal_group(group: int, signum: int) -> bool:
    """Whether there was a process to take it. One that became another user's is out of our hands."""
    try:
        os.killpg(group, signum)
    except (ProcessLookupError, PermissionError):
        return False
    return True
