"""A stage in the trace: the span that it is in a wider trace, and its events in PFLOW_TRACE."""

from __future__ import annotations

import os
import time

from pflow import TYPE_CHECKING, Any
from pflow.errors import reason_of
from pflow.files.directories import make_private
from pflow.terminal.messages import say, write_stderr
from pflow.values.jsontext import compact

if TYPE_CHECKING:
    from pflow.stage.document import Document


def enter_span(document: Document) -> None:
    """Take a TRACEPARENT from the header or the environment, and pass on a new span in both."""
    parent = document.header.get("traceparent") or os.environ.get("TRACEPARENT")
    parts = span_parts(parent)
    if not parts:
        return
    parts[2] = os.urandom(8).hex()
    document.header["traceparent"] = os.environ["TRACEPARENT"] = "-".join(parts)


def span_parts(traceparent: Any) -> list[str]:
    """Split a TRACEPARENT into version, trace, span and flags; empty if invalid (https://www.w3.org/TR/trace-context/)."""
    parts = traceparent.split("-")[:4] if isinstance(traceparent, str) else []
    is_one = [len(part) for part in parts] == [2, 32, 16, 2] and not "".join(parts).strip("0123456789abcdef")
    return parts if is_one and parts[1].strip("0") and parts[2].strip("0") else []


def event_line(event: str, about: dict[str, Any]) -> bytes:
    """Return an event as a line of JSON. Like every log, it has names, places and numbers, never a value."""
    line = compact({"v": 1, "event": event, "time": time.time(), **about})
    return f"{line}\n".encode("utf-8", "backslashreplace")


def write_line(program: str, line: bytes) -> None:
    """Append an event to the trace. PFLOW_TRACE is 1 for stderr, a file, or a directory with a file for each process.

    A trace that cannot be written is only a warning.
    """
    target = os.environ["PFLOW_TRACE"]
    try:
        if target == "1":
            write_stderr(line)
            return
        if target.endswith("/") or os.path.isdir(target):
            make_private(target)
            target = os.path.join(target, f"{program}-{os.getpid()}.jsonl")
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with open(fd, "wb", buffering=0) as file:
            file.write(line)
    except OSError as error:
        say(program, f"warning: cannot write the trace to '{target}': {reason_of(error)}")
