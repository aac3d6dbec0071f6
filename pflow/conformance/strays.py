"""What a run left behind in sessions of its own (setsid, daemons): the processes that still have its home."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def strays_of(home: str) -> list[int]:
    """The processes whose environment has this HOME, which is no other run's; none where the system has no /proc."""
    mark = f"HOME={home}".encode()
    return [pid for pid in _processes() if home and mark in _environment(pid).split(b"\0")]


def end_strays(home: str) -> None:
    for pid in strays_of(home):
        try:
            os.kill(pid, 9)
        except (ProcessLookupError, PermissionError):
            continue


def _processes() -> Iterator[int]:
    if os.path.isdir("/proc/self"):
        yield from (int(name) for name in os.listdir("/proc") if name.isdecimal())


def _environment(pid: int) -> bytes:
    """Of a zombie it is empty."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:  # it ended meanwhile, or is another user's
        return b""
