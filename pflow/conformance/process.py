"""One run of a program: fed, heard as far as its reader wants, ended in time with all that it started."""

from __future__ import annotations

import os
import subprocess
import threading
import time

from pflow.conformance.strays import end_strays, strays_of
from pflow.process.children import running_groups, signal_session
from pflow.process.signals import HeldSignals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, BinaryIO

NOTHING = None
"""As stdin: /dev/null."""

ALL, GONE, EARLY = None, 0, 1
"""How many bytes of its stdout are read: all, none (nobody was ever there), the first."""

_CANNOT_START = 126
_PART = 1 << 20
_MOST = 1 << 28
"""Bytes of stdout: a node that writes more never stops."""

_LARGEST_FILE = 1 << 30
_MOST_SAID = 1 << 20

LATE = "it did not end in time (--timeout gives it longer)"
ENDLESS = f"it did not end, and wrote more than {_MOST >> 20} MB"
HELD = "it ended, but what it started keeps its stdout open: whoever reads that waits for ever"


class Ended:
    """How a run ended: its exit code (-n for signal n; None when it did not, which `unended` words), what it wrote and
    left behind.
    """

    def __init__(
        self, code: int | None, stdout: bytes, stderr: bytes, *, left_running: bool = False, unended: str = LATE
    ) -> None:
        self.code = code
        self.unended = unended
        self.stdout = stdout
        self.stderr = stderr
        self.left_running = left_running


def limit_files() -> None:
    """Let no file grow for ever, of ours or of what we start: a program that never stops would fill the disk."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    soft = _LARGEST_FILE if most == resource.RLIM_INFINITY else min(most, _LARGEST_FILE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, most))


def run_process(
    argv: list[str],
    *,
    stdin: bytes | None,
    environment: Mapping[str, str],
    directory: str,
    stderr: str,
    timeout: float,
    reader: int | None = ALL,
    grace: float | None = None,
) -> Ended:
    """Run a program to its end. `stderr` is a file for what it says. Whatever it started is ended as well.

    With `grace` that may take so many seconds to end by itself, else it was left running.
    """
    ours, theirs = _pipe(reader)
    held = HeldSignals()  # an exception before the process is known would leave it running
    try:
        process = _start(argv, stdin, theirs, stderr, directory, environment)
    except (OSError, ValueError) as error:
        ours.close()
        held.release()
        return Ended(_CANNOT_START, b"", f"cannot start it: {getattr(error, 'strerror', error)}".encode())
    finally:
        os.close(theirs)
    feeder = threading.Thread(target=_feed, args=(process.stdin, stdin), daemon=True)
    home = environment.get("HOME", "")
    try:
        held.release()
        feeder.start()
        code, stdout, unended = _talk(process, ours, reader, time.monotonic() + timeout)
        left = grace is not None and not _is_alone(process.pid, home, grace)
        return Ended(code, stdout, _said(stderr), left_running=left, unended=unended)
    finally:
        signal_session(process.pid, 9)
        end_strays(home)
        process.wait()
        ours.close()
        if feeder.ident is not None:
            feeder.join(1)  # nothing is left that could keep it waiting, but what hides from us


def _start(
    argv: list[str], stdin: bytes | None, stdout: int, stderr: str, directory: str, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    with open(stderr, "wb") as said:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL if stdin is NOTHING else subprocess.PIPE,
            stdout=stdout,
            stderr=said,
            cwd=directory,
            env=environment,
            start_new_session=True,
        )


def _pipe(reader: int | None) -> tuple[BinaryIO, int]:
    """Our end of a pipe, which is closed where nobody reads, and the end to write into."""
    ours, theirs = os.pipe()
    pipe = os.fdopen(ours, "rb", buffering=0)
    if reader == GONE:
        pipe.close()
    return pipe, theirs


def _talk(
    process: subprocess.Popen[bytes], ours: BinaryIO, reader: int | None, end: float
) -> tuple[int | None, bytes, str]:
    """Hear it and wait for it: its exit code (None when it did not end), what was heard, why it did not end."""
    try:
        stdout = _hear(ours, reader, end)
        if len(stdout) > _MOST:
            return None, b"", ENDLESS
        return process.wait(max(0.0, end - time.monotonic())), stdout, ""
    except subprocess.TimeoutExpired:
        return None, b"", LATE if process.poll() is None else HELD


def _said(stderr: str) -> bytes:
    """The last of what it said."""
    with open(stderr, "rb") as file:
        file.seek(max(0, os.path.getsize(stderr) - _MOST_SAID))
        return file.read()


def _feed(pipe: Any, data: bytes | None) -> None:
    if data is None:
        return
    try:
        with pipe:
            pipe.write(data)
    except OSError:
        return  # it need not read what it gets


def _hear(ours: BinaryIO, reader: int | None, end: float) -> bytes:
    """What comes until the pipe ends, nobody reads it any more, or it is too much. Raises TimeoutExpired."""
    import select

    heard = bytearray()
    while not ours.closed and len(heard) <= _MOST:
        ready, _, _ = select.select([ours], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise subprocess.TimeoutExpired("", 0)
        part = ours.read(_PART if reader is ALL else reader)
        heard += part
        if not part or reader is not ALL:
            ours.close()
    return bytes(heard)


def _is_alone(session: int, home: str, grace: float) -> bool:
    """Whether nothing of a run runs any more, at once or soon."""
    end = time.monotonic() + grace
    while running_groups(session) or strays_of(home):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
