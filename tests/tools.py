"""What tests need beside Python: programs, root's rights, and what the system says of processes."""

import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what is another user's")


USUAL = ("awk", "bash", "cmp", "curl", "grep", "jq", "make", "man", "perl", "ps", "sed", "xargs")
"""Programs that most machines have, and some do not."""


def need_for(script: str) -> None:
    """Skip the test where a usual tool is missing that the script names."""
    need(*(tool for tool in USUAL if re.search(rf"\b{tool}\b", script)))


def need(*tools: str) -> None:
    """Skip the test where a tool is missing; fail it in CI, where all are there."""
    for tool in tools:
        if shutil.which(tool) is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{tool} is not installed")


@contextmanager
def limited(seconds: float = 3.0) -> Iterator[None]:
    """Fail if the code inside takes so many seconds of CPU, as where the work for 100 KB grows with their square."""

    def end(*_: object) -> None:
        raise AssertionError(f"it takes more than {seconds:g} s of CPU")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def has_ended(pid: str) -> bool:
    """Return whether a process is gone, or waits only for its parent to hear of it."""
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(") ")[2][0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True
