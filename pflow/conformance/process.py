"""One run of a program: fed, heard as far as its reader wants, ended in time with all that it started."""

from __future__ import annotations

import os
import subprocess
import threading
import time

from pflow.held import HeldSignals
from pflow.session import running_groups, signal_session

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


class Ended:
    """How a run ended: its exit code (-n for signal n, None when its time ran out), what it wrote and left behind."""

    def __init__(self, code: int | None, stdout: bytes, stderr: bytes, *, left_running: bool = False) -> None:
        self.code = code
        self.stdout = stdout
        self.stderr = stderr
        self.left_running = left_running


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
        with open(stderr, "wb") as said:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL if stdin is NOTHING else subprocess.PIPE,
                stdout=theirs,
                stderr=said,
                cwd=directory,
                env=environment,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        ours.close()
        held.release()
        return Ended(_CANNOT_START, b"", f"cannot start it: {getattr(error, 'strerror', error)}".encode())
    finally:
        os.close(theirs)
    try:
        held.release()
        code, stdout, left = _talk(process, stdin, ours, reader, time.monotonic() + timeout, grace)
        with open(stderr, "rb") as said:
            return Ended(code, stdout, said.read(), left_running=left)
    finally:
        signal_session(process.pid, 9)
        process.wait()
        ours.close()


def _pipe(reader: int | None) -> tuple[BinaryIO, int]:
    """Our end of a pipe, which is closed where nobody reads, and the end to write into."""
    ours, theirs = os.pipe()
    pipe = os.fdopen(ours, "rb", buffering=0)
    if reader == GONE:
        pipe.close()
    return pipe, theirs


def _talk(
    process: subprocess.Popen[bytes],
    stdin: bytes | None,
    ours: BinaryIO,
    reader: int | None,
    end: float,
    grace: float | None,
) -> tuple[int | None, bytes, bool]:
    """Feed it, hear it, wait for it: its exit code (None when it did not end in time), what was heard, what is left."""
    feeder = None
    if stdin is not NOTHING:
        feeder = threading.Thread(target=_feed, args=(process.stdin, stdin), daemon=True)
        feeder.start()
    try:
        stdout = _hear(ours, reader, end)
        code = process.wait(max(0.0, end - time.monotonic()))
        return code, stdout, grace is not None and not _is_alone(process.pid, grace)
    except subprocess.TimeoutExpired:
        return None, b"", True
    finally:
        _kill_group(process.pid)  # or what it left behind could keep the feeder waiting
        if feeder is not None:
            feeder.join()


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, 9)
    except (ProcessLookupError, PermissionError):
        return


def _feed(pipe: Any, data: bytes) -> None:
    try:
        with pipe:
            pipe.write(data)
    except OSError:
        return  # it need not read what it gets


def _hear(ours: BinaryIO, reader: int | None, end: float) -> bytes:
    """What comes until the pipe ends, or nobody reads it any more. Raises TimeoutExpired."""
    import select

    parts: list[bytes] = []
    while not ours.closed:
        ready, _, _ = select.select([ours], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise subprocess.TimeoutExpired("", 0)
        part = ours.read(_PART if reader is ALL else reader)
        parts.append(part)
        if not part or reader is not ALL:
            ours.close()
    return b"".join(parts)


def _is_alone(session: int, grace: float) -> bool:
    """Whether nothing of a session runs any more, at once or soon."""
    end = time.monotonic() + grace
    while running_groups(session):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
