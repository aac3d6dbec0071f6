"""Programs of pflow in a point: started, or forked from its process with their libraries loaded; and how they ended."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

from tests.faults.scene import DOCUMENTED
from tests.peers.warm import become

HANGS = 90
"""Seconds after which a program hangs, on a machine with much else to do."""

_BUG = re.compile(r"Traceback|Warning:|cannot run \S+: [A-Z]\w+(Error|Exception)\b")


class Ended(NamedTuple):
    """How a program ended, and what it printed."""

    code: int
    stdout: str
    stderr: str


def start(*words: str, stdin: int = subprocess.DEVNULL, **variables: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **variables}
    )


def run(*words: str, input: str = "", **variables: str) -> Ended:
    """Run a program to its end, which has a documented code and no traceback."""
    return end_of(start(*words, stdin=subprocess.PIPE, **variables), input)


def end_of(process: subprocess.Popen[bytes], input: str = "", killed: bool = False) -> Ended:
    """Wait for the end of a program; one that was `killed` may end by a signal."""
    try:
        stdout, stderr = process.communicate(input.encode() if process.stdin else None, timeout=HANGS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"it hangs: {process.args}") from None
    return _checked(process.returncode, stdout, stderr, killed=killed)


def _checked(code: int, stdout: bytes, stderr: bytes, *, killed: bool = False) -> Ended:
    ended = Ended(code, stdout.decode(errors="replace"), stderr.decode(errors="replace"))
    assert code in DOCUMENTED or code > 128 or (killed and code < 0), ended
    assert not _BUG.search(ended.stderr), ended.stderr
    return ended


def run_warm(*words: str) -> Ended:
    """Run pflow, or a stage, in a fork of this process: without a start and imports it takes a tenth of the time."""
    with TemporaryFile() as out, TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            become(words, (0, out.fileno(), err.fileno()), os.environ, None)
        until = time.monotonic() + HANGS
        while not (ended := os.waitpid(pid, os.WNOHANG))[0]:
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                raise AssertionError(f"it hangs: {words}")
            time.sleep(0.002)
        out.seek(0), err.seek(0)
        return _checked(os.waitstatus_to_exitcode(ended[1]), out.read(), err.read())


def send(pid: int, signum: int) -> None:
    """Send a signal to a process that may have ended."""
    with suppress(ProcessLookupError):
        os.kill(pid, signum)


def wait_for(what: Callable[[], object], seconds: float = 60) -> None:
    """Wait until it is true. Raises AssertionError if it never is."""
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, f"it never came: {what}"
        time.sleep(0.005)


def children(pid: int) -> list[int]:
    """List the processes that a process has forked."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
