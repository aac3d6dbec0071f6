"""PFLOW_TRACE: an event when a stage starts and one when it ends, as JSON lines; never a value."""

from __future__ import annotations

import os
import time

from pflow.jsontext import encode
from pflow.terminal.messages import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def write_event(program: str, event: str, about: dict[str, Any]) -> None:
    """Append one event where PFLOW_TRACE says: 1 is stderr, a directory gets a file a process, else it is a file.

    A trace that cannot be written is a warning: tracing never fails a run.
    """
    write_lines(program, encode({"v": 1, "event": event, "time": time.time(), "pid": os.getpid(), **about}) + b"\n")


def write_lines(program: str, line: bytes) -> None:
    """The same for events that are lines already, several perhaps."""
    target = os.environ["PFLOW_TRACE"]
    try:
        if target == "1":
            os.write(2, line)
            return
        if target.endswith("/") or os.path.isdir(target):
            os.makedirs(target, 0o700, exist_ok=True)
            target = os.path.join(target, f"{program}-{os.getpid()}.jsonl")
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)
    except OSError as error:
        say(program, f"warning: cannot write the trace to '{target}': {error.strerror}")
